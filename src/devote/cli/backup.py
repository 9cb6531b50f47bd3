"""``devote backup`` and ``devote restore``: a copy of a store, made while its server runs."""

from pathlib import Path
from typing import Annotated

import typer

from devote.cli import options
from devote.cli.options import takes
from devote.cli.output_file import check_writable
from devote.cli.terminal import tell

STORE = Path("devote-server.db")

StoreFile = Annotated[Path, takes("FILE", "The store of `devote serve`.")]


def backup(
    copy: Annotated[Path, typer.Argument(metavar="FILE", help="A new file for the copy.")],
    store: StoreFile = STORE,
    json: options.Json = False,
) -> None:
    """Copy a store to a new file while its server runs, as of one moment.

    The operator's token is not in it: keep that file too.

    Example:
        devote backup monday.db
    """
    from devote.boards.backup import back_up

    check_writable(copy)
    size = back_up(store, copy)
    told = {"store": str(store), "file": str(copy), "bytes": size}
    tell(told, json, lambda _: typer.echo(f"{copy}: a copy of {store}, {size:,} bytes."))


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
