"""How a device comes to take part: once over the network, ever after from its store.

The store and the key in it are made before the device enrols, so a device that dies in between
enrols again with the same key. A first join that fails leaves nothing behind, unless the device
may have been enrolled: then the store and its key are kept. Once enrolled it needs nobody: it
opens its store and plays, and finds out in the background whether the board still stands for the
same experiment.
"""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from devote.boards.board import Board, EnrolmentRefused
from devote.boards.database import StoreError, StoreMismatch
from devote.boards.experiment import Experiment
from devote.boards.identity import Identity
from devote.fleet.clock import Expiry
from devote.fleet.store import Store
from devote.protocol import ExperimentSpec

if TYPE_CHECKING:
    from devote.gossip import GossipSettings


def gossip_board(
    url: str, store: str | Path, ticket: str | None, settings: "GossipSettings | None"
) -> Board:
    """The board that devices have among themselves, without a server."""
    from devote.gossip import GossipBoard

    return GossipBoard(url, store, ticket=ticket, settings=settings)


async def open_store(
    path: str | Path, url: str, board: Board, invite: str | None, expiry: Expiry
) -> Store:
    """The store at ``path``, set up for the experiment at ``url`` and enrolled in it.

    An ``expiry`` that the experiment does not allow is refused before anything is stored.
    """
    is_new = not Path(path).exists()
    store = Store.open(path)
    try:
        await _enrol(store, url, board, invite, expiry)
    except BaseException as error:
        is_useless = isinstance(error, EnrolmentRefused)
        with suppress(StoreError):  # what cannot be read is not thrown away
            is_useless = is_useless or not store.is_set_up
        if is_new and is_useless:
            store.remove()
        else:
            store.close()
        raise
    return store


async def _enrol(store: Store, url: str, board: Board, invite: str | None, expiry: Expiry) -> None:
    saved = store.load() if store.is_set_up else None
    name = url.rstrip("/").rpartition("/")[2]
    if saved is not None and saved.spec.name != name:
        raise StoreMismatch(
            f"The device store {store.path!r} belongs to experiment {saved.spec.name!r}, "
            f"not to {name!r}.\nGive each experiment its own store."
        )
    if saved is not None:
        expiry.check(saved.spec.scheme.reply_after)
    if saved is not None and saved.enrolled:
        if saved.address != url:
            store.save_enrolment(url, saved.players)
        return
    experiment = await board.fetch_experiment()
    expiry.check(experiment.spec.scheme.reply_after)
    if saved is None:
        identity = Identity.generate()
        store.set_up(url, experiment, identity)
    elif saved.scope == experiment.scope:
        identity = Identity.from_private_bytes(saved.secret)
    else:
        raise StoreMismatch(
            f"The device store {store.path!r} was made for another board or specification of "
            f"{experiment.name!r}.\nJoin with a new store."
        )
    await board.enrol(identity, invite)
    store.save_enrolment(url, experiment.players)


def prepare_store(path: str | Path, spec: ExperimentSpec) -> str:
    """Make the store and the key of a device that needs no server; returns the key to certify.

    A store that is prepared already gives its key again.
    """
    from devote.gossip.credentials import scope_of

    experiment = Experiment(spec, "invite", board=scope_of(spec).board)
    is_new = not Path(path).exists()
    store = Store.open(path)
    try:
        if not store.is_set_up:
            store.set_up(f"gossip:///{spec.name}", experiment, Identity.generate())
        saved = store.load()
        if saved.scope != experiment.scope:
            raise StoreMismatch(
                f"The device store {store.path!r} was made for another board or specification.\n"
                "Use a new store."
            )
        return Identity.from_private_bytes(saved.secret).voter
    except BaseException:
        if is_new:
            store.remove()
        raise
    finally:
        store.close()
