"""``devote invites``: single-use invites, one per device."""

from typing import Annotated

import typer

from devote.cli import options
from devote.cli.operator import SERVER, TOKEN_FILE, Server, TokenFile, operator

app = typer.Typer(rich_markup_mode="rich", add_completion=False)


@app.command()
def invites(
    experiment: Annotated[str, typer.Argument(help="The experiment's name.")],
    count: Annotated[int, typer.Option(min=1, metavar="N", help="How many.")] = 1,
    server: Server = SERVER,
    token_file: TokenFile = TOKEN_FILE,
    json: options.Json = False,
) -> None:
    """Make invites, one per line. The server keeps only their hashes: they are shown once.

    [bold]Example[/bold]

    devote invites banner --count 1000 > invites.txt
    """
    from devote.cli.terminal import show_json

    with operator(server, token_file) as calls:
        made = calls.invites(experiment, count)
    if json:
        show_json({"experiment": experiment, "invites": made})
    else:
        typer.echo("\n".join(made))
