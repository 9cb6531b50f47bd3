"""What a device has said or has to say, each message with what became of it.

Memory and store hold the same; what changes here is stored first. A message that the board has
acknowledged is kept as well: a board that was put back to an earlier state is offered it again.
"""

from collections.abc import Iterable, Iterator

from devote.boards.board import Envelope, Outcome
from devote.fleet.store import Delivery, Store
from devote.protocol import Message, Player, Seat


class Outbox:
    """The outbox in ``store``, oldest message first."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._seen: set[str] = set()
        self.reload()

    def __iter__(self) -> Iterator[tuple[Envelope, Delivery]]:
        return iter(self._entries)

    def reload(self) -> None:
        """Take over what the store holds."""
        self._entries = self._store.outbox()

    @property
    def sent(self) -> tuple[Envelope, ...]:
        """What the board has acknowledged."""
        return tuple(e for e, state in self._entries if state == "sent")

    @property
    def waiting(self) -> tuple[Envelope, ...]:
        """What is to be posted; denied messages too: an operator may mend that."""
        return tuple(e for e, state in self._entries if state != "sent")

    @property
    def any_denied(self) -> bool:
        """Whether the board has denied a message that is still here."""
        return any(state == "denied" for _, state in self._entries)

    @property
    def messages(self) -> set[Message]:
        """All of them, without their signatures."""
        return {e.message for e, _ in self._entries}

    def add(self, stored: Iterable[Envelope]) -> None:
        """Take in messages that are stored already, with the step they follow from."""
        self._entries += [(envelope, "waiting") for envelope in stored]

    def settle(self, envelope: Envelope, outcome: Outcome) -> None:
        """Note what became of a posted message."""
        state: Delivery = "denied" if outcome is Outcome.DENIED else "sent"
        self._store.save_delivery(envelope, state)
        self._entries = [(e, state if e == envelope else s) for e, s in self._entries]

    def see(self, own: Iterable[Envelope]) -> None:
        """Note which of the device's messages the board has shown."""
        self._seen.update(envelope.signature for envelope in own)

    def offer_lost_ones(self) -> None:
        """Offer again what was acknowledged but is not on the board, read to its end."""
        lost = [e for e in self.sent if e.signature not in self._seen]
        for envelope in lost:
            self._store.save_delivery(envelope, "waiting")
        if lost:
            self.reload()

    def drop_lost_claims(self, player: Player) -> bool:
        """Drop denied claims to places in the jury that another has, or that come too many."""
        lost = [
            e
            for e, state in self._entries
            if state == "denied" and isinstance(e.message, Seat)
            if e.signature not in self._seen
            if player.ballot.is_taken(e.message.seat) or player.is_juror
        ]
        for envelope in lost:
            self._store.drop(envelope)
        if lost:
            self.reload()
        return bool(lost)
