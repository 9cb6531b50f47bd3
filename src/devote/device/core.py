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

from devote.boards.board import Envelope, Joined, Outcome, Posted, TallySnapshot
from devote.boards.database import StoreError
from devote.boards.identity import verify
from devote.device import steps
from devote.device.errors import RewardRefused
from devote.device.record import Bookmark, Choice, Clock, Expiry, Record, new_play
from devote.device.status import FORGED, REFUSED, Asked, DeviceStatus, Health
from devote.device.store import Store
from devote.protocol import ProtocolError

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
        self.health = Health(self.clock)
        self.asked = Asked()
        self.rounds = asyncio.Lock()
        self._step = _Step(self)
        self.is_in_doubt = False
        self.record = self.store.load()
        self.identity = self.record.identity
        self.must_recall = self.record.spec.scheme.sending.noisy and not self.store.is_new
        change = steps.resume(self.record, self.clock.now(), self.jitter())
        with suppress(StoreError):  # the moments in memory hold all the same
            self._save(change)
        with suppress(StoreError):
            self.close_question()

    def choose(self, u: float | None = None) -> Choice:
        """What to play: the pending choice if its reward has not come, else a new one."""
        with self._step as record:
            now = self.clock.now()
            self._save(steps.close_question(record, now))
            self._save(steps.expire(record, now, self.expiry))
            if record.player.pending is None:
                u = self.dice() if u is None else u
                jitter = 0.0 if record.spec.scheme.sending.reply_after is None else self.jitter()
                draw = steps.Draw(u, self.noise(), jitter, new_play())
                self._save(steps.choose(record, now, draw))
            else:
                self._save(steps.wake(record, self.noise()))
            choice = steps.pending(record)
            assert choice is not None
            return choice

    def pending(self) -> Choice | None:
        """The choice that awaits its reward, also after a restart."""
        with self._step as record:
            return steps.pending(record)

    def reward(self, x: float, choice: Choice | str | None = None) -> None:
        """Learn what the choice paid, from 0 to 1; counted once or not at all, see ``Plays``."""
        with self._step as record:
            self._save(steps.close_question(record, self.clock.now()))
            self._save(steps.reward(record, x, choice))

    def close_question(self) -> None:
        """Answer with a reward of 0 if the time for the pending question is over."""
        with self._step as record:
            self._save(steps.close_question(record, self.clock.now()))

    def best(self) -> int | None:
        """The arm the group has settled on; None before that, and until the first full read."""
        status = self.status()
        return status.answer[0] if status.state == "agreed" else None

    def status(self) -> DeviceStatus:
        """How the device stands."""
        with self._step.lock:
            record, health, now = self.record, self.health, self.clock.now()
            spec, complete = record.spec, record.bookmark.complete
            public = record.player.public(record.players)
            if not complete:
                public = spec.scheme.tally(spec).public(record.players)
            refused = REFUSED if steps.refused(record) else None
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
        with self._step.lock:
            return steps.to_post(self.record, self.clock.now())

    @property
    def next_moment(self) -> float | None:
        """When a question closes or an answer leaves next, on the monotonic clock."""
        return steps.next_moment(self.record, self.clock.now())

    def is_wanted(self, envelope: Envelope) -> bool:
        """Whether a message is of use, by what was read last."""
        with self._step.lock:
            return self.record.player.still_wants(envelope.message)

    def settle(self, envelope: Envelope, outcome: Outcome) -> None:
        """Note what became of a posted message."""
        with self._step as record:
            self._save(steps.settle(record, envelope, outcome))

    def lost_before(self, envelope: Envelope) -> list[Envelope]:
        """What the board has lost and must have again to take a message that it has refused.

        A board that was restored from a backup may have lost what a message follows on, and
        whoever posted that may be gone; but a signed message is good in any hands.
        """
        spec = self.record.spec
        with self._step.lock:
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

    def receive(self, posted: Iterable[Posted], end: int | None = None) -> bool:
        """Take in what was read of the board; ``end`` if it was read up to that number.

        Returns whether everything up to ``end`` has been read.
        """
        with self._step as record:
            change, is_at_end, is_forged = steps.read(record, posted, end, self.check)
            if is_forged:
                self.health.forged = FORGED
            self._save(change)
            return is_at_end

    def needs(self, told: TallySnapshot) -> bool:
        """Whether the log is to be read, by what the tally says."""
        with self._step.lock:
            return steps.needs(self.record, told)

    def read(self, told: TallySnapshot) -> None:
        """Take in the board's tally, in place of the messages."""
        with self._step as record:
            self._save(steps.read_tally(record, told))

    def take_in(self, joined: Joined) -> None:
        """Take in what the board has shown of itself, and of this device, as it joined."""
        self.asked.note(joined.tally)
        try:
            if self.must_recall:
                self.recall(joined.said)
            if self.record.spec.scheme.about.reads_tally:
                self.read(joined.tally)
        except ProtocolError as error:
            self.health.sync = str(error)

    def recall(self, held: Iterable[Envelope]) -> None:
        """Take in what the board holds of this device."""
        with self._step as record:
            self._save(steps.recall(record, held, self.check))
            self.must_recall = False

    def rewind(self, *, forget: bool = False) -> None:
        """Read the board from its beginning again, and offer it all own messages again."""
        with self._step as record:
            self._save(steps.rewind(record, forget=forget))

    def close(self) -> None:
        """Close the store."""
        with self._step.lock:
            self.store.close()

    def reload(self) -> None:
        """Go back to what the store holds; in doubt until that has been read."""
        self.is_in_doubt = True
        timing = self.record.timing
        self.record = self.store.load()
        self.record.timing = timing
        self.is_in_doubt = False

    def _save(self, change: steps.Change | None) -> None:
        if change is None:
            return
        self.store.save(change)
        if change.reloads:
            self.reload()
        if change.wakes:
            self.on_message()


class _Step:
    """One step under the lock; if it fails, memory goes back to what the store holds.

    Not a generator, which takes longer: a device makes two steps at every pull.
    """

    def __init__(self, core: Core) -> None:
        self._core = core
        self.lock = threading.RLock()

    def __enter__(self) -> Record:
        self.lock.acquire()
        if self._core.is_in_doubt:
            try:
                self._core.reload()
            except BaseException as error:
                self.__exit__(type(error), error, None)
                raise
        return self._core.record

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        core = self._core
        try:
            if error is None:
                core.health.store = None
            # These are raised before anything has changed.
            elif not isinstance(error, ProtocolError | RewardRefused):
                if isinstance(error, StoreError):
                    core.health.store = str(error)
                with suppress(StoreError):
                    core.reload()
        finally:
            self.lock.release()
