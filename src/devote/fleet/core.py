"""A device without its network: the player, its store, a clock and dice.

Theory of operation. ``choose`` and ``reward`` drive the player; what was read of the board comes
in by ``receive``; what is to be posted lies in ``waiting``. Each call is one step: it changes
the player, commits it to the store, and only then returns, so whatever anybody outside has been
told is on disk. If the store cannot be written, the player goes back to what is stored and the
call may be made again.

A device never decides on half of the votes. Until the board has been read to its end once, what
was read is stored but the player is not told: it plays all arms on its own, it may vote on what
it has learned itself (a vote rests on the voter's own rewards only), but it takes no arm out
because of others, and there is no answer. At the end of the backlog all of it goes in at once.

A place in a jury is the board's to give. The player claims one and hears from the board, as
everybody does, who has it; a claim that was denied goes once the board shows that.

The board is not trusted: every message is checked again, signature and all, and see ``Bookmark``
for what it may hand over.

Calls may come from several threads; none ever waits for the network.
"""

import random
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress

from devote.boards.admission import refusal
from devote.boards.board import Envelope, Outcome, Posted
from devote.boards.identity import Identity, verify
from devote.fleet.bookmark import Bookmark
from devote.fleet.choice import Choice
from devote.fleet.clock import Clock
from devote.fleet.errors import RewardRefused, StoreError
from devote.fleet.expiry import Expiry
from devote.fleet.health import DENIED, FORGED, Health
from devote.fleet.outbox import Outbox
from devote.fleet.plays import Fate, Plays, new_play
from devote.fleet.saving import player_fields, restore_player
from devote.fleet.status import DeviceStatus
from devote.fleet.store import Store
from devote.protocol import Ballot, ExperimentSpec, Player, ProtocolError, Seat

_SYSTEM_DICE = random.SystemRandom().random


