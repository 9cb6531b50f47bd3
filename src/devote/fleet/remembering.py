"""What a device remembers of its board, to be found again in the board's log.

The store stays on the device: the log is brought to it.
"""

from collections.abc import Iterator
from pathlib import Path

from devote.boards.database import StoreMismatch
from devote.boards.identity import Identity
from devote.boards.logs import Remembered
from devote.fleet.store import Store
from devote.protocol import Message


def remember(path: Path, experiment: str) -> Remembered:
    """The messages that the board has acknowledged to this device or has shown to it.

    StoreMismatch if the store is not one of a device that is enrolled in the experiment.
    """
    if not path.exists():
        raise StoreMismatch(f"There is no device store {str(path)!r}.\nCheck the name of the file.")
    store = Store.open(path)
    try:
        saved = store.load() if store.is_set_up else None
        if saved is None or saved.spec.name != experiment or not saved.enrolled:
            raise StoreMismatch(
                f"The device store {str(path)!r} is not of a device that is enrolled in "
                f"{experiment!r}.\nGive the store with which it joined."
            )
        messages = tuple(_messages(store))
    finally:
        store.close()
    voter = Identity.from_private_bytes(saved.secret).voter
    return Remembered(path.name, saved.spec.fingerprint, messages, (voter,))


def _messages(store: Store) -> Iterator[tuple[int | None, Message]]:
    shown = [(number, envelope.message) for envelope, number in store.heard() if number is not None]
    yield from shown
    known = {message for _, message in shown}
    for envelope, state in store.outbox():
        if state == "sent" and envelope.message not in known:
            yield None, envelope.message
