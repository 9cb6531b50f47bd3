"""``devote migrate``: experiments from a file to NATS."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument

from devote.cli import options
from devote.cli.options import takes
from devote.cli.terminal import tell


def migrate(
    store: Annotated[Path, Argument(metavar="FILE", help="The store of a server, stopped.")],
    nats: Annotated[str, Argument(metavar="nats://...", help="Where to move it.")],
    experiment: Annotated[
        list[str] | None, takes("NAME", "Only this one; may be repeated. Default: all.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Move experiments from a file to NATS, where any number of servers share them.

    Devices, unused invites and messages go along, and are read back and compared. The board stays
    the same: devices go on once they reach a server of the new store. The file is not changed.
    Stop its server first, and do not serve it again.

    Examples:
        devote migrate devote-server.db nats://10.0.0.1:4222,10.0.0.2:4222,10.0.0.3:4222
    """
    from devote.boards.database import StoreError
    from devote.boards.jetstream.connection import NatsAddress
    from devote.boards.store import SqliteStore
    from devote.extras import naming_extras

    with naming_extras():
        from devote.boards.jetstream.migration import migrate as move
        from devote.boards.jetstream.store import JetStreamStore

    address = NatsAddress.parse(nats)
    if not store.exists():
        raise StoreError(f"There is no file {str(store)!r}.\nGive the store of a server.")
    source = SqliteStore(store)
    try:
        names = experiment or [each.name for each in source.experiments()]
        for name in names:
            source.spec(name)  # before anything is moved
        target = JetStreamStore(nats)
        try:
            for name in names:
                tell(asdict(move(source, target, name)), json, _show)
        finally:
            target.close()
    finally:
        source.close()
    typer.echo(f"devote: serve it with `devote serve --store {address}`", err=True)


def _show(moved: dict[str, Any]) -> None:
    done = "moved, read back, the same" if moved["new"] else "there already, the same"
    typer.echo(
        f"{moved['name']}: {moved['messages']:,} messages, {moved['devices']:,} devices, "
        f"{moved['invites']:,} unused invites: {done}"
    )