class DeviceCore:
    """A device that has been set up in ``store``.

    ``dice`` gives a uniform number in [0, 1) for each new pull. ``on_vote`` is called when
    messages have been put into the outbox, and must return at once.
    """

    spec: ExperimentSpec
    players: int | None
    identity: Identity
    bookmark: Bookmark
    _player: Player
    _outbox: Outbox
    _plays: Plays
    _untold: list[Envelope]

    def __init__(
        self,
        store: Store,
        *,
        expiry: Expiry | None = None,
        clock: Clock | None = None,
        dice: Callable[[], float] | None = None,
        check: Callable[[Envelope], bool] = verify,
    ) -> None:
        self.store = store
        self.on_vote: Callable[[], None] = _nobody
        self._expiry = expiry or Expiry()
        self._clock = clock or Clock()
        self._dice = dice or _SYSTEM_DICE
        self._check = check
        self._lock = threading.RLock()
        self._in_doubt = False
        self._pending_since = 0.0
        self.health = Health(self._clock)
        self._load()

    def choose(self, u: float | None = None) -> Choice:
        """What to play: the pending choice if its reward has not come, else a new one."""
        with self._step():
            self._expire()
            if self._player.pending is None:
                self._player.activate(self._dice() if u is None else u)
                self._save(self._clock.wall(), new_play(), "pending")
                self._pending_since = self._clock.monotonic()
            choice = self.pending()
            assert choice is not None
            return choice

    def pending(self) -> Choice | None:
        """The choice that awaits its reward, also after a restart."""
        with self._step():
            arm, play = self._player.pending, self._plays.pending
            if arm is None or play is None:
                return None
            return Choice(arm, str(self.spec.arms[arm]), play)  # type: ignore[index]

    def reward(self, x: float, choice: Choice | str | None = None) -> None:
        """Learn what the choice paid, from 0 to 1; counted once or not at all, see ``Plays``."""
        with self._step():
            self._plays.check(choice)
            self._learn(x)

    def best(self) -> int | None:
        """The arm the votes have settled on, or None while they have not, or not all are read."""
        with self._lock:
            shared = self._known().shared
            return shared[0] if len(shared) == 1 else None

    def status(self) -> DeviceStatus:
        """How the device stands."""
        with self._lock:
            ballot = self._known()
            return DeviceStatus(
                experiment=self.spec.name,
                voter=self.identity.voter,
                state=ballot.status(self.players),
                answer=ballot.answer,
                shared=ballot.shared,
                remaining=self._player.remaining,
                sent=tuple(e.message for e in self._outbox.sent),
                waiting=tuple(e.message for e in self._outbox.waiting),
                complete=self.bookmark.complete,
                synced_ago=self.health.synced_ago,
                offline_since=self.health.offline_since,
                degraded=self.health.degraded,
            )

    @property
    def waiting(self) -> tuple[Envelope, ...]:
        """What is to be posted, oldest first; denied messages too: an operator may mend that."""
        with self._lock:
            return self._outbox.waiting

    def settle(self, envelope: Envelope, outcome: Outcome) -> None:
        """Note what became of a posted message."""
        with self._step():
            self._outbox.settle(envelope, outcome)
            self._note_denied()

    def openers(self, envelope: Envelope) -> tuple[Envelope, ...]:
        """What has opened the terms up to a message's, as the board has shown it before.

        A board that was put back to an earlier state takes no message of a term whose opening it
        has lost, and whoever opened it may be gone; but a signed message is good in any hands.
        """
        term = _term(envelope)
        with self._lock:
            heard = self.store.heard() if term else []
        opened = {_term(e): e for e in heard if 0 < _term(e) <= term}
        return tuple(opened[number] for number in sorted(opened))

    def receive(self, posted: Iterable[Posted], end: int | None = None) -> bool:
        """Take in what was read of the board; ``end`` if it was read up to that number.

        Returns whether everything up to ``end`` has been read.
        """
        with self._step():
            fresh = [p for p in posted if p.number > self.bookmark.number]
            valid = [p.envelope for p in fresh if self._is_valid(p.envelope)]
            if len(valid) < len(fresh):
                self.health.note("forged", FORGED)
            bookmark = self.bookmark.moved(fresh, end)
            if valid or bookmark != self.bookmark:
                self.store.save_heard(valid, bookmark)
            self.bookmark = bookmark
            self._tell(valid)
            if self._outbox.drop_lost_claims(self._player):
                self._note_denied()
            at_end = end is not None and bookmark.number >= end
            if at_end:
                self._outbox.offer_lost_ones()
            return at_end

    def rewind(self) -> None:
        """Read the board from its beginning again, and offer it all own messages again."""
        with self._step():
            self.store.rewind()
            since = self._pending_since
            self._load()
            self._pending_since = since

    def learn_players(self, players: int | None) -> None:
        """Take note of how many may vote, which is what tells a stall."""
        with self._step():
            if players != self.players:
                self.store.save_players(players)
                self.players = players

    def close(self) -> None:
        """Let go of the store."""
        with self._lock:
            self.store.close()

    def _load(self) -> None:
        saved = self.store.load()
        heard = self.store.heard()
        self._outbox = Outbox(self.store)
        own = [e.message for e, _ in self._outbox if not isinstance(e.message, Seat)]
        told = [e.message for e in heard] if saved.bookmark.complete else []
        self._player = restore_player(self.store.path, saved.spec, saved.player, [*told, *own])
        self._outbox.see(self._own(heard))
        self._plays = Plays(saved.plays)
        self._untold = [] if saved.bookmark.complete else heard
        self.spec = saved.spec
        self.players = saved.players
        self.identity = Identity.from_private_bytes(saved.secret)
        self.bookmark = saved.bookmark
        if self._player.pending is not None:
            age = max(0.0, self._clock.wall() - (saved.pending_at or 0.0))
            self._pending_since = self._clock.monotonic() - age
        self._note_denied()

    def _expire(self) -> None:
        if self._player.pending is None:
            return
        if not self._expiry.is_due(self._clock.monotonic() - self._pending_since):
            return
        if self._expiry.on_expire == "zero":
            self._learn(0.0, "expired")
        else:
            self._player.abandon()
            self._save(None, self._plays.pending, "expired")

    def _learn(self, x: float, fate: Fate = "rewarded") -> None:
        messages = self._player.reward(x)
        # A claim to a place that came free again may lie there still, and is offered anyway.
        there = self._outbox.messages
        votes = [self.identity.sign(message) for message in messages if message not in there]
        self._save(None, self._plays.pending, fate, votes)
        self._outbox.add(votes)
        if votes:
            self.on_vote()

    def _save(
        self, pending_at: float | None, play: str | None, fate: Fate, votes: Sequence[Envelope] = ()
    ) -> None:
        assert play is not None  # a pending arm and its pending play are stored together
        plays = self._plays.note(play, fate)
        self.store.save_step(player_fields(self._player), pending_at, plays, votes)

    def _tell(self, valid: list[Envelope]) -> None:
        self._outbox.see(self._own(valid))
        self._untold += valid
        if self.bookmark.complete:
            for envelope in self._untold:
                self._player.receive(envelope.message)
            self._untold = []

    def _known(self) -> Ballot:
        ballot = self._player.ballot
        if self.bookmark.complete:
            return ballot
        return Ballot(ballot.n_arms, ballot.quorum, ballot.n_seats)

    def _is_valid(self, envelope: Envelope) -> bool:
        return refusal(envelope, self.spec, self._check) is None

    def _own(self, envelopes: Iterable[Envelope]) -> list[Envelope]:
        return [e for e in envelopes if e.message.voter == self._player.voter]

    def _note_denied(self) -> None:
        self.health.note("denied", DENIED if self._outbox.any_denied else None)

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
                    self.health.note("store", str(error))
                with suppress(StoreError):
                    self._load()
                    self._in_doubt = False
                raise
            self.health.note("store", None)


def _term(envelope: Envelope) -> int:
    message = envelope.message
    return 0 if isinstance(message, Seat) else message.term


def _nobody() -> None:
    """Told of votes when no one sends them."""
