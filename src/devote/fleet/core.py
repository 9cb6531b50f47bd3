"""A device without its network: the player, its store, a clock and dice.

``choose`` and ``reward`` drive the player; what was read of the board comes in by ``receive`` or
``read``; what is to be posted lies in ``waiting``. ``DeviceState`` says how a step is made.

Where a scheme holds answers back, the pending play may be a question. Its answer is made by its
reward, or by ``close_question`` when none has come in time, and waits in the outbox until it is to
leave (``Replies``).
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field

from devote.boards.board import Envelope
from devote.boards.database import StoreError
from devote.fleet.clock import Expiry
from devote.fleet.plays import Choice, Fate, new_play
from devote.fleet.state import SYSTEM_RANDOM, DeviceState
from devote.fleet.status import REFUSED, DeviceStatus
from devote.protocol import Message


@dataclass(eq=False, repr=False)
class DeviceCore(DeviceState):
    """A device that has been set up in ``store``.

    ``dice`` gives a uniform number in [0, 1) for each new pull, and ``noise`` one for schemes
    that blur what they say; noise must not be guessed, so it comes from the operating system.
    ``on_message`` is called when something is to be posted, now or later, and must return at once.
    """

    _: KW_ONLY
    expiry: Expiry = field(default_factory=Expiry)
    dice: Callable[[], float] = SYSTEM_RANDOM
    noise: Callable[[], float] = SYSTEM_RANDOM
    on_message: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        super().__post_init__()
        age = 0.0
        if self._player.pending is not None:
            age = max(0.0, self.clock.wall() - (self.store.load().pending_at or 0.0))
        self._pending_since = self.clock.monotonic() - age
        with suppress(StoreError):
            self.close_question()

    def choose(self, u: float | None = None) -> Choice:
        """What to play: the pending choice if its reward has not come, else a new one."""
        with self._step:
            self._expire()
            if self._player.pending is None:
                u = self.dice() if u is None else u
                self._player.activate(u, self.noise(), ask=self._is_free)
                self._commit("pending", self._player.outgoing())
                self._pending_since = self.clock.monotonic()
            else:
                self._wake()
            choice = self._choice()
            assert choice is not None
            return choice

    def pending(self) -> Choice | None:
        """The choice that awaits its reward, also after a restart."""
        with self._step:
            return self._choice()

    def reward(self, x: float, choice: Choice | str | None = None) -> None:
        """Learn what the choice paid, from 0 to 1; counted once or not at all, see ``Plays``."""
        with self._step:
            self._close_question()
            is_asked = self._player.is_asked
            self._plays.check(choice, is_asked=is_asked)
            self._commit("answered" if is_asked else "rewarded", self._player.reward(x))

    def close_question(self) -> None:
        """Answer with a reward of 0 if the time for the pending question is over."""
        with self._step:
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
            troubles = (
                self.health.store,
                self.health.sync,
                self.health.forged,
                self.health.barred,
                refused,
            )
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
                reply_in=self._replies.leaves_in,
            )

    def _choice(self) -> Choice | None:
        arm, play = self._player.pending, self._plays.pending
        if arm is None or play is None:
            return None
        return Choice(arm, self.spec.arm_names[arm], play)

    def _close_question(self) -> None:
        if self._player.is_asked and self._replies.is_closed:
            self._player.abandon()
            self._commit("answered", self._player.outgoing())

    @property
    def _is_free(self) -> bool:
        """Whether no answer is held back.

        A second question must not come sooner because the first has had its reward.
        """
        return self.spec.scheme.reply_after is None or not any(
            self._is_held(e) for e in self._outbox.waiting
        )

    def _expire(self) -> None:
        self._close_question()
        if self._player.pending is None:
            return
        if not self._player.is_asked and self._player.may_ask and self._is_free:
            # Nor later, because a play that nobody asks about has not had its reward.
            self._player.abandon()
            self._commit("answered", [])
            return
        if not self.expiry.is_due(self.clock.monotonic() - self._pending_since):
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
        self.store.save_wake(self._player.to_json(), said)
        if said:
            self._outbox.add(said)
            self.on_message()

    def _sign(self, messages: list[Message]) -> list[Envelope]:
        if not messages:  # as at most pulls
            return []
        there = self._outbox.messages
        new = (message for message in messages if message not in there)
        return [self.identity.sign(message, self.scope) for message in new]

    def _commit(self, fate: Fate, messages: list[Message]) -> None:
        """Store a step: what became of the pending play, or a new one, and what is to be said."""
        play = new_play() if fate == "pending" else self._plays.pending
        assert play is not None  # a pending arm and its pending play are stored together
        said = self._sign(messages)
        plays = self._plays.note(play, fate)
        pending_at = self.clock.wall() if fate == "pending" else None
        after = self.spec.scheme.reply_after
        is_question = after is not None and fate == "pending" and self._player.is_asked
        reply_at = None
        if after is not None and is_question:
            reply_at = self._reply_at = self._replies.ask(after)
        elif fate == "answered":
            reply_at = self._reply_at
            for envelope in said:
                self._replies.hold(envelope.signature)
        self.store.save_step(self._player.to_json(), pending_at, plays, said, reply_at)
        if said:
            self._outbox.add(said)
        # An answer is posted when its time comes; its reward must not wake anybody.
        if is_question or (said and fate != "answered"):
            self.on_message()
