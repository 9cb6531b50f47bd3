"""What a device knows, in memory and in its store alike, and what the board tells it.

Each call is one step: it changes the player, commits it to the store, and only then returns, so
whatever anybody outside has been told is on disk. If the store cannot be written, memory goes back
to what is stored and the call may be made again.

A device never decides on half of the messages. Until the board has been read to its end once,
what was read is stored but the player is not told: it plays all arms on its own, it may say what
it has learned itself, but it takes no arm out because of others, and there is no answer. At the
end of the backlog it is told everything.

The player hears messages in the board's order, one number after the other; a message that comes
before its turn is kept aside (``Bookmark``). The board is not trusted: every message is checked
again, by its signature and by the scheme's tally. Where the scheme ``reads_tally`` the player is
told that instead, and has to believe it.

Calls may come from several threads; none ever waits for the network.
"""

import asyncio
import random
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field

from devote.boards.admission import refusal
from devote.boards.board import Envelope, Outcome, Posted, PublicTally
from devote.boards.database import StoreError
from devote.boards.identity import Identity, verify
from devote.boards.pages import page_of
from devote.fleet.bookmark import Bookmark
from devote.fleet.clock import Clock
from devote.fleet.errors import RewardRefused
from devote.fleet.outbox import Outbox
from devote.fleet.pace import Asked
from devote.fleet.plays import Plays
from devote.fleet.replies import Replies
from devote.fleet.saved import Saved
from devote.fleet.status import FORGED, Health
from devote.fleet.store import Store
from devote.protocol import Message, Player, ProtocolError
from devote.protocol.wire import Scope

SYSTEM_RANDOM = random.SystemRandom().random


@dataclass(eq=False, repr=False)
class DeviceState:
    """The state of a device that has been set up in ``store``.

    ``jitter`` gives a uniform number in [0, 1) for each moment at which an answer leaves.
    """

    store: Store
    _: KW_ONLY
    clock: Clock = field(default_factory=Clock)
    jitter: Callable[[], float] = SYSTEM_RANDOM
    check: Callable[[Envelope, Scope], bool] = verify
    players: int | None = field(init=False)
    bookmark: Bookmark = field(init=False)
    _player: Player = field(init=False)
    _outbox: Outbox = field(init=False)

    def __post_init__(self) -> None:
        self.health = Health(self.clock)
        self.asked = Asked()
        self.rounds = asyncio.Lock()
        self._lock = threading.RLock()
        self._step = _Step(self)
        self._in_doubt = False
        saved = self._load()
        self.identity = Identity.from_private_bytes(saved.secret)
        self.must_recall = self.spec.scheme.noisy and not self.store.is_new
        self._replies = Replies(self.clock, self.jitter)
        with suppress(StoreError):  # the moments in memory hold all the same
            self._reply_at = self._replies.resume(self.store, saved, is_asked=self._player.is_asked)

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
        with self._step:
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
        with self._step:
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

    def needs(self, told: PublicTally) -> bool:
        """Whether the log is to be read, by what the tally says.

        It need not be while the tally says what follows from the messages that were read: further
        votes have decided nothing yet. They are read when their page is full, or at the next look
        at all of it. Where the order of the board matters, or terms may begin, every message does.
        """
        with self._lock:
            bookmark, scheme = self.bookmark, self.spec.scheme
            if not bookmark.complete or told.number < bookmark.number:
                return True
            if told.number == bookmark.number:
                return False
            if scheme.needs_order or self.spec.resets:
                return True
            own = self._player.public(self.players)
            same = all(told.tally.get(name) == own[name] for name in ("status", "shared"))
            return not same or page_of(told.number + 1) > page_of(bookmark.number + 1)

    def read(self, told: PublicTally) -> None:
        """Take in the board's tally, in place of the messages.

        A board that has fewer messages than before was put back to a backup: it is offered again
        what it has lost.
        """
        with self._step:
            self._player.read(told.tally)
            if self.bookmark.complete and told.number == self.bookmark.number:
                return
            lost = told.number < self.bookmark.number
            self.store.save_told(self._player.to_json(), told.number, lost=lost)
            self.bookmark = Bookmark(told.number, complete=True)
            if lost:
                self._load()

    def recall(self, held: Iterable[Envelope]) -> None:
        """Take in what the board holds of this device, of which the store may be an older copy.

        What was said before is not said again; an answer that differs from it is never sent.
        """
        with self._step:
            said = [e for e in held if e.message.voter == self.identity.voter]
            said = [e for e in said if refusal(e, self.spec, self.scope, self.check) is None]
            tally = self.spec.scheme.tally(self.spec)
            for envelope in said:
                tally.add(envelope.message)
                self._player.recall(envelope.message)
            false = [e for e in self._outbox.unsent if tally.refusal(e.message) is not None]
            if said:
                self.store.save_recalled(self._player.to_json(), said, false)
                self._load()
            self.must_recall = False

    def rewind(self, *, forget: bool = False) -> None:
        """Read the board from its beginning again, and offer it all own messages again.

        What others said is kept, unless it was taken back (``forget``), or means something only
        in the order of the board.
        """
        with self._step:
            self.store.rewind(forget=forget or self.spec.scheme.needs_order)
            self._load()

    def close(self) -> None:
        """Close the store."""
        with self._lock:
            self.store.close()

    def _load(self) -> Saved:
        saved = self.store.load()
        heard = [e for e, _ in self.store.heard()]
        outbox = self.store.outbox()
        said = [e.message for e, _ in outbox]
        # Where order matters the player hears its own messages from the board, as all others do.
        own: list[Message] = [] if saved.spec.scheme.needs_order else said
        shown = [e.message for e in heard]
        told = [*shown, *own] if saved.bookmark.complete else own
        self.spec = saved.spec
        self.scope = saved.scope
        self.players = saved.players
        self.bookmark = saved.bookmark
        self._player = self.store.player(saved, told)
        self._listener = self._player
        self._reply_at = saved.reply_at
        if not saved.bookmark.complete and not self.spec.scheme.reads_tally:
            self._listener = self.spec.scheme.player(self.spec, self._player.voter)
            for message in shown:
                self._listener.receive(message)
        self._outbox = Outbox(self.store, outbox, self._player.still_wants)
        self._outbox.see(heard)
        self._plays = Plays(saved.plays)
        return saved

    def _is_held(self, envelope: Envelope) -> bool:
        return self._replies.is_held(envelope.signature)

    def _hear(self, envelope: Envelope) -> bool:
        """Tell a message to whoever listens, unless it is not valid."""
        refused = refusal(envelope, self.spec, self.scope, self.check)
        if refused or self._listener.tally.refusal(envelope.message) is not None:
            return False
        self._listener.receive(envelope.message)
        return True

    def _settle_doubt(self) -> None:
        """Go back to what the store holds; in doubt until that has been read."""
        self._in_doubt = True
        self._load()
        self._in_doubt = False


class _Step:
    """One step under the lock; if it fails, memory goes back to what the store holds."""

    __slots__ = ("_state",)

    def __init__(self, state: DeviceState) -> None:
        self._state = state

    def __enter__(self) -> None:
        state = self._state
        state._lock.acquire()
        if state._in_doubt:
            try:
                state._settle_doubt()
            except BaseException as error:
                self.__exit__(type(error), error, None)
                raise

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        state = self._state
        try:
            if error is None:
                state.health.store = None
            # These are raised before anything has changed.
            elif not isinstance(error, ProtocolError | RewardRefused):
                if isinstance(error, StoreError):
                    state.health.store = str(error)
                with suppress(StoreError):
                    state._settle_doubt()
        finally:
            state._lock.release()
