"""What a device has said or has to say, each message with what became of it.

Memory and store hold the same; what changes here is stored first. Nothing is ever thrown away:
a board that was put back to an earlier state is offered all of it again.
"""

from collections.abc import Callable, Iterable

from devote.boards.board import Envelope
from devote.fleet.store import Delivery, Store
from devote.protocol import Message


class Outbox:
    """The outbox in ``store``, which holds these ``entries``, oldest message first.

    ``wanted`` says whether a message that the board has refused is worth offering again.
    """

    def __init__(
        self,
        store: Store,
        entries: Iterable[tuple[Envelope, Delivery]],
        wanted: Callable[[Message], bool],
    ) -> None:
        self._store = store
        self._wanted = wanted
        self._seen: set[str] = set()
        self._entries: dict[Envelope, Delivery] = dict(entries)

    @property
    def messages(self) -> tuple[Message, ...]:
        """All of them."""
        return tuple(envelope.message for envelope in self._entries)

    @property
    def sent(self) -> tuple[Envelope, ...]:
        """What the board has acknowledged."""
        return tuple([e for e, state in self._entries.items() if state == "sent"])

    @property
    def unsent(self) -> tuple[Envelope, ...]:
        """What the board has not acknowledged, or not been offered."""
        return tuple(e for e, state in self._entries.items() if state != "sent")

    @property
    def refused(self) -> tuple[Envelope, ...]:
        """What the board has refused and is still wanted."""
        refused = [e for e, state in self._entries.items() if state == "refused"]
        return tuple([e for e in refused if self._wanted(e.message)])

    @property
    def waiting(self) -> tuple[Envelope, ...]:
        """What is to be posted, with what was refused and is still wanted."""
        refused = self.refused
        return tuple([e for e, s in self._entries.items() if s == "waiting" or e in refused])

    def add(self, stored: Iterable[Envelope]) -> None:
        """Take in messages that are stored already, with the step they follow from."""
        self._entries |= dict.fromkeys(stored, "waiting")

    def note(self, envelope: Envelope, state: Delivery) -> None:
        """Store what became of a posted message."""
        self._store.save_delivery(envelope, state)
        self._entries[envelope] = state

    def see(self, shown: Iterable[Envelope]) -> None:
        """Note what the board has shown."""
        self._seen.update(envelope.signature for envelope in shown)

    def offer_lost_ones(self) -> None:
        """Offer again what was acknowledged but is not on the board, read to its end."""
        for envelope in self.sent:
            if envelope.signature not in self._seen:
                self.note(envelope, "waiting")
