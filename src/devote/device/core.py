"""A device without its network: its record, its store, its clock and its random numbers.

``Core`` runs the steps, one after the other under a lock: it hands an event to ``steps``, stores
the record, and only then returns. If the store cannot be written, memory goes back to what is
stored and the call may be made again. Calls may come from several threads; none waits for the
network. ``DeviceStatus`` is what a device shows of itself: how fresh its view is, and exactly what
has left it, but nothing of a reward, nor how often an arm was played or what it paid on average.
"""

import asyncio
import random
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from typing import Concatenate, ParamSpec, TypeAlias

from devote.boards.admission import Check
from devote.boards.board import BoardUnavailable, Envelope, Posted, TallySnapshot
from devote.boards.database import StoreError
from devote.boards.identity import verify, verify_snapshot
from devote.device import steps
from devote.device.errors import RewardRefused
from devote.device.steps import Choice, Clock, Expiry, Record
from devote.device.store import Store
from devote.protocol import Message, ProtocolError, Status
from devote.protocol.messages import digest, to_dict

P = ParamSpec("P")
Step: TypeAlias = Callable[Concatenate[Record, P], steps.Change | None]

SYSTEM_RANDOM = random.SystemRandom().random
"""Numbers of the operating system: nobody can guess noise that is drawn from them."""

REFUSED = (
    "The board refuses a message of this device; it is kept and offered again.\n"
    "Check that the device is enrolled in the experiment."
)
FORGED = "The board holds messages that are not valid.\nThey are ignored; tell its operator."
UNSIGNED = (
    "The board's tally is not signed with the key that it had at the join.\nAsk its operator why."
)
OLD = "The board's tally is more than an hour old or ahead of time.\nCheck this device's clock."
OLDEST = 3_600.0

FIRST_BAR, LONGEST_BAR = 15.0, 3_600.0  # seconds until a board that takes nothing is asked again
EVERY = 15.0  # seconds between two rounds where no server sets a pace
LONGEST = 86_400.0  # a server can ask for at most so many: a broken one must not silence devices


@dataclass(frozen=True, slots=True)
class DeviceStatus:
    """A device at one moment.

    Until the first join has worked (``joined``) nothing is known of the experiment but its name.
    Until the first full read of the board (``complete``) the state is open and all arms are shared.
    ``answer`` has the likeliest arm first. ``remaining`` are the arms this device has not
    eliminated; with segments they are the shared ones, and nothing here tells the device's own
    segment. ``sent`` and ``waiting`` are all that has left the device or will, besides its
    request to be enrolled; a message that a restored board has lost is among both. An answer that
    is held back is not among those that wait: nothing here tells whether there was a reward;
    ``reply_in`` is how many seconds it is until the next one leaves, made or not. Ages are in
    seconds and times in seconds since 1970.

    Paper: ``remaining`` and ``shared`` are K^n(l^n) and K(l).
    """

    experiment: str
    voter: str = ""
    answer: tuple[int, ...] = ()
    shared: tuple[int, ...] = ()
    remaining: tuple[int, ...] = ()
    sent: tuple[Message, ...] = ()
    waiting: tuple[Message, ...] = ()
    state: Status = "open"
    complete: bool = False
    synced_ago: float | None = None
    offline_since: float | None = None
    degraded: tuple[str, ...] = ()
    reply_in: float | None = None
    joined: bool = False

    @property
    def freshness(self) -> str:
        """How fresh the view of the board is, in words."""
        if self.offline_since is not None:
            since = time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(self.offline_since))
            return f"offline since {since}"
        if self.synced_ago is None:
            return "not synced yet"
        return f"synced {self.synced_ago:.0f} s ago"

    def __str__(self) -> str:
        joined = "" if self.joined else "not joined yet, "
        lines = [
            f"{self.experiment}: {joined}{self.state}, {self.freshness}",
            f"messages sent {len(self.sent)}, waiting {len(self.waiting)}",
        ]
        lines += [f"degraded: {reason.splitlines()[0]}" for reason in self.degraded]
        return "\n".join(lines)


@dataclass
class Health:
    """How the device and its board get on, and what stands in the way: None if nothing.

    ``store`` is about the last step, ``sync`` about the last round, ``forged`` about all that was
    read, ``unsigned`` about the latest tally, ``rejected`` about a board that takes nothing from
    this device, before ``post_at``. The server asks for a pace of ``every`` seconds, for
    ``streams`` or none, and, when something has failed, for so many seconds of ``quiet``.
    """

    now: Callable[[], float]
    offline_since: float | None = None
    synced_at: float | None = None
    store: str | None = None
    sync: str | None = None
    forged: str | None = None
    unsigned: str | None = None
    rejected: str | None = None
    every: float = EVERY
    streams: bool = True
    quiet: float = 0.0
    bars: int = 0
    post_at: float = 0.0

    def synced(self) -> None:
        """The board has been read to its end."""
        self.synced_at, self.offline_since, self.sync = self.now(), None, None

    def offline(self, error: BaseException | None = None) -> None:
        """The board could not be reached, or not read."""
        if self.offline_since is None:
            self.offline_since = self.now()
        if isinstance(error, BoardUnavailable):
            self.quiet = error.retry_after

    def note(self, tally: TallySnapshot) -> None:
        """Take in what the server asks for, which comes with a tally."""
        self.every = EVERY if tally.pace is None else min(float(tally.pace), LONGEST)
        self.streams, self.quiet = tally.streams, 0.0

    def bar(self, reason: str) -> None:
        """The board takes nothing from this device just now: it is asked ever more rarely.

        A closed experiment would else be asked by its whole fleet, round after round.
        """
        self.rejected = reason
        self.post_at = self.now() + min(LONGEST_BAR, FIRST_BAR * 2.0 ** min(self.bars, 32))
        self.bars += 1

    def unbar(self) -> None:
        """The board takes messages, or is to be asked at once whether it does."""
        self.rejected, self.bars, self.post_at = None, 0, 0.0


