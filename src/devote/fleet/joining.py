"""How a device comes to take part: once over the network, ever after from its store.

The store and the key in it are made before a seat is claimed, so a device that dies in between
claims the same seat again. A first join that fails leaves nothing behind, unless the seat may
have been given: then the store and its key are kept. Once seated it needs nobody: it opens its
store and plays, and finds out in the background whether the board still stands for the same
experiment.
"""

from pathlib import Path
from typing import Protocol

from devote.boards.board import Board, BoardRefused, BoardUnavailable, Outcome, SeatDenied
from devote.boards.experiment import Experiment
from devote.boards.identity import Identity
from devote.fleet.errors import JoinError, SeatRefused, StoreError, StoreMismatch
from devote.fleet.saving import player_fields
from devote.fleet.store import Setup, Store
from devote.protocol import Player


class RemoteBoard(Board, Protocol):
    """A board that can also be asked what the experiment is, and for a seat in it."""

    async def fetch_experiment(self) -> Experiment:
        """The experiment; BoardRefused if it is not one of ours."""
        ...

    async def claim_seat(self, identity: Identity, invite: str | None = None) -> Outcome:
        """A seat for this identity, or the one it has; SeatDenied if there is none for it."""
        ...


async def open_store(path: str | Path, url: str, board: RemoteBoard, invite: str | None) -> Store:
    """The store at ``path``, set up and seated in the experiment at ``url``."""
    is_new = not Path(path).exists()
    store = Store.open(path)
    try:
        name = url.rstrip("/").rpartition("/")[2]
        if store.is_set_up:
            _check_name(store, name)
        if not store.is_set_up or not store.load().seated:
            await _take_seat(store, url, board, invite)
        elif store.load().address != url:
            store.save_seat(url, store.load().players)
    except BaseException as error:
        if is_new and (isinstance(error, SeatRefused) or _is_empty(store)):
            store.remove()
        else:
            store.close()
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


async def _take_seat(store: Store, url: str, board: RemoteBoard, invite: str | None) -> None:
    try:
        experiment = await board.fetch_experiment()
        if not store.is_set_up:
            store.set_up(_setup(url, experiment))
        saved = store.load()
        if saved.spec.fingerprint != experiment.fingerprint:
            raise StoreMismatch(
                f"The device store {store.path!r} was made for another specification of "
                f"{experiment.name!r}.\nJoin with a new store."
            )
        await board.claim_seat(Identity.from_private_bytes(saved.secret), invite)
    except BoardUnavailable as error:
        raise JoinError(
            f"{error}\nThe first join needs the board; later ones work offline."
        ) from None
    except SeatDenied as error:
        raise SeatRefused(str(error)) from None
    except BoardRefused as error:
        raise JoinError(str(error)) from None
    store.save_seat(url, experiment.players)


def _setup(url: str, experiment: Experiment) -> Setup:
    identity = Identity.generate()
    return Setup(
        address=url,
        spec=experiment.spec,
        players=experiment.players,
        secret=identity.to_private_bytes(),
        player=player_fields(Player(experiment.spec, identity.voter)),
    )
