"""Bringing a device and its board together, again and again, over a network that fails.

*Joining.* The first time, one request asks for the specification, and to be enrolled if the device
accepts it. Its key is stored before it is used, so a device that dies in between enrols again with
the same key. Once enrolled it needs nobody: it opens its store and plays.

*A round* posts what waits, reads the tally, which shows how the group stands and that the board is
ours, and reads the log where that is needed. An unknown outcome means "again", which idempotent
messages make safe. The log is read from just before the last message read, which proves that it is
the one that was read before; page after page, each stored before the next is asked for. A board
that takes nothing, because the experiment is closed or the device revoked, is read all the same. A
device that blurs what it sends first asks what the board holds of it, once after each start: its
store may be an older copy, and what it has sent once it must not send again with fresh noise.

*The loop* makes round after round. Between them a stream brings messages as they come, where the
server has room for it; they hang silently in real networks, and the next round notices. The server
sets the pace, with the tally. A device that meets trouble never asks more often than that: it waits
as long, then ever longer, and at least as long as the server asks for. Every wait is spread by
chance, so that devices that were cut off together do not come back together.
"""

import asyncio
import math
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeAlias

from devote.boards.board import (
    Board,
    BoardAlone,
    BoardRefused,
    BoardUnavailable,
    EndOfBacklog,
    EnrolmentRefused,
    Envelope,
    Outcome,
    Posted,
    PostingRejected,
    Snapshot,
)
from devote.boards.database import StoreError
from devote.device import steps
from devote.device.core import SYSTEM_RANDOM, Core, Health
from devote.device.errors import DeviceError, JoinRefused, StaysOut
from devote.device.ledger import Limits
from devote.device.steps import Expiry
from devote.protocol import ExperimentSpec, ProtocolError

Pause: TypeAlias = Callable[[float, asyncio.Event], Awaitable[None]]
"""Wait for so many seconds, or until the event is set."""

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

SELDOM = 600.0
"""At least so many seconds between two streams: where they break, rounds do the work."""


# Joining.


@dataclass(frozen=True, kw_only=True)
class Terms:
    """On what terms a device takes part in the experiment at ``url``.

    ``privacy`` is the highest e of local differential privacy that it accepts, proved for all that
    it ever sends; ``fingerprint`` the only specification. None accepts any. ``limits`` say whether
    it takes part at all, ``left`` is what is left of their budget. ``sticky``: see ``Core``.
    """

    url: str
    invite: str | None = None
    expiry: Expiry = field(default_factory=Expiry)
    privacy: float | None = None
    fingerprint: str | None = None
    limits: Limits = field(default_factory=Limits)
    left: float | None = None
    sticky: bool = False

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
        waits, reply_after = self.expiry.after, spec.scheme.sending.reply_after
        if waits is not None and reply_after is not None and waits > reply_after:
            raise DeviceError(
                f"expire_after={waits:g} is longer than reply_after={reply_after:g} of this "
                "experiment, after which a reward that has not come counts as 0.\n"
                f"Use at most {reply_after:g} seconds, or leave expire_after out."
            )
        if self.fingerprint is not None and spec.fingerprint != self.fingerprint:
            raise JoinRefused(
                f"{spec.name!r} has the specification {spec.fingerprint}, but this device accepts "
                f"only {self.fingerprint}.\nAsk its operator what was changed."
            )
        if self.sticky and reply_after is None:
            raise DeviceError(
                f"{spec.name!r} has the scheme {spec.scheme.name}, whose devices try many arms.\n"
                "Use sticky in a survey only."
            )
        proved = spec.scheme.sending.privacy
        offered = "no proved privacy" if proved is None else f"privacy={proved:g}"
        e = math.inf if proved is None else proved
        if self.left is not None and e > self.left:
            raise StaysOut(
                f"{spec.name!r} offers {offered}, but {self.left:g} is left of this user's budget "
                f"of {self.limits.budget:g}.\nIt takes no part. Show a default."
            )
        if self.privacy is not None and e > self.privacy:
            raise JoinRefused(
                f"{spec.name!r} offers {offered}, but this device accepts at most "
                f"privacy={self.privacy:g}.\nIt takes no part. Ask its operator for a stronger one."
            )


