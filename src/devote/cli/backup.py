"""``devote backup`` and ``devote restore``: a copy of a store, made while its server runs."""

import re
from pathlib import Path
from typing import Annotated

import typer

from devote.cli import options
from devote.cli.options import takes
from devote.cli.output_file import check_writable
from devote.cli.terminal import tell

STORE = Path("devote-server.db")

StoreFile = Annotated[Path, takes("FILE", "The store of `devote serve`.")]
AnyStore = Annotated[str, takes("FILE|nats://...", "The store of `devote serve`.")]


def backup(
    copy: Annotated[Path, typer.Argument(metavar="FILE", help="A new file for the copy.")],
    store: AnyStore = str(STORE),
    json: options.Json = False,
) -> None:
    """Copy a store to a new file while its server runs, as of one moment.

    Of a store on NATS too: the copy is a file that can be served, or moved back with `devote
    migrate`. The operator's token is not in it: keep that file too.

    Examples:
        devote backup monday.db
        devote backup monday.db --store nats://10.0.0.1,10.0.0.2,10.0.0.3
    """
    from devote.boards.backup import back_up
    from devote.boards.store import is_nats

    check_writable(copy)
    size = _back_up_nats(store, copy) if is_nats(store) else back_up(Path(store), copy)
    told = {"store": _shown(store), "file": str(copy), "bytes": size}
    tell(told, json, lambda _: typer.echo(f"{copy}: a copy of {_shown(store)}, {size:,} bytes."))


def _shown(store: str) -> str:
    """A store without the login in its address."""
    return re.sub("//[^/]*@", "//", store)


def _back_up_nats(address: str, copy: Path) -> int:
    from devote.extras import naming_extras

    with naming_extras():
        from devote.boards.jetstream.migration import back_up
        from devote.boards.jetstream.store import JetStreamStore

    store = JetStreamStore(address)
    try:
        return back_up(store, copy)
    finally:
        store.close()


def restore(
    copy: Annotated[Path, typer.Argument(metavar="FILE", help="A copy that a backup has made.")],
    store: StoreFile = STORE,
    json: options.Json = False,
) -> None:
    """Put a copy in the place of a store, whose server must not run; the old one is set aside.

    Example:
        devote restore monday.db
    """
    from devote.boards.backup import put_back

    check_writable(store)
    aside = put_back(copy, store)
    was = "" if aside is None else f" What was there is now {aside}."
    told = {"store": str(store), "file": str(copy), "set_aside": None if not aside else str(aside)}
    tell(told, json, lambda _: typer.echo(f"{store} holds what {copy} does.{was}"))
