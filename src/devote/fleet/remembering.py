"""What a device remembers of its board, to be found again in the board's log.

The store stays on the device: the log is brought to it.
"""

from collections.abc import Iterator
from pathlib import Path

from devote.boards.database import StoreMismatch
from devote.boards.identity import Identity
from devote.boards.logs import Remembered, Told
from devote.fleet.saved import Saved
from devote.fleet.store import Store
from devote.protocol import Message


def remember(path: Path, experiment: str) -> Remembered:
    """What the board has acknowledged to this device, or has shown or told to it.

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
        voter = Identity.from_private_bytes(saved.secret).voter
        return Remembered(
            path.name,
            saved.scope,
            tuple(_messages(store)),
            (voter,),
            tuple(_told(store, saved)),
        )
    finally:
        store.close()


def _told(store: Store, saved: Saved) -> Iterator[Told]:
    """The tally that was read last, where devices read that and not the messages."""
    if saved.spec.scheme.reads_tally and saved.bookmark.complete:
        public = store.player(saved, ()).public(saved.players)
        source = Path(store.path).name
        yield Told("tally", saved.bookmark.number, public, source, partial=True)


def _messages(store: Store) -> Iterator[tuple[int | None, Message]]:
    shown = [(number, envelope.message) for envelope, number in store.heard() if number is not None]
    yield from shown
    known = {message for _, message in shown}
    for envelope, state in store.outbox():
        if state == "sent" and envelope.message not in known:
            yield None, envelope.message
