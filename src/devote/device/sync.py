"""Bringing a device and its board together, again and again, over a network that fails.

*Joining.* The first time, one request asks for the specification, and to be enrolled if the device
accepts it. Its key is stored before it is used, so a device that dies in between enrols again with
the same key. Once enrolled it needs nobody: it opens its store and plays.

*A round* posts what waits, reads the tally, which shows how the group stands and that the board is
there and ours, and reads the log where that is needed. An unknown outcome means "again", which
idempotent messages make safe. The log is read from just before the last message read, which proves
that it is the one that was read before and that nothing was skipped; page after page, each stored
before the next is asked for, so that reading goes on where it broke off. A board that takes
nothing, because the experiment is closed or the device revoked, is read all the same. A device of a
scheme that ``reads_tally`` never reads the log. A device that blurs what it sends first asks what
the board holds of it, once after each start: its store may be an older copy, and what it has sent
once it must not send again with fresh noise.

*The loop* makes round after round. Between them a stream brings messages as they come, where the
server has room for it. Streams hang silently in real networks: the next round notices. Where they
do not get through they are tried ever more rarely, and rounds alone do the work. The server sets
the pace, with the tally. A device that meets trouble never asks more often than that: it waits as
long, then ever longer, and at least as long as the server asks for. Every wait is spread by chance,
so that devices that were cut off together do not come back together.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from devote.boards.board import (
    Board,
    BoardAlone,
    BoardRefused,
    BoardUnavailable,
    EndOfBacklog,
    EnrolmentRefused,
    Envelope,
    Joined,
    Outcome,
    Posted,
    PostingRejected,
    Snapshot,
)
from devote.boards.database import StoreError
from devote.device import steps
from devote.device.core import Core
from devote.device.errors import DeviceError, JoinRefused
from devote.device.record import Expiry
from devote.device.status import Health
from devote.device.store import Store
from devote.protocol import ExperimentSpec, ProtocolError

Sleep: TypeAlias = Callable[[float], Awaitable[None]]

CHANGED = (
    "The experiment's specification has changed on the board; nothing is sent or read.\n"
    "Join the new one with a new store, or restore the old specification."
)
ANOTHER = (
    "Another board answers under the experiment's name; nothing is sent or read.\n"
    "Check the address, or join the new board with a new store."
)
GAP = "The board leaves out messages.\nThey are asked for again."

CHECK_EVERY = 20
"""Rounds between two that read what was read before again, to see that it is still there; every
failure asks for one too.
"""

SELDOM = 3_600.0
"""At most so many seconds between two tries to open a stream."""


# Joining.


@dataclass(frozen=True, kw_only=True)
class Terms:
    """On what terms a device takes part in the experiment at ``url``.

    ``privacy`` is the highest e of local differential privacy that it accepts, proved for all that
    it ever sends; ``fingerprint`` the only specification. None accepts any.
    """

    url: str
    invite: str | None = None
    expiry: Expiry = field(default_factory=Expiry)
    privacy: float | None = None
    fingerprint: str | None = None

    def __post_init__(self) -> None:
        if self.privacy is not None and not self.privacy > 0.0:
            raise DeviceError(
                f"privacy={self.privacy!r} must be more than 0.\n"
                "It is the highest e that this device accepts: 1 is strong, 4 is weak."
            )

    @property
    def experiment(self) -> str:
        """The name of the experiment."""
        return self.url.rstrip("/").rpartition("/")[2]

    def check(self, spec: ExperimentSpec) -> None:
        """Refuse a specification that this device does not accept."""
        self.expiry.check(spec.scheme.sending.reply_after)
        if self.fingerprint is not None and spec.fingerprint != self.fingerprint:
            raise JoinRefused(
                f"{spec.name!r} has the specification {spec.fingerprint}, but this device accepts "
                f"only {self.fingerprint}.\nAsk its operator what was changed."
            )
        if self.privacy is None:
            return
        proved = spec.scheme.sending.privacy
        if proved is None or proved > self.privacy:
            offered = "no proved privacy" if proved is None else f"privacy={proved:g}"
            raise JoinRefused(
                f"{spec.name!r} offers {offered}, but this device accepts at most "
                f"privacy={self.privacy:g}.\nNothing was sent. Ask its operator for a stronger one."
            )


async def join(store: Store, board: Board, terms: Terms) -> Joined | None:
    """Enrol with the key in the store, and store the experiment; None if it has joined before."""
    identity = store.identity(terms.experiment)
    if store.has_joined:
        return None
    if terms.expiry.after is not None or store.is_bound:  # no board can be asked to check these
        experiment = await board.fetch_experiment()
        terms.check(experiment.spec)
        store.bind(experiment.scope)
    privacy, fingerprint = terms.privacy, terms.fingerprint
    joined = await board.join(identity, terms.invite, privacy=privacy, fingerprint=fingerprint)
    terms.check(joined.experiment.spec)
    if joined.tally.scope != joined.experiment.scope:
        raise BoardRefused(ANOTHER)
    if joined.outcome not in ("accepted", "duplicate"):
        raise EnrolmentRefused(joined.reason or "The board refuses this device.\nAsk its operator.")
    store.join(terms.url, joined.experiment, identity)
    return joined


# A round.


async def sync_once(core: Core, board: Board, *, verify_history: bool = True) -> bool:
    """One round: post what waits, read how the group stands, and what is new of the log.

    Without ``verify_history`` the log is not read while the tally follows from what was read before
    (``steps.needs``). Returns whether all of it worked; if not, the device's status says why. One
    round begins when another has ended: two that both read anew would undo each other. Only the
    board is awaited, so a board that never waits lets this be driven without an event loop.
    """
    health = core.health
    async with core.rounds:
        try:
            done = await _round(core, board, verify_history=verify_history)
        except StoreError:
            return False  # the core has noted it
        except BoardUnavailable as error:
            health.offline(error)
            health.sync = str(error) if isinstance(error, BoardAlone) else health.sync
            return False
        except (BoardRefused, ProtocolError) as error:
            health.offline()
            health.sync = str(error)
            return False
        health.sync = None if done else GAP
        if done:
            health.synced()
        return done


async def _round(core: Core, board: Board, *, verify_history: bool) -> bool:
    """Nothing is posted before the board is known to be ours, and what it holds of this device."""
    scheme = core.record.spec.scheme
    if core.must_recall:
        core.recall(await board.sent_by(core.identity.voter))
    bookmark = core.bookmark  # as it is now: the stream may move it while answers are awaited
    tally = await board.tally()
    if tally.board != core.record.scope.board:
        raise BoardRefused(ANOTHER)
    if tally.scope != core.record.scope:
        raise BoardRefused(CHANGED)
    core.health.note(tally)
    if scheme.about.reads_tally:
        core.change(steps.read_tally, tally)
        await _post(core, board)
        return True
    must_read = verify_history or steps.needs(core.record, tally)
    if core.waiting:
        await _post(core, board)
        must_read |= scheme.about.needs_order  # the log shows where its place is
    if not must_read:
        return True
    for read in (board.snapshot, board.latest):
        # A cache may be seconds behind what this device has read elsewhere: so before the board
        # is taken for another one, it is asked itself.
        if bookmark.holds(await _read_between(read, bookmark.read_from, bookmark.number)):
            return await _read_on(core, board)
    core.change(steps.rewind, forget=board.takes_back)
    await _read_on(core, board)
    await _post(core, board)
    return await _read_on(core, board)


async def _read_between(
    read: Callable[[int], Awaitable[Snapshot]], after: int, end: int
) -> list[Posted]:
    """The messages above ``after`` up to ``end``, and perhaps more."""
    posted: list[Posted] = []
    more = after < end
    while more:
        snapshot = await read(after)
        posted += snapshot.posted
        more = snapshot.more and after < snapshot.number < end
        after = snapshot.number
    return posted


async def _read_on(core: Core, board: Board) -> bool:
    """Read the log from the bookmark to its end; whether nothing was left out of it."""
    while True:
        before = core.bookmark.number
        snapshot = await board.snapshot(before)
        if not snapshot.more:
            return core.receive(snapshot.posted, snapshot.number)
        core.receive(snapshot.posted)
        if core.bookmark.number == before:
            return False


async def _post(core: Core, board: Board) -> None:
    """Post what waits: nothing, for a while, to a board that takes nothing.

    The messages are kept, and reading goes on: an operator may open an experiment again.
    """
    waiting = core.waiting
    if not waiting or not core.health.may_post:
        return
    try:
        for envelope in waiting:
            core.change(steps.settle, envelope, await _publish(core, board, envelope))
    except PostingRejected as error:
        core.health.bar(str(error))
    else:
        core.health.unbar()


async def _publish(core: Core, board: Board, envelope: Envelope) -> Outcome:
    if core.record.spec.scheme.about.reads_tally:
        is_wanted = core.record.player.still_wants(envelope.message)
        return await board.publish(envelope) if is_wanted else Outcome.REFUSED
    outcome = await board.publish(envelope)
    if outcome is Outcome.REFUSED and (lost := core.lost_before(envelope)):
        for each in lost:
            await board.publish(each)
        outcome = await board.publish(envelope)
    return outcome


# The loop.


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds between rounds while all is well, and the base and cap of waiting when it is not.

    What is left out is for the server to set: ``every`` is its pace, and ``base`` is ``every``.
    Without ``streams`` none is opened.

    >>> health = Health(lambda: 0.0)
    >>> [Pace().after_failures(n, health, u=0.5) for n in range(4)]
    [15.0, 30.0, 60.0, 120.0]
    """

    every: float | None = None
    base: float | None = None
    cap: float = 900.0
    streams: bool = True

    def between(self, health: Health) -> float:
        """Seconds from round to round, on average."""
        return health.every if self.every is None else self.every

    def after_round(self, health: Health, u: float) -> float:
        """How long to wait after a round that went well: from half the pace to one and a half."""
        return self.between(health) * (0.5 + u)

    def after_failures(self, tries: int, health: Health, u: float) -> float:
        """How long to wait after so many failures before this one."""
        base = self.between(health) if self.base is None else self.base
        seconds = min(max(self.cap, base), base * 2.0 ** min(tries, 32))
        return max(seconds * (0.5 + u), health.quiet * (1.0 + u))


