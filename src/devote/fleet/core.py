"""A device without its network: the player, its store, a clock and dice.

Theory of operation. ``choose`` and ``reward`` drive the player; what was read of the board comes
in by ``receive``; what is to be posted lies in ``waiting``. Each call is one step: it changes
the player, commits it to the store together with what the player has said, and only then returns,
so whatever anybody outside has been told is on disk. If the store cannot be written, the player
goes back to what is stored and the call may be made again.

A device never decides on half of the messages. Until the board has been read to its end once,
what was read is stored but the player is not told: it plays all arms on its own, it may say what
it has learned itself, but it takes no arm out because of others, and there is no answer. At the
end of the backlog it is told everything.

The player hears messages in the board's order, one number after the other; a message that comes
before its turn is kept aside (``Bookmark``). The board is not trusted: every message is checked
again, by its signature and by the scheme's tally.

Calls may come from several threads; none ever waits for the network.
"""

import random
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import KW_ONLY, dataclass, field

from devote.boards.admission import refusal
from devote.boards.board import Envelope, Outcome, Posted
from devote.boards.database import StoreError
from devote.boards.identity import Identity, verify
from devote.fleet.bookmark import Bookmark
from devote.fleet.clock import Clock, Expiry
from devote.fleet.errors import RewardRefused
from devote.fleet.outbox import Outbox
from devote.fleet.plays import Choice, Fate, Plays, new_play
from devote.fleet.status import FORGED, REFUSED, DeviceStatus, Health
from devote.fleet.store import Store
from devote.protocol import Message, Player, ProtocolError

SYSTEM_RANDOM = random.SystemRandom().random


