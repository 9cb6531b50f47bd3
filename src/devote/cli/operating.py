"""What the operator's subcommands share: which server, and the token that opens it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

if TYPE_CHECKING:
    from devote.boards.operator import Operator

Server: TypeAlias = Annotated[str, typer.Option(metavar="URL", help="The server's address.")]
TokenFile: TypeAlias = Annotated[
    Path,
    typer.Option(metavar="FILE", help="The operator's token, as `devote serve` wrote it."),
]

SERVER = "http://127.0.0.1:8600"
TOKEN_FILE = Path("devote-server.db.token")


def operator(server: str, token_file: Path | None) -> "Operator":
    """A client for the operator's calls."""
    from devote.boards.operator import Operator

    token = None if token_file is None else token_file.read_text().strip()
    return Operator(server, token)
