"""A device without its network: its record, its store, its clock and its random numbers.

``Core`` runs the steps, one after the other under a lock: it hands an event to ``steps``, stores
the change, and only then returns. If the store cannot be written, memory goes back to what is
stored and the call may be made again. Calls may come from several threads; none waits for the
network.
"""

import asyncio
import random
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from typing import Concatenate, ParamSpec, TypeAlias

from devote.boards.board import Envelope, Posted
from devote.boards.database import StoreError
from devote.boards.identity import verify
from devote.device import steps
from devote.device.errors import RewardRefused
from devote.device.record import Bookmark, Choice, Clock, Expiry, Record, new_play
from devote.device.status import FORGED, REFUSED, DeviceStatus, Health
from devote.device.store import Store
from devote.protocol import ProtocolError

P = ParamSpec("P")
Step: TypeAlias = Callable[Concatenate[Record, P], steps.Change | None]

SYSTEM_RANDOM = random.SystemRandom().random


@dataclass(eq=False, repr=False)
class Core:
    """A device that has joined, by its ``store``.

    ``dice`` gives a uniform number in [0, 1) for each new pull, ``noise`` one for schemes that
    blur what they send, and ``jitter`` one for each moment at which an answer leaves. Noise must
    not be guessed, so it comes from the operating system. ``on_message`` is called when something
    is to be posted, now or later, and must return at once. ``must_recall``: the board is to be
    asked what it holds of this device before anything is sent.
    """

    store: Store
    _: KW_ONLY
    expiry: Expiry = field(default_factory=Expiry)
    clock: Clock = field(default_factory=Clock)
    dice: Callable[[], float] = SYSTEM_RANDOM
    noise: Callable[[], float] = SYSTEM_RANDOM
    jitter: Callable[[], float] = SYSTEM_RANDOM
    check: steps.Check = verify
    on_message: Callable[[], None] = lambda: None
    record: Record = field(init=False)

    def __post_init__(self) -> None:
        self.now = self.clock.start()
        self.health = Health(self.now)
        self.rounds = asyncio.Lock()
        self.lock = threading.RLock()
        self.is_in_doubt = False
        self.record = self.store.load()
        self.identity = self.record.identity
        self.must_recall = self.record.spec.scheme.sending.noisy and not self.store.is_new
        resumed = steps.resume(self.record, self.now(), self.jitter())
        with suppress(StoreError):  # the moments in memory hold all the same
            if resumed is not None:
                self.store.save(resumed)
        with suppress(StoreError):
            self.close_question()

    def choose(self, u: float | None = None) -> Choice:
        """What to play: the pending choice if its reward has not come, else a new one."""
        with self.lock:
            now = self.now()
            self.close_question()
            self.change(steps.expire, now, self.expiry)
            if self.record.player.pending is None:
                u = self.dice() if u is None else u
                asks = self.record.spec.scheme.sending.reply_after is not None
                draw = steps.Draw(u, self.noise(), self.jitter() if asks else 0.0, new_play())
                self.change(steps.choose, now, draw)
            else:
                self.change(steps.wake, self.noise())
            choice = steps.pending(self.record)
            assert choice is not None
            return choice

    def pending(self) -> Choice | None:
        """The choice that awaits its reward, also after a restart."""
        with self.lock:
            self._settle_doubt()
            return steps.pending(self.record)

    def reward(self, x: float, choice: Choice | str | None = None) -> None:
        """Learn what the choice paid, from 0 to 1; counted once or not at all, see ``Plays``."""
        with self.lock:
            self.close_question()
            self.change(steps.reward, x, choice)

    def close_question(self) -> None:
        """Answer with a reward of 0 if the time for the pending question is over."""
        self.change(steps.close_question, self.now())

    def best(self) -> int | None:
        """The arm the group has settled on; None before that, and until the first full read."""
        status = self.status()
        return status.answer[0] if status.state == "agreed" else None

    def status(self) -> DeviceStatus:
        """How the device stands."""
        with self.lock:
            record, health, now = self.record, self.health, self.now()
            spec, complete = record.spec, record.bookmark.complete
            public = record.player.public(record.players)
            if not complete:
                public = spec.scheme.tally(spec).public(record.players)
            refused = REFUSED if steps.is_refused(record) else None
            troubles = (health.store, health.sync, health.forged, health.rejected, refused)
            return DeviceStatus(
                experiment=spec.name,
                voter=self.identity.voter,
                answer=tuple(public["answer"]),
                shared=tuple(public["shared"]),
                remaining=record.player.remaining,
                sent=tuple([message for message, e in record.outbox.items() if e.has_left]),
                waiting=tuple([e.message for e in steps.to_post(record, now)]),
                state=public["status"],
                complete=complete,
                synced_ago=health.synced_ago,
                offline_since=health.offline_since,
                degraded=tuple(trouble for trouble in troubles if trouble is not None),
                reply_in=steps.leaves_in(record, now),
                joined=True,
            )

    @property
    def bookmark(self) -> Bookmark:
        """How far the board has been read."""
        return self.record.bookmark

    @property
    def waiting(self) -> tuple[Envelope, ...]:
        """What is to be posted now, oldest first."""
        with self.lock:
            return steps.to_post(self.record, self.now())

    @property
    def next_in(self) -> float | None:
        """Seconds until a question closes or an answer leaves."""
        now = self.now()
        moment = steps.next_moment(self.record, now)
        return None if moment is None else moment - now

    def receive(self, posted: Iterable[Posted], end: int | None = None) -> bool:
        """Take in what was read of the board; ``end`` if it was read up to that number.

        Returns whether everything up to ``end`` has been read.
        """

        def step(record: Record) -> steps.Change | None:
            change, is_forged = steps.read(record, posted, end, self.check)
            if is_forged:
                self.health.forged = FORGED
            return change

        with self.lock:
            self.change(step)
            return end is not None and self.bookmark.number >= end

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
            self._settle_doubt()
            try:
                change = step(self.record, *args, **kwargs)
                if change is not None:
                    self.store.save(change)
                    if change.reloads:
                        self.reload()
            except (ProtocolError, RewardRefused):  # raised before anything has changed
                raise
            except BaseException as error:
                if isinstance(error, StoreError):
                    self.health.store = str(error)
                with suppress(StoreError):
                    self.reload()
                raise
            self.health.store = None
            if change is not None and change.wakes:
                self.on_message()

    def reload(self) -> None:
        """Go back to what the store holds; in doubt until that has been read."""
        self.is_in_doubt = True
        closes = self.record.closes
        self.record = self.store.load()
        self.record.closes = closes
        self.is_in_doubt = False

    def _settle_doubt(self) -> None:
        if self.is_in_doubt:
            try:
                self.reload()
            except StoreError as error:
                self.health.store = str(error)
                raise