async def join(core: Core, board: Board, terms: Terms) -> None:
    """Enrol with the key in the store, and store the experiment, if that is not done already."""
    store, identity = core.store, core.store.identity(terms.experiment)
    joined = None
    if not store.has_joined:
        # These are checked here: no board can, or may be told (what is left tells of others).
        is_own_check = terms.expiry.after is not None or terms.sticky or terms.left is not None
        if is_own_check or store.is_bound:
            experiment = await board.fetch_experiment()
            terms.check(experiment.spec)
            store.bind(experiment.scope)
        joined = await board.join(
            identity, terms.invite, privacy=terms.privacy, fingerprint=terms.fingerprint
        )
        terms.check(joined.experiment.spec)
        if joined.tally.scope != joined.experiment.scope:
            raise BoardRefused(ANOTHER)
        if joined.outcome not in ("accepted", "duplicate"):
            why = joined.reason or "The board refuses this device.\nAsk its operator."
            raise EnrolmentRefused(why)
        store.join(joined.experiment, identity)
    terms.check(store.load().spec)
    core.start()
    await board.begin(identity)
    if joined is None:
        return
    core.health.note(joined.tally)
    try:
        if core.must_recall:
            core.recall(joined.sent)
        if core.record.spec.scheme.about.reads_tally:
            core.change(steps.read_tally, joined.tally)
    except ProtocolError as error:
        core.health.sync = str(error)


# A round.


async def sync_once(core: Core, board: Board, *, verify_history: bool = True) -> bool:
    """One round: post what waits, read how the group stands, and what is new of the log.

    Without ``verify_history`` the log is not read while the tally follows from what was read before
    (``steps.needs_log``). Returns whether all of it worked; if not, the device's status says why.
    One round begins when another has ended: two that both read anew would undo each other. Only the
    board is awaited, so a board that never waits lets this be driven without an event loop.
    """
    health = core.health
    async with core.rounds:
        try:
            done = await _round(core, board, verify_history=verify_history)
        except StoreError:
            return False  # the core has noted it
        except (BoardUnavailable, BoardRefused, ProtocolError) as error:
            health.offline(error)
            if isinstance(error, BoardAlone) or not isinstance(error, BoardUnavailable):
                health.sync = str(error)
            return False
        if done:
            health.synced()
        else:
            health.sync = GAP
        return done


async def _round(core: Core, board: Board, *, verify_history: bool) -> bool:
    """Nothing is posted before the board is known to be ours, and what it holds of this device."""
    record = core.record
    about, bookmark = record.spec.scheme.about, record.bookmark  # which a stream may move meanwhile
    if core.must_recall:
        core.recall(await board.sent_by(record.identity.voter))
    tally = await board.tally()
    if tally.scope != record.scope:
        raise BoardRefused(CHANGED if tally.board == record.scope.board else ANOTHER)
    core.health.note(tally)
    core.keep(tally)
    if about.reads_tally:
        core.change(steps.read_tally, tally)
        await _post(core, board)
        return True
    must_read = verify_history or steps.needs_log(core.record, tally)
    if core.waiting:
        await _post(core, board)
        must_read |= about.needs_order  # the log shows where its place is
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
        before = core.record.bookmark.number
        snapshot = await board.snapshot(before)
        if not snapshot.more:
            return core.receive(snapshot.posted, snapshot.number)
        core.receive(snapshot.posted)
        if core.record.bookmark.number == before:
            return False


async def _post(core: Core, board: Board) -> None:
    """Post what waits: nothing, for a while, to a board that takes nothing.

    The messages are kept, and reading goes on: an operator may open an experiment again.
    """
    if core.now() < core.health.post_at:
        return
    reads_tally = core.record.spec.scheme.about.reads_tally
    try:
        for envelope in core.waiting:
            outcome = Outcome.REFUSED
            if not reads_tally or core.record.player.still_wants(envelope.message):
                outcome = await board.publish(envelope)
            if outcome is Outcome.REFUSED and (lost := core.lost_before(envelope)):
                for each in [*lost, envelope]:
                    outcome = await board.publish(each)
            core.change(steps.settle, envelope, outcome)
            core.health.unbar()
    except PostingRejected as error:
        core.health.bar(str(error))


