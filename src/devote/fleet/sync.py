"""Bringing a device and its board together, again and again, over a network that fails.

One round checks that the experiment is ours, posts what waits and reads what is new. An unknown
outcome means "again", which idempotent messages make safe. A round reads by snapshot from just
before the last message read, which proves that the board is there, that it is the one that was
read before, and that nothing was skipped.

A device of a scheme that ``reads_tally`` reads that instead, and never the messages of others.

A device that blurs what it says first asks what the board holds of it, once after each start: its
store may be an older copy, and what it has said once it must not say again with fresh noise.
"""

from devote.boards.board import Board, BoardAlone, BoardRefused, BoardUnavailable, Outcome
from devote.boards.database import StoreError
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
    """One round: check that the experiment is ours, post what waits, read what is new.

    Without ``deep`` the experiment is taken to be ours, and only the last message read is
    looked at again to see that the board is still the one that was read before. Returns whether
    all of it worked; if not, the device's status says why. Only the board is awaited, so a board
    that never waits lets this be driven without an event loop.
    """
    try:
        if core.must_recall:
            core.recall(await board.said_by(core.identity.voter))
        if core.spec.scheme.reads_tally:
            await _ask_and_post(core, board)
            core.health.sync = None
            core.health.synced()
            return True
        if deep:
            experiment = await board.fetch_experiment()
            _check_scope(core, experiment.scope)
            core.learn_players(experiment.players)
        done = await _post_and_read(core, board, deep=deep)
    except BoardUnavailable as error:
        core.health.offline()
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


def _check_scope(core: DeviceCore, found: Scope) -> None:
    """Refuse a board that is not the one this device has joined."""
    if found.board != core.scope.board:
        raise BoardRefused(ANOTHER)
    if found != core.scope:
        raise BoardRefused(CHANGED)


async def _ask_and_post(core: DeviceCore, board: Board) -> None:
    """Read the tally, and post what waits and is of use by it."""
    told = await board.tally()
    _check_scope(core, told.scope)
    core.read(told)
    for envelope in core.waiting:
        is_wanted = core.is_wanted(envelope)
        core.settle(envelope, await board.publish(envelope) if is_wanted else Outcome.REFUSED)


async def _post_and_read(core: DeviceCore, board: Board, *, deep: bool) -> bool:
    bookmark = core.bookmark  # as it is now: the stream may move it while answers are awaited
    await _post(core, board)
    snapshot = await board.snapshot(bookmark.read_from(deep=deep))
    if not bookmark.holds(snapshot.posted, deep=deep):
        core.rewind(forget=board.takes_back)
        snapshot = await board.snapshot(0)
        core.receive(snapshot.posted, snapshot.number)
        await _post(core, board)
        snapshot = await board.snapshot(core.bookmark.number)
    return core.receive(snapshot.posted, snapshot.number)


async def _post(core: DeviceCore, board: Board) -> None:
    for envelope in core.waiting:
        outcome = await board.publish(envelope)
        if outcome is Outcome.REFUSED and (lost := core.lost_before(envelope)):
            for each in lost:
                await board.publish(each)
            outcome = await board.publish(envelope)
        core.settle(envelope, outcome)