@dataclass(eq=False, repr=False)
class Core:
    """A device on its ``store``; ``joined`` once it takes part, which is when it has a ``record``.

    Until then it plays the ``fallback``, if it has one. With ``starts`` it goes on at once with a
    store in which it has joined. ``dice`` gives a uniform number in [0, 1)
    for each new pull, ``noise`` one for schemes that blur what they send, and ``jitter`` one for
    each moment at which an answer leaves. ``sticky``: a device that was asked once plays that arm,
    and is not asked again, until the experiment has settled or the arm is out. ``on_message`` is
    called when something is to be posted, now or later, and must return at once. ``must_recall``:
    the board is to be asked what it holds of this device before anything is sent.
    """

    store: Store
    _: KW_ONLY
    starts: bool = True
    experiment: str = ""
    fallback: Choice | None = None
    expiry: Expiry = field(default_factory=Expiry)
    sticky: bool = False
    clock: Clock = field(default_factory=Clock)
    dice: Callable[[], float] = SYSTEM_RANDOM
    noise: Callable[[], float] = SYSTEM_RANDOM
    jitter: Callable[[], float] = SYSTEM_RANDOM
    check: Check = verify
    on_message: Callable[[], None] = lambda: None
    record: Record = field(init=False)

    def __post_init__(self) -> None:
        self.now = self.clock.start()
        self.health = Health(self.now)
        self.rounds = asyncio.Lock()
        self.lock = threading.RLock()
        self.joined = self.is_stale = self.must_recall = False
        if self.starts:
            self.start()

    def start(self) -> None:
        """Go on with what is in the store, in which the device has joined."""
        with self.lock:
            self.record = self.store.load()
            self.must_recall = self.record.sending.noisy and not self.store.is_new
            self.joined = True
            resumed = steps.resume(self.record, self.now(), self.jitter())
            with suppress(StoreError):  # the moments in memory hold all the same
                if resumed is not None:
                    self.store.save(self.record, resumed)
            with suppress(StoreError):
                self.close_question()

    # What an app calls.

    def choose(self, u: float | None = None, segment: str | None = None) -> Choice:
        """What to play: the pending choice if its reward has not come, else a new one."""
        with self.lock:
            if not self.joined:
                assert self.fallback is not None
                return self.fallback
            now = self.now()
            self._reload()
            self.record.player.check_segment(segment)
            if self.record.player.pending is not None:
                self.change(steps.end_play, now, self.expiry)
            sending = self.record.sending
            if (instead := self.record.player.instead) is not None:
                return self._unasked(instead)
            if self.record.player.pending is not None:
                self.change(steps.wake, self.noise() if sending.noisy else 0.0)
            elif (kept := self._kept()) is not None:
                return kept
            else:
                u = self.dice() if u is None else u
                jitter = 0.0 if sending.reply_after is None else self.jitter()
                self.change(steps.choose, now, u, self.noise, jitter, segment)
            choice = steps.pending(self.record)
            assert choice is not None
            return choice

    def _kept(self) -> Choice | None:
        """The arm that a sticky device goes on with, if it does."""
        player = self.record.player
        asked = next(iter(self.record.outbox), None) if self.sticky else None
        if asked is None or player.settled is not None:
            return None
        arm: int = to_dict(asked)["arm"]
        return self._unasked(arm) if arm in player.remaining else None

    def _unasked(self, arm: int) -> Choice:
        """An arm to show, from which nothing is learned."""
        return Choice(arm, self.record.spec.arm_names[arm], "")

    def pending(self) -> Choice | None:
        """The choice that awaits its reward, also after a restart."""
        with self.lock:
            if not self.joined:
                return None
            self._reload()
            return steps.pending(self.record)

    def reward(self, x: float, choice: Choice | str | None = None) -> None:
        """Learn what the choice paid, from 0 to 1; counted once or not at all."""
        play = choice.play if isinstance(choice, Choice) else choice
        with self.lock:
            may_be_unasked = isinstance(choice, Choice) or self.sticky or self.fallback is not None
            if not self.joined or (play == "" and may_be_unasked):
                return  # nothing is learned from it
            if self.record.closes is not None:
                self.close_question()
            self.change(steps.reward, x, choice)

    def best(self) -> int | None:
        """The arm the group has settled on, for the device's own segment if there are any.

        None before that, and until the first full read.
        """
        with self.lock:
            is_read = self.joined and self.record.bookmark.complete
            return self.record.player.settled if is_read else None

    def status(self) -> DeviceStatus:
        """How the device stands."""
        with self.lock:
            health, now = self.health, self.now()
            troubles = (health.store, health.sync, health.forged, health.unsigned, health.rejected)
            degraded = tuple(trouble for trouble in troubles if trouble is not None)
            if not self.joined:
                since = health.offline_since
                return DeviceStatus(self.experiment, degraded=degraded, offline_since=since)
            record = self.record
            spec, complete = record.spec, record.bookmark.complete
            hidden = record.sending.segments  # what a device has left tells its own
            known = record.player if complete else spec.scheme.tally(spec)
            public = known.public(record.players)
            read_at = health.synced_at
            return DeviceStatus(
                experiment=spec.name,
                voter=record.identity.voter,
                answer=tuple(public["answer"]),
                shared=tuple(public["shared"]),
                remaining=tuple(public["shared"]) if hidden else record.player.remaining,
                sent=tuple([message for message, e in record.outbox.items() if e.has_left]),
                waiting=tuple([e.message for e in steps.to_post(record, now)]),
                state=public["status"],
                complete=complete,
                synced_ago=None if read_at is None else max(0.0, now - read_at),
                offline_since=health.offline_since,
                degraded=(*degraded, REFUSED) if steps.is_refused(record) else degraded,
                reply_in=steps.leaves_in(record, now),
                joined=True,
            )

    # What a round with the board calls.

    @property
    def waiting(self) -> tuple[Envelope, ...]:
        """What is to be posted now, oldest first."""
        with self.lock:
            return steps.to_post(self.record, self.now())

    def keep(self, tally: TallySnapshot) -> None:
        """Keep the server's signature over its tally; the status says if it does not hold."""
        record, signed = self.record, tally.signed
        if not record.signer:
            return
        if (
            signed is None
            or (signed.number, signed.tally) != (tally.number, digest(tally.tally))
            or not verify_snapshot(signed, record.scope, record.signer)
        ):
            self.health.unsigned = UNSIGNED
            return
        is_old = abs(self.now() - signed.at) > OLDEST
        self.health.unsigned = OLD if is_old else None
        self.store.keep_snapshot(signed)

    def close_question(self) -> None:
        """Answer with a reward of 0 if the time for the pending question is over."""
        self.change(steps.end_play, self.now())

    def receive(self, posted: Iterable[Posted], end: int | None = None) -> bool:
        """Take in what was read of the board; ``end`` if it was read up to that number.

        Returns whether everything up to ``end`` has been read.
        """
        with self.lock:
            self.change(steps.read, posted, end, self.check)
            return end is not None and self.record.bookmark.number >= end

    def recall(self, held: Iterable[Envelope]) -> None:
        """Take in what the board holds of this device."""
        self.change(steps.recall, held, self.check)
        self.must_recall = False

    def lost_before(self, envelope: Envelope) -> list[Envelope]:
        """What the board has lost and must have again to take a message that it has refused.

        A board that was restored from a backup may have lost what a message follows on, and
        whoever posted that may be gone; but a signed message is good in any hands.
        """
        spec = self.record.spec
        with self.lock:
            log = self.store.log(spec)
        tally = spec.scheme.tally(spec)
        for there, number in log:
            if number is not None:
                tally.add(there.message)
        needed: list[Envelope] = []
        for lost in [e for e, number in log if number is None]:
            if tally.refusal(envelope.message) is None:
                break
            if tally.refusal(lost.message) is None and tally.add(lost.message):
                needed.append(lost)
        return needed if tally.refusal(envelope.message) is None else []

    def close(self) -> None:
        """Close the store."""
        with self.lock:
            self.store.close()

    def change(self, step: Step[P], *args: P.args, **kwargs: P.kwargs) -> None:
        """Make a step and store it; if that fails, memory goes back to what the store holds."""
        with self.lock:
            self._reload()
            self.is_stale = True  # until the step is stored
            try:
                change = step(self.record, *args, **kwargs)
                if change is not None:
                    self.store.save(self.record, change)
                self.is_stale = change is not None and change.reloads
            except (ProtocolError, RewardRefused):  # raised before anything has changed
                self.is_stale = False
                raise
            except StoreError as error:
                self.health.store = str(error)
                raise
            finally:
                if self.is_stale:
                    with suppress(StoreError):
                        self._reload()
            self.health.store = None
            if change is not None and change.forged:
                self.health.forged = FORGED
            if change is not None and change.sends:
                self.on_message()

    def _reload(self) -> None:
        """Go back to what the store holds, if memory may hold something else."""
        if self.is_stale:
            closes = self.record.closes
            try:
                self.record = self.store.load()
            except StoreError as error:
                self.health.store = str(error)
                raise
            self.record.closes = closes
            self.is_stale = False
