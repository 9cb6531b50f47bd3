"""``devote experiments``: open one on a server, or list those there are."""

from pathlib import Path
from typing import Annotated

import typer

from devote.cli import options
from devote.cli.operator import SERVER, TOKEN_FILE, Server, TokenFile, operator

app = typer.Typer(rich_markup_mode="rich", add_completion=False, no_args_is_help=True)


@app.command("open")
def open_(
    spec: Annotated[
        Path, typer.Argument(metavar="SPEC", help="A specification: a .toml or .json file.")
    ],
    enrolment: Annotated[
        str, typer.Option(metavar="HOW", help="invite, or open for trying out.")
    ] = "invite",
    players: Annotated[
        int | None, typer.Option(metavar="N", help="At most so many devices; tells a stall.")
    ] = None,
    server: Server = SERVER,
    token_file: TokenFile = TOKEN_FILE,
    json: options.Json = False,
) -> None:
    """Open an experiment and print the address that devices join.

    [bold]Example[/bold]

    devote experiments open banner.toml --players 500

    where banner.toml holds

    name = "banner"

    arms = ["red", "green", "blue"]
    """
    from devote.boards.experiment import Experiment
    from devote.cli.terminal import show_json
    from devote.protocol import ExperimentSpec

    text = spec.read_text()
    read = ExperimentSpec.from_toml if spec.suffix == ".toml" else ExperimentSpec.from_json
    experiment = Experiment(read(text), enrolment, players)  # type: ignore[arg-type]
    with operator(server, token_file) as calls:
        address = calls.open(experiment)
    if json:
        show_json({"address": address, **experiment.to_dict()})
    else:
        typer.echo(address)


@app.command("list")
def list_(server: Server = SERVER, json: options.Json = False) -> None:
    """The experiments on a server.

    [bold]Example[/bold]

    devote experiments list
    """
    from devote.cli.terminal import console, show_json

    with operator(server, None) as calls:
        found = calls.experiments()
    if json:
        show_json([experiment.to_dict() for experiment in found])
        return

    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("experiment", "arms", "scheme", "enrolment", "devices", "at most"):
        table.add_column(column, style="bold" if column == "experiment" else "")
    for item in found:
        most = "any" if item.players is None else str(item.players)
        row = (item.name, str(item.spec.n_arms), item.spec.scheme.name, item.enrolment)
        table.add_row(*row, str(item.enrolled), most)
    console().print(table)
