"""What the operator's subcommands share: which server, and the token that opens it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from devote.cli.errors import CommandError

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
    """A client for the operator's calls; without a token file, for those that need none."""
    from devote.boards.operator import Operator

    return Operator(server, None if token_file is None else _read_token(token_file))


def _read_token(path: Path) -> str:
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        raise CommandError(
            f"This needs the operator's token, and {path} is not there.\n"
            "Give --token-file; `devote serve` printed where it is."
        ) from None