async def run_forever(
    core: Core,
    board: Board,
    *,
    wake: asyncio.Event,
    dice: Callable[[], float],
    pace: Pace | None = None,
    sleep: Sleep = asyncio.sleep,
) -> None:
    """Keep a device in step with its board until cancelled; ``wake`` asks for a round now."""
    pace, health = pace or Pace(), core.health
    may_stream = pace.streams and not core.record.spec.scheme.about.reads_tally
    stream: asyncio.Task[float] | None = None
    rounds = failures = cuts = 0
    stream_at = core.now()
    try:
        while True:
            wake.clear()
            tried = core.waiting
            done = False
            with _noting(core):
                done = await sync_once(core, board, verify_history=rounds % CHECK_EVERY == 0)
            if not (done and may_stream and health.streams):
                await _cancelled(stream)
                stream = None
            if not done:
                wait = pace.after_failures(failures, health, dice())
                await _rest(core, tried, wait, sleep, asyncio.Event())  # which nobody sets
                rounds, failures = 0, failures + 1
                continue
            rounds, failures = rounds + 1, 0
            if may_stream and health.streams and stream is None and core.now() >= stream_at:
                stream = asyncio.create_task(_listen(core, board))
            streams = () if stream is None else (stream,)
            await _rest(core, tried, pace.after_round(health, dice()), sleep, wake, *streams)
            if stream is None or not stream.done():
                cuts = cuts if stream is None else 0
                continue
            # All streams of a server that was stopped break at once: not all come back at once.
            wait = pace.between(health) * 2.0 ** min(cuts, 32)
            quiet = max(min(wait, SELDOM), stream.result()) * (0.5 + dice())
            stream, cuts, stream_at = None, cuts + 1, core.now() + quiet
            await _pause(pace.between(health) * dice(), sleep, wake)
    finally:
        await _cancelled(stream)