@dataclass(eq=False, repr=False)
class DeviceCore:
    """A device that has been set up in ``store``.

    ``dice`` gives a uniform number in [0, 1) for each new pull, and ``noise`` one for schemes
    that blur what they say; noise must not be guessed, so it comes from the operating system.
    ``on_message`` is called when messages have been put into the outbox, and must return at once.
    """

    store: Store
    _: KW_ONLY
    expiry: Expiry = field(default_factory=Expiry)
    clock: Clock = field(default_factory=Clock)
    dice: Callable[[], float] = SYSTEM_RANDOM
    noise: Callable[[], float] = SYSTEM_RANDOM
    check: Callable[[Envelope], bool] = verify
    on_message: Callable[[], None] = lambda: None
    players: int | None = field(init=False)
    bookmark: Bookmark = field(init=False)
    _player: Player = field(init=False)
    _outbox: Outbox = field(init=False)

    def __post_init__(self) -> None:
        self.health = Health(self.clock)
        self._lock = threading.RLock()
        self._in_doubt = False
        self._pending_since = 0.0
        self._load()
        if self._player.pending is not None:
            age = max(0.0, self.clock.wall() - (self.store.load().pending_at or 0.0))
            self._pending_since = self.clock.monotonic() - age

    def choose(self, u: float | None = None) -> Choice:
        """What to play: the pending choice if its reward has not come, else a new one."""
        with self._step():
            self._expire()
            if self._player.pending is None:
                self._player.activate(self.dice() if u is None else u, self.noise())
                self._commit("pending", self._player.outgoing())
                self._pending_since = self.clock.monotonic()
            choice = self.pending()
            assert choice is not None
            return choice

    def pending(self) -> Choice | None:
        """The choice that awaits its reward, also after a restart."""
        with self._step():
            arm, play = self._player.pending, self._plays.pending
            if arm is None or play is None:
                return None
            return Choice(arm, self.spec.arm_names[arm], play)

    def reward(self, x: float, choice: Choice | str | None = None) -> None:
        """Learn what the choice paid, from 0 to 1; counted once or not at all, see ``Plays``."""
        with self._step():
            self._plays.check(choice)
            self._commit("rewarded", self._player.reward(x))

    def best(self) -> int | None:
        """The arm the group has settled on; None before that, and until the first full read."""
        status = self.status()
        return status.answer[0] if status.state == "agreed" else None

    def status(self) -> DeviceStatus:
        """How the device stands."""
        with self._lock:
            complete, tally = self.bookmark.complete, self._player.tally
            if not complete:
                tally = self.spec.scheme.tally(self.spec)
            refused = REFUSED if self._outbox.refused else None
            troubles = (self.health.store, self.health.sync, self.health.forged, refused)
            return DeviceStatus(
                experiment=self.spec.name,
                voter=self.identity.voter,
                answer=tally.answer,
                shared=tally.shared,
                remaining=self._player.remaining,
                sent=tuple(e.message for e in self._outbox.sent),
                waiting=tuple(e.message for e in self._outbox.waiting),
                state=tally.status(self.players),
                complete=complete,
                synced_ago=self.health.synced_ago,
                offline_since=self.health.offline_since,
                degraded=tuple(trouble for trouble in troubles if trouble is not None),
            )

    @property
    def waiting(self) -> tuple[Envelope, ...]:
        """What is to be posted, oldest first; see ``Outbox`` for what was refused."""
        with self._lock:
            return self._outbox.waiting

    def settle(self, envelope: Envelope, outcome: Outcome) -> None:
        """Note what became of a posted message."""
        with self._step():
            self._outbox.note(envelope, "refused" if outcome is Outcome.REFUSED else "sent")

    def lost_before(self, envelope: Envelope) -> list[Envelope]:
        """What the board has lost and must have again to take a message that it has refused.

        A board that was put back to an earlier state may have lost what a message follows on,
        and whoever said that may be gone; but a signed message is good in any hands.
        """
        with self._lock:
            heard = self.store.heard()
        tally = self.spec.scheme.tally(self.spec)
        for there, number in heard:
            if number is not None:
                tally.add(there.message)
        needed: list[Envelope] = []
        for lost in [e for e, number in heard if number is None]:
            if tally.refusal(envelope.message) is None:
                break
            if tally.refusal(lost.message) is None and tally.add(lost.message):
                needed.append(lost)
        return needed if tally.refusal(envelope.message) is None else []

    def receive(self, posted: Iterable[Posted], end: int | None = None) -> bool:
        """Take in what was read of the board; ``end`` if it was read up to that number.

        Returns whether everything up to ``end`` has been read.
        """
        with self._step():
            before = self.bookmark
            bookmark, passed = before.moved(posted, end)
            valid = [p for p in passed if self._hear(p.envelope)]
            if len(valid) < len(passed):
                self.health.forged = FORGED
            if (bookmark.number, bookmark.complete) != (before.number, before.complete):
                self.store.save_heard(valid, bookmark)
            self.bookmark = bookmark
            self._outbox.see(p.envelope for p in valid)
            if bookmark.complete and not before.complete:
                self._load()
                self.bookmark = bookmark  # with what came before its turn
            at_end = end is not None and bookmark.number >= end
            if at_end:
                self._outbox.offer_lost_ones()
            return at_end

    def rewind(self) -> None:
        """Read the board from its beginning again, and offer it all own messages again.

        What others said is kept, unless it means something only in the order of the board.
        """
        with self._step():
            self.store.rewind(forget=self.spec.scheme.needs_order)
            self._load()

    def learn_players(self, players: int | None) -> None:
        """Take note of how many take part, which is what tells a stall."""
        with self._step():
            if players != self.players:
                self.store.save_players(players)
                self.players = players

    def close(self) -> None:
        """Close the store."""
        with self._lock:
            self.store.close()

    def _load(self) -> None:
        saved = self.store.load()
        heard = [e for e, _ in self.store.heard()]
        said = [e.message for e, _ in self.store.outbox()]
        # Where order matters the player hears its own messages from the board, as all others do.
        own: list[Message] = [] if saved.spec.scheme.needs_order else said
        shown = [e.message for e in heard]
        told = [*shown, *own] if saved.bookmark.complete else own
        self.spec = saved.spec
        self.players = saved.players
        self.identity = Identity.from_private_bytes(saved.secret)
        self.bookmark = saved.bookmark
        self._player = self.store.player(saved, told)
        self._listener = self._player
        if not saved.bookmark.complete:
            self._listener = self.spec.scheme.player(self.spec, self.identity.voter)
            for message in shown:
                self._listener.receive(message)
        self._outbox = Outbox(self.store, self._player.still_wants)
        self._outbox.see(heard)
        self._plays = Plays(saved.plays)

    def _expire(self) -> None:
        age = self.clock.monotonic() - self._pending_since
        if self._player.pending is None or not self.expiry.is_due(age):
            return
        if self.expiry.on_expire == "zero":
            self._commit("expired", self._player.reward(0.0))
        else:
            self._player.abandon()
            self._commit("expired", [])

    def _commit(self, fate: Fate, messages: Iterable[Message]) -> None:
        """Store a step: what became of the pending play, or a new one, and what is to be said."""
        play = new_play() if fate == "pending" else self._plays.pending
        assert play is not None  # a pending arm and its pending play are stored together
        there = self._outbox.messages
        said = [self.identity.sign(message) for message in messages if message not in there]
        plays = self._plays.note(play, fate)
        pending_at = self.clock.wall() if fate == "pending" else None
        self.store.save_step(self._player.to_dict(), pending_at, plays, said)
        self._outbox.add(said)
        if said:
            self.on_message()

    def _hear(self, envelope: Envelope) -> bool:
        """Tell a message to whoever listens, unless it is not valid."""
        refused = refusal(envelope, self.spec, self.check)
        if refused or self._listener.tally.refusal(envelope.message) is not None:
            return False
        self._listener.receive(envelope.message)
        return True

    @contextmanager
    def _step(self) -> Iterator[None]:
        """One step under the lock; if it fails, memory goes back to what the store holds."""
        with self._lock:
            try:
                if self._in_doubt:
                    self._load()
                    self._in_doubt = False
                yield
            except (ProtocolError, RewardRefused):
                raise  # these are raised before anything has changed
            except BaseException as error:
                self._in_doubt = True
                if isinstance(error, StoreError):
                    self.health.store = str(error)
                with suppress(StoreError):
                    self._load()
                    self._in_doubt = False
                raise
            self.health.store = None