# The loop.


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds between rounds while all is well, and the base and cap of waiting when it is not.

    What is left out is for the server to set: ``every`` is its pace, and ``base`` is ``every``.
    Without ``streams`` none is opened.

    >>> health = Health(lambda: 0.0)
    >>> [Pace().wait(health, failures, u=0.5) for failures in range(5)]
    [15.0, 15.0, 30.0, 60.0, 120.0]
    """

    every: float | None = None
    base: float | None = None
    cap: float = 900.0
    streams: bool = True

    def between(self, health: Health) -> float:
        """Seconds from round to round, on average."""
        return health.every if self.every is None else self.every

    def wait(self, health: Health, failures: int, u: float) -> float:
        """How long to wait after so many failures in a row: half more or less, by chance."""
        every = self.between(health)
        if failures == 0:
            return every * (0.5 + u)
        base = every if self.base is None else self.base
        seconds = min(max(self.cap, base), base * 2.0 ** min(failures - 1, 32))
        return max(seconds * (0.5 + u), health.quiet * (1.0 + u))


async def pause(seconds: float, wake: asyncio.Event) -> None:
    """Wait for so many seconds, or until ``wake`` is set."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await wake.wait()


async def run_forever(
    core: Core,
    board: Board,
    *,
    wake: asyncio.Event,
    dice: Callable[[], float] = SYSTEM_RANDOM,
    pace: Pace | None = None,
    pause: Pause = pause,
) -> None:
    """Keep a device in step with its board until cancelled; ``wake`` asks for a round now."""
    pace, health = pace or Pace(), core.health
    may_stream = pace.streams and not core.record.spec.scheme.about.reads_tally
    streaming: asyncio.Task[None] | None = None
    rounds, failures, stream_at = 0, 0, 0.0
    try:
        while True:
            wake.clear()
            tried, done = core.waiting, False
            try:
                done = await sync_once(core, board, verify_history=rounds % CHECK_EVERY == 0)
                core.store.trim()
            except Exception as error:
                _note(core, error)
            rounds, failures = (rounds + 1, 0) if done else (0, failures + 1)
            wants_stream = done and may_stream and health.streams
            if streaming is not None and (streaming.done() or not wants_stream):
                await _end(streaming)
                streaming = None
            if streaming is None and wants_stream and core.now() >= stream_at:
                stream_at = core.now() + SELDOM
                until_round = pace.between(health) * dice()
                streaming = asyncio.create_task(_listen(core, board, wake, pause, until_round))
            # After a failure nothing makes it try sooner.
            until = wake if done else asyncio.Event()
            await _rest(core, tried, pace.wait(health, failures, dice()), until, pause)
    finally:
        if streaming is not None:
            await _end(streaming)


async def _rest(
    core: Core, tried: tuple[Envelope, ...], seconds: float, wake: asyncio.Event, pause: Pause
) -> None:
    """Wait so long, or until woken, or until there is something to send that was not ``tried``.

    Questions whose time is over are closed meanwhile.
    """
    while seconds > 0.0 and not wake.is_set():
        try:
            with suppress(StoreError):  # the core has noted it
                core.close_question()
        except Exception as error:
            _note(core, error)
        if any(envelope not in tried for envelope in core.waiting):
            return
        moment = steps.next_in(core.record, core.now())
        wait = seconds if moment is None else min(seconds, moment)
        await pause(wait, wake)
        seconds -= wait


async def _listen(
    core: Core, board: Board, wake: asyncio.Event, pause: Pause, until_round: float
) -> None:
    """Take in messages as they come until the stream breaks; then have a round find out why.

    All streams of a server that was stopped break at once: each device waits by chance.
    """
    events = board.stream(core.record.bookmark.number)
    try:
        async for event in events:
            if isinstance(event, EndOfBacklog):
                core.receive((), event.number)
            else:
                core.receive((event,))
    except (BoardUnavailable, BoardRefused, StoreError):
        pass
    except Exception as error:
        _note(core, error)
    finally:
        if isinstance(events, AsyncGenerator):
            await events.aclose()
    await pause(until_round, asyncio.Event())
    wake.set()


def _note(core: Core, error: Exception) -> None:
    """Whatever goes wrong, the status says so, and the loop goes on."""
    core.health.sync = f"Reading and sending failed ({type(error).__name__}).\nReport this."


async def _end(task: "asyncio.Task[None]") -> None:
    # Not a bare await: that would swallow the cancelling of whoever waits here.
    task.cancel()
    await asyncio.wait({task})