@contextmanager
def _noting(core: Core) -> Iterator[None]:
    """Whatever goes wrong, the status says so, and the loop goes on."""
    try:
        yield
    except BoardUnavailable:
        raise
    except Exception as error:
        core.health.sync = f"Reading and sending failed ({type(error).__name__}).\nReport this."


async def _listen(core: Core, board: Board) -> float:
    """Take in messages as they come, until the stream breaks; the next round finds out why.

    Returns for how many seconds the server wants no stream.
    """
    events = board.stream(core.bookmark.number)
    try:
        with _noting(core), suppress(BoardRefused, StoreError):
            async for event in events:
                if isinstance(event, EndOfBacklog):
                    core.receive((), event.number)
                else:
                    core.receive((event,))
    except BoardUnavailable as error:
        return error.retry_after
    finally:
        if isinstance(events, AsyncGenerator):
            await events.aclose()
    return 0.0


async def _rest(
    core: Core,
    tried: tuple[Envelope, ...],
    seconds: float,
    sleep: Sleep,
    wake: asyncio.Event,
    *streams: asyncio.Task[float],
) -> None:
    """Wait so long, or until woken, until an answer is to leave, or until a stream breaks.

    ``tried`` is what the last round had to send. Questions whose time is over are closed meanwhile.
    """
    while seconds > 0.0:
        with _noting(core), suppress(StoreError):  # the core has noted it
            core.close_question()
        if any(envelope not in tried for envelope in core.waiting):
            return
        moment = core.next_in
        wait = seconds if moment is None else min(seconds, moment)
        await _pause(wait, sleep, wake, *streams)
        if wake.is_set() or any(stream.done() for stream in streams):
            return
        seconds -= wait


async def _pause(
    seconds: float, sleep: Sleep, wake: asyncio.Event, *streams: asyncio.Task[float]
) -> None:
    """Wait so long, or until woken, or until a stream breaks."""
    timer = asyncio.ensure_future(sleep(seconds))
    woken = asyncio.ensure_future(wake.wait())
    try:
        await asyncio.wait({timer, woken, *streams}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await _cancelled(timer)
        await _cancelled(woken)


async def _cancelled(task: "asyncio.Future[Any] | None") -> None:
    # Not a bare await: that would swallow the cancelling of whoever waits here.
    if task is not None and not task.done():
        task.cancel()
        await asyncio.wait({task})
    if task is not None and not task.cancelled():
        task.exception()
