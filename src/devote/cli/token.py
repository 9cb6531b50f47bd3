"""``devote token``: replace the operator's token."""

from pathlib import Path

import typer

from devote.cli import options
from devote.cli.errors import CommandError
from devote.cli.operating import TOKEN_FILE, TokenFile
from devote.cli.terminal import tell

token = typer.Typer(add_completion=False, no_args_is_help=True)


@token.callback()
def _token() -> None:
    """The operator's token."""


@token.command()
def rotate(token_file: TokenFile = TOKEN_FILE, json: options.Json = False) -> None:
    """Put a new token into its file. Servers take it at once, and the old one no longer.

    Run it where the server runs. Copy the file to other servers, and to where you call from.

    Example:
        devote token rotate --token-file devote-server.db.token
    """
    from devote.server.token import write_token

    _check(token_file)
    write_token(token_file)
    words = f"A new token is in {token_file}; the old one is no longer good."
    tell({"token_file": str(token_file)}, json, lambda _: typer.echo(words))


def _check(token_file: Path) -> None:
    if not token_file.is_file():
        raise CommandError(
            f"There is no token in {token_file}.\nGive --token-file; `devote serve` makes it."
        )
