"""``devote invites``: single-use invites, as lines, as links, or in a file."""

import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from devote.cli import options
from devote.cli.errors import CommandError
from devote.cli.operating import SERVER, TOKEN_FILE, Name, Server, TokenFile, operator, read_moment
from devote.cli.options import takes
from devote.cli.output_file import check_writable
from devote.cli.terminal import tell

if TYPE_CHECKING:
    from devote.boards.operator import Operator

AT_ONCE = 10_000
"""Invites that are made by one call; the server's default limit."""


def invites(
    experiment: Name,
    count: Annotated[int, takes("N", "How many.", min=1)] = 1,
    expires: Annotated[
        str | None, takes("WHEN", "When they stop being good: a date in UTC, or 30d.")
    ] = None,
    links: Annotated[
        bool, typer.Option("--links", help="As links that a device can join by.")
    ] = False,
    link_to: Annotated[
        str | None, takes("URL", "Links to this page of yours, with the invite after a #.")
    ] = None,
    output: Annotated[
        Path | None, takes("FILE", "A new file, readable by you only; else they are printed.")
    ] = None,
    server: Server = SERVER,
    token_file: TokenFile = TOKEN_FILE,
    json: options.Json = False,
) -> None:
    """Make invites, one per line. The server keeps only their hashes: they are shown once.

    In a link the invite stands after the #, which browsers send to no server.

    Examples:
        devote invites banner --count 1000 > invites.txt
        devote invites banner --count 20000 --expires 30d --links --output links.txt
    """
    moment = None if expires is None else read_moment(expires)
    if link_to is not None and "#" in link_to:
        raise CommandError(f"--link-to {link_to!r} has a # already.\nLeave it out; one is added.")
    if output is not None:
        check_writable(output)
        if output.exists():
            raise CommandError(f"{output} is there already.\nChoose another name.")
    with operator(server, token_file) as calls:
        made = _lines(calls, experiment, count, moment, link_to, links=links)
        if output is not None:
            _write(output, made)
        else:
            lines = [line for batch in made for line in batch]
    if output is not None:
        told = {"experiment": experiment, "file": str(output), "count": count}
        tell(told, json, lambda _: typer.echo(f"{output}: {count:,} invites."))
    else:
        told = {"experiment": experiment, "invites": lines}
        tell(told, json, lambda _: typer.echo("\n".join(lines)))


def _lines(
    calls: "Operator",
    experiment: str,
    count: int,
    expires: int | None,
    link_to: str | None,
    *,
    links: bool,
) -> Iterator[list[str]]:
    """Invites as they are made, a batch at a time, as links if these are wanted."""
    for start in range(0, count, AT_ONCE):
        made = calls.invites(experiment, min(AT_ONCE, count - start), expires)
        page = link_to or (calls.joined_at if links else None)
        yield made if page is None else [f"{page}#invite={text}" for text in made]


def _write(output: Path, batches: Iterator[list[str]]) -> None:
    """Write each batch as it comes: invites that were made are never lost by a later failure."""
    first = next(batches)  # nothing is written if none can be made
    with open(os.open(output, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
        for batch in chain([first], batches):
            file.writelines(f"{line}\n" for line in batch)
            file.flush()
        os.fsync(file.fileno())
