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
from devote.boards.board import Envelope, Outcome, Posted, PublicTally
from devote.boards.database import StoreError
from devote.boards.identity import Identity, verify
from devote.fleet.bookmark import Bookmark
from devote.fleet.clock import Clock, Expiry
from devote.fleet.errors import RewardRefused
from devote.fleet.outbox import Outbox
from devote.fleet.plays import Choice, Fate, Plays, new_play
from devote.fleet.replies import Replies
from devote.fleet.status import FORGED, REFUSED, DeviceStatus, Health
from devote.fleet.store import Store
from devote.protocol import Message, Player, ProtocolError

SYSTEM_RANDOM = random.SystemRandom().random


@dataclass(eq=False, repr=False)
class DeviceCore:
    """A device that has been set up in ``store``.

    ``dice`` gives a uniform number in [0, 1) for each new pull, and ``noise`` one for schemes
    that blur what they say; noise must not be guessed, so it comes from the operating system.
    ``jitter`` gives one for each moment at which an answer leaves.
    ``on_message`` is called when messages have been put into the outbox, and must return at once.
    """

    store: Store
    _: KW_ONLY
    expiry: Expiry = field(default_factory=Expiry)
    clock: Clock = field(default_factory=Clock)
    dice: Callable[[], float] = SYSTEM_RANDOM
    noise: Callable[[], float] = SYSTEM_RANDOM
    jitter: Callable[[], float] = SYSTEM_RANDOM
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
        self._replies = Replies(self.clock, self.jitter)
        self._load()
        self.must_recall = self.spec.scheme.noisy and not self.store.is_new
        self._resume()

    def choose(self, u: float | None = None) -> Choice:
        """What to play: the pending choice if its reward has not come, else a new one."""
        with self._step():
            self._expire()
            # A second question must not come sooner because the first has had its reward; nor
            # later, because a play that is not asked about has had none.
            is_free = not any(self._is_held(e) for e in self._outbox.waiting)
            if is_free and self._player.pending is not None and self._player.has_question:
                self._player.abandon()
                self._commit("expired", [])
            if self._player.pending is None:
                u = self.dice() if u is None else u
                self._player.activate(u, self.noise(), ask=is_free)
                self._commit("pending", self._player.outgoing())
                self._pending_since = self.clock.monotonic()
            else:
                self._wake()
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
            self._close_question()
            is_asked = self._player.is_asked
            self._plays.check(choice, is_asked=is_asked)
            self._commit("answered" if is_asked else "rewarded", self._player.reward(x))

    def close_question(self) -> None:
        """Answer with a reward of 0 if the time for the pending question is over."""
        with self._step():
            self._close_question()

    @property
    def next_moment(self) -> float | None:
        """When to close a question or to send next, on the monotonic clock; see ``Replies``."""
        return self._replies.next_moment

    def best(self) -> int | None:
        """The arm the group has settled on; None before that, and until the first full read."""
        status = self.status()
        return status.answer[0] if status.state == "agreed" else None

    def status(self) -> DeviceStatus:
        """How the device stands."""
        with self._lock:
            complete = self.bookmark.complete
            told = self._player.public(self.players)
            if not complete:
                told = self.spec.scheme.tally(self.spec).public(self.players)
            refused = REFUSED if self._outbox.refused else None
            troubles = (self.health.store, self.health.sync, self.health.forged, refused)
            return DeviceStatus(
                experiment=self.spec.name,
                voter=self.identity.voter,
                answer=tuple(told["answer"]),
                shared=tuple(told["shared"]),
                remaining=self._player.remaining,
                sent=tuple(e.message for e in self._outbox.sent),
                waiting=tuple(e.message for e in self.waiting),
                state=told["status"],
                complete=complete,
                synced_ago=self.health.synced_ago,
                offline_since=self.health.offline_since,
                degraded=tuple(trouble for trouble in troubles if trouble is not None),
            )

    @property
    def waiting(self) -> tuple[Envelope, ...]:
        """What is to be posted now, oldest first; see ``Outbox`` for what was refused."""
        with self._lock:
            return tuple(e for e in self._outbox.waiting if not self._is_held(e))

    def is_wanted(self, envelope: Envelope) -> bool:
        """Whether a message is of use, by what was read last."""
        with self._lock:
            return self._player.still_wants(envelope.message)

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

    def read(self, told: PublicTally) -> None:
        """Take in the board's tally, in place of the messages.

        A board that has fewer messages than before was put back to a backup: it is offered again
        what it has lost.
        """
        with self._step():
            self._player.read(told.tally)
            if self.bookmark.complete and told.number == self.bookmark.number:
                return
            lost = told.number < self.bookmark.number
            self.store.save_told(self._player.to_dict(), told.number, lost=lost)
            self.bookmark = Bookmark(told.number, complete=True)
            if lost:
                self._load()

    def recall(self, held: Iterable[Envelope]) -> None:
        """Take in what the board holds of this device, of which the store may be an older copy.

        What was said before is not said again; an answer that differs from it is never sent.
        """
        with self._step():
            said = [e for e in held if e.message.voter == self.identity.voter]
            said = [e for e in said if refusal(e, self.spec, self.check) is None]
            tally = self.spec.scheme.tally(self.spec)
            for envelope in said:
                tally.add(envelope.message)
                self._player.recall(envelope.message)
            false = [e for e in self._outbox.unsent if tally.refusal(e.message) is not None]
            if said:
                self.store.save_recalled(self._player.to_dict(), said, false)
                self._load()
            self.must_recall = False

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
        self._reply_at = saved.reply_at
        if not saved.bookmark.complete and not self.spec.scheme.reads_tally:
            self._listener = self.spec.scheme.player(self.spec, self.identity.voter)
            for message in shown:
                self._listener.receive(message)
        self._outbox = Outbox(self.store, self._player.still_wants)
        self._outbox.see(heard)
        self._plays = Plays(saved.plays)

    def _resume(self) -> None:
        """Find out by the wall clock how old the pending play is, and what is to be held back."""
        saved, wall, after = self.store.load(), self.clock.wall(), self.spec.scheme.reply_after
        if self._player.pending is not None:
            age = max(0.0, wall - (saved.pending_at or 0.0))
            self._pending_since = self.clock.monotonic() - age
        if after is None:
            return
        with suppress(StoreError):  # the moments in memory hold all the same
            if self._player.is_asked:
                asked_at, reply_at = saved.pending_at or 0.0, saved.reply_at or 0.0
                self._replies.resume(after, asked_at, reply_at)
                if asked_at > wall:
                    self._reply_at = wall + reply_at - asked_at
                    self.store.save_moments(wall, self._reply_at)
            for envelope, reply_at in self.store.held():
                moment = self._replies.resume_holding(envelope.signature, after, reply_at)
                if moment < reply_at:
                    self.store.save_reply_at(envelope, moment)

    def _is_held(self, envelope: Envelope) -> bool:
        return self._replies.is_held(envelope.signature)

    def _close_question(self) -> None:
        if self._player.is_asked and self._replies.is_closed:
            self._player.abandon()
            self._commit("answered", self._player.outgoing())

    def _expire(self) -> None:
        self._close_question()
        age = self.clock.monotonic() - self._pending_since
        if self._player.pending is None or not self.expiry.is_due(age):
            return
        if self._player.is_asked:
            self._player.abandon()
            self._commit("answered", self._player.outgoing())
        elif self.expiry.on_expire == "zero":
            self._commit("expired", self._player.reward(0.0))
        else:
            self._player.abandon()
            self._commit("expired", [])

    def _wake(self) -> None:
        """Store that the app has asked again while a play waits, and what is said of it."""
        self._player.wake(self.noise())
        said = self._sign(self._player.outgoing())
        self.store.save_wake(self._player.to_dict(), said)
        self._outbox.add(said)
        if said:
            self.on_message()

    def _sign(self, messages: Iterable[Message]) -> list[Envelope]:
        there = self._outbox.messages
        return [self.identity.sign(message) for message in messages if message not in there]

    def _commit(self, fate: Fate, messages: Iterable[Message]) -> None:
        """Store a step: what became of the pending play, or a new one, and what is to be said."""
        play = new_play() if fate == "pending" else self._plays.pending
        assert play is not None  # a pending arm and its pending play are stored together
        said = self._sign(messages)
        plays = self._plays.note(play, fate)
        pending_at = self.clock.wall() if fate == "pending" else None
        after = self.spec.scheme.reply_after
        is_question = fate == "pending" and after is not None and self._player.is_asked
        if is_question:
            assert after is not None
            self._reply_at = self._replies.ask(after)
        held_until = self._reply_at if is_question or fate == "answered" else None
        if fate == "answered":
            for envelope in said:
                self._replies.hold(envelope.signature)
        self.store.save_step(self._player.to_dict(), pending_at, plays, said, held_until)
        self._outbox.add(said)
        # An answer is posted when its time comes; its reward must not wake anybody.
        if is_question or (said and fate != "answered"):
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
