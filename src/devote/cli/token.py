"""``devote token``: who may call a server, by the tokens in its file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from devote.cli import options
from devote.cli.errors import CommandError
from devote.cli.operating import TOKEN_FILE, TokenFile
from devote.cli.options import takes
from devote.cli.terminal import tell

if TYPE_CHECKING:
    from devote.server.settings import Grant

token = typer.Typer(add_completion=False, no_args_is_help=True)

Scope = Annotated[str, takes("SCOPE", "operator, inviter (of one experiment), or reader.")]
Experiment = Annotated[str, takes("NAME", "The experiment of an inviter.")]


@token.callback()
def _token() -> None:
    """The tokens of a server."""


@token.command()
def rotate(
    token_file: TokenFile = TOKEN_FILE,
    scope: Scope = "operator",
    experiment: Experiment = "",
    json: options.Json = False,
) -> None:
    """Put a new token into its file. Servers take it at once, and the old one no longer.

    Run it where the server runs. Copy the file to other servers, and to where you call from. To
    replace one without a gap, add another first and remove the old one later.

    Example:
        devote token rotate --token-file devote-server.db.token
    """
    from devote.server.settings import write_token

    _check(token_file)
    made = write_token(token_file, _grant(scope, experiment))
    words = f"A new token is in {token_file}; the old one is no longer good."
    told = {"token_file": str(token_file)}
    if scope != "operator":
        told["token"] = made
        words += f"\n{made}"
    tell(told, json, lambda _: typer.echo(words))


@token.command()
def add(
    scope: Scope,
    experiment: Experiment = "",
    token_file: TokenFile = TOKEN_FILE,
    json: options.Json = False,
) -> None:
    """Make one more token, with a scope of its own, and print it. Servers take it at once.

    An inviter makes invites for one experiment and does nothing else; a reader looks at the
    overview.

    Examples:
        devote token add --scope inviter --experiment banner > shop.token
        devote token add --scope reader
    """
    from devote.server.settings import write_token

    _check(token_file)
    made = write_token(token_file, _grant(scope, experiment), keep=True)
    tell({"token": made, "scope": scope}, json, lambda _: typer.echo(made))


@token.command("list")
def list_(token_file: TokenFile = TOKEN_FILE, json: options.Json = False) -> None:
    """List what the tokens of a server allow, with their first four characters.

    Example:
        devote token list
    """
    from devote.server.settings import read_tokens

    _check(token_file)
    found = read_tokens(token_file.read_text())
    told = [{"begins": text[:4], **vars(grant)} for text, grant in found.items()]
    lines = [f"{text[:4]}...  {grant}" for text, grant in found.items()]
    tell(told, json, lambda _: typer.echo("\n".join(lines)))


@token.command()
def remove(
    begins: Annotated[str, typer.Argument(metavar="BEGINS", help="Its first characters.")],
    token_file: TokenFile = TOKEN_FILE,
    json: options.Json = False,
) -> None:
    """Take a token away. Servers take it no longer.

    Example:
        devote token remove q7Lw
    """
    from devote.server.settings import remove_token

    _check(token_file)
    removed = remove_token(token_file, begins)
    tell({"removed": str(removed)}, json, lambda _: typer.echo(f"The token of {removed} is gone."))


def _grant(scope: str, experiment: str) -> "Grant":
    from devote.server.settings import SCOPES, Grant

    if scope not in SCOPES:
        raise CommandError(f"scope {scope!r} is not known.\nUse one of: {', '.join(SCOPES)}.")
    if (scope == "inviter") != bool(experiment):
        raise CommandError("An inviter needs --experiment, and no other scope takes it.")
    return Grant(scope, experiment)


def _check(token_file: Path) -> None:
    if not token_file.is_file():
        raise CommandError(
            f"There is no token in {token_file}.\nGive --token-file; `devote serve` makes it."
        )
