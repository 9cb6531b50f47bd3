"""Bringing a device and its board together, again and again, over a network that fails.

One round posts what waits, reads the tally, which says how the group stands and that the board is
there and ours, and reads the log where that is needed. An unknown outcome means "again", which
idempotent messages make safe. The log is read from just before the last message read, which proves
that it is the one that was read before and that nothing was skipped; page after page, each stored
before the next is asked for, so that reading goes on where it broke off.

A board that takes nothing, because the experiment is closed or the device revoked, is read all the
same. A device of a scheme that ``reads_tally`` never reads the log.

A device that blurs what it says first asks what the board holds of it, once after each start: its
store may be an older copy, and what it has said once it must not say again with fresh noise.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from devote.boards.board import (
    Board,
    BoardAlone,
    BoardRefused,
    BoardUnavailable,
    Envelope,
    Outcome,
    Posted,
    PostingBarred,
    PublicTally,
)
from devote.boards.database import StoreError
from devote.fleet.bookmark import Bookmark
from devote.fleet.core import DeviceCore
from devote.protocol import ProtocolError
from devote.protocol.wire import Scope

CHANGED = (
    "The experiment's specification has changed on the board; nothing is sent or read.\n"
    "Join the new one with a new store, or restore the old specification."
)
ANOTHER = (
    "Another board answers under the experiment's name; nothing is sent or read.\n"
    "Check the address, or join the new board with a new store."
)
GAP = "The board leaves out messages.\nThey are asked for again."


async def sync_once(core: DeviceCore, board: Board, *, deep: bool = True) -> bool:
    """One round: post what waits, read how the group stands, and what is new of the log.

    Without ``deep`` the log is left alone while what the tally says follows from what was read
    (``DeviceState.needs``). Returns whether all of it worked; if not, the device's status says
    why. One round begins when another has ended: two that both read anew would undo each other.
    Only the board is awaited, so a board that never waits lets this be driven without an event
    loop.
    """
    async with core.rounds:
        return await _round(core, board, deep=deep)


async def _round(core: DeviceCore, board: Board, *, deep: bool) -> bool:
    try:
        if core.must_recall:
            core.recall(await board.said_by(core.identity.voter))
        if core.spec.scheme.reads_tally:
            await _ask_and_post(core, board)
            done = True
        else:
            done = await _post_and_read(core, board, deep=deep)
    except BoardUnavailable as error:
        core.health.offline()
        core.asked.fail(error)
        if isinstance(error, BoardAlone):
            core.health.sync = str(error)
        return False
    except (BoardRefused, ProtocolError) as error:
        core.health.offline()
        core.health.sync = str(error)
        return False
    except StoreError:
        return False  # the core has noted it
    core.health.sync = None if done else GAP
    if done:
        core.health.synced()
    return done


async def _told(core: DeviceCore, board: Board) -> PublicTally:
    """The tally of the board that this device has joined, and of no other."""
    told = await board.tally()
    _check_scope(core, told.scope)
    core.asked.hear(told)
    return told


def _check_scope(core: DeviceCore, found: Scope) -> None:
    """Refuse a board that is not the one this device has joined."""
    if found.board != core.scope.board:
        raise BoardRefused(ANOTHER)
    if found != core.scope:
        raise BoardRefused(CHANGED)


async def _ask_and_post(core: DeviceCore, board: Board) -> None:
    """Read the tally, and post what waits and is of use by it."""
    core.read(await _told(core, board))
    with _posting(core) as waiting:
        for envelope in waiting:
            is_wanted = core.is_wanted(envelope)
            core.settle(envelope, await board.publish(envelope) if is_wanted else Outcome.REFUSED)


async def _post_and_read(core: DeviceCore, board: Board, *, deep: bool) -> bool:
    """Post what waits, and read the log unless the tally says that there is no need.

    Nothing is posted before the board is known to be ours.
    """
    bookmark = core.bookmark  # as it is now: the stream may move it while answers are awaited
    must_read = core.needs(await _told(core, board)) or deep
    if core.waiting:
        await _post(core, board)
        must_read |= core.spec.scheme.needs_order  # where its place is, the log tells
    if not must_read:
        return True
    if not await _holds(bookmark, board, deep=deep):
        core.rewind(forget=board.takes_back)
        await _read_on(core, board)
        await _post(core, board)
    return await _read_on(core, board)


async def _holds(bookmark: Bookmark, board: Board, *, deep: bool) -> bool:
    """Whether what was read before is still where it was.

    A cache may be seconds behind what this device has read elsewhere: so before the board is
    taken for another one, it is asked itself.
    """
    for read in (board.snapshot, board.latest):
        after = bookmark.read_from(deep=deep)
        posted: list[Posted] = []
        more = after < bookmark.number
        while more:
            snapshot = await read(after)
            posted += snapshot.posted
            more = snapshot.more and after < snapshot.number < bookmark.number
            after = snapshot.number
        if bookmark.holds(posted, deep=deep):
            return True
    return False


async def _read_on(core: DeviceCore, board: Board) -> bool:
    """Read the log from the bookmark to its end; whether nothing was left out of it."""
    while True:
        before = core.bookmark.number
        snapshot = await board.snapshot(before)
        if not snapshot.more:
            return core.receive(snapshot.posted, snapshot.number)
        core.receive(snapshot.posted)
        if core.bookmark.number == before:
            return False


async def _post(core: DeviceCore, board: Board) -> None:
    with _posting(core) as waiting:
        for envelope in waiting:
            outcome = await board.publish(envelope)
            if outcome is Outcome.REFUSED and (lost := core.lost_before(envelope)):
                for each in lost:
                    await board.publish(each)
                outcome = await board.publish(envelope)
            core.settle(envelope, outcome)


@contextmanager
def _posting(core: DeviceCore) -> Iterator[tuple[Envelope, ...]]:
    """What is to be posted now: nothing, for a while, to a board that takes nothing.

    The messages wait, and reading goes on: an operator may open an experiment again.
    """
    if not core.health.may_post:
        yield ()
        return
    waiting = core.waiting
    try:
        yield waiting
        if waiting:
            core.health.unbar()
    except PostingBarred as error:
        core.health.bar(str(error))
