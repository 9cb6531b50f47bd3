"""How a device comes to take part: once over the network, ever after from its store.

The store and the key in it are made before the device enrols, so a device that dies in between
enrols again with the same key. A first join that fails leaves nothing behind, unless the device
may have been enrolled: then the store and its key are kept. Once enrolled it needs nobody: it
opens its store and plays, and finds out in the background whether the board still stands for the
same experiment.
"""

from pathlib import Path

from devote.boards.board import Board, BoardRefused, BoardUnavailable, EnrolmentRefused
from devote.boards.database import StoreError, StoreMismatch
from devote.boards.identity import Identity
from devote.fleet.errors import JoinError, JoinRefused
from devote.fleet.store import Store


async def open_store(path: str | Path, url: str, board: Board, invite: str | None) -> Store:
    """The store at ``path``, set up for the experiment at ``url`` and enrolled in it."""
    is_new = not Path(path).exists()
    store = Store.open(path)
    try:
        if store.is_set_up:
            _check_name(store, url.rstrip("/").rpartition("/")[2])
        if not store.is_set_up or not store.load().enrolled:
            await _enrol(store, url, board, invite)
        elif store.load().address != url:
            store.save_enrolment(url, store.load().players)
    except BaseException as error:
        if is_new and (isinstance(error, EnrolmentRefused) or _is_empty(store)):
            store.remove()
        else:
            store.close()
        if isinstance(error, BoardUnavailable):
            raise JoinError(
                f"{error}\nThe first join needs the board; later ones work offline."
            ) from None
        if isinstance(error, BoardRefused):
            raise JoinRefused(str(error)) from None
        raise
    return store


def _is_empty(store: Store) -> bool:
    try:
        return not store.is_set_up
    except StoreError:
        return False  # what cannot be read is not thrown away


def _check_name(store: Store, name: str) -> None:
    saved = store.load()
    if saved.spec.name != name:
        raise StoreMismatch(
            f"The device store {store.path!r} belongs to experiment {saved.spec.name!r}, "
            f"not to {name!r}.\nGive each experiment its own store."
        )


async def _enrol(store: Store, url: str, board: Board, invite: str | None) -> None:
    experiment = await board.fetch_experiment()
    if not store.is_set_up:
        store.set_up(url, experiment.spec, experiment.players, Identity.generate())
    saved = store.load()
    if saved.spec.fingerprint != experiment.fingerprint:
        raise StoreMismatch(
            f"The device store {store.path!r} was made for another specification of "
            f"{experiment.name!r}.\nJoin with a new store."
        )
    await board.enrol(Identity.from_private_bytes(saved.secret), invite)
    store.save_enrolment(url, experiment.players)
