"""``devote experiments`` and ``devote invites``: what the operator of a server does."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from devote.cli import options
from devote.cli.errors import CommandError
from devote.cli.options import takes
from devote.cli.terminal import console, table, tell

if TYPE_CHECKING:
    from devote.boards.experiment import Experiment
    from devote.boards.operator import Operator

Server = Annotated[str, takes("URL", "The server's address.")]
TokenFile = Annotated[Path, takes("FILE", "The operator's token, as `devote serve` wrote it.")]

SERVER = "http://127.0.0.1:8600"
TOKEN_FILE = Path("devote-server.db.token")

experiments = typer.Typer(add_completion=False, no_args_is_help=True)


def _operator(server: str, token_file: Path) -> "Operator":
    """A client for the operator's calls."""
    from devote.boards.operator import Operator

    try:
        return Operator(server, token_file.read_text().strip())
    except FileNotFoundError:
        raise CommandError(
            f"This needs the operator's token, and {token_file} is not there.\n"
            "Give --token-file; `devote serve` printed where it is."
        ) from None


@experiments.command("open")
def open_(
    spec: Annotated[
        Path, typer.Argument(metavar="SPEC", help="A specification: a .toml or .json file.")
    ],
    enrolment: Annotated[str, takes("HOW", "invite, or open for trying out.")] = "invite",
    players: Annotated[int | None, takes("N", "At most so many devices; tells a stall.")] = None,
    server: Server = SERVER,
    token_file: TokenFile = TOKEN_FILE,
    json: options.Json = False,
) -> None:
    """Open an experiment and print the address that devices join.

    Example:
        devote experiments open banner.toml --players 500
        where banner.toml holds
        name = "banner"
        arms = ["red", "green", "blue"]
    """
    from devote.boards.experiment import Experiment
    from devote.protocol import ExperimentSpec

    text = spec.read_text()
    read = ExperimentSpec.from_toml if spec.suffix == ".toml" else ExperimentSpec.from_json
    experiment = Experiment(read(text), enrolment, players)  # type: ignore[arg-type]
    with _operator(server, token_file) as calls:
        address = calls.open(experiment)
    tell({"address": address, **_told(experiment)}, json, lambda _: typer.echo(address))


@experiments.command("list")
def list_(server: Server = SERVER, json: options.Json = False) -> None:
    """The experiments on a server.

    Example:
        devote experiments list
    """
    from devote.boards.operator import Operator

    with Operator(server, None) as calls:
        found = calls.experiments()
    heads = ("experiment", "arms", "scheme", "enrolment", "devices", "at most")
    rows = []
    for item in found:
        most = "any" if item.players is None else str(item.players)
        row = (item.name, str(item.spec.n_arms), item.spec.scheme.name, item.enrolment)
        rows.append((*row, str(item.enrolled), most))
    told = [_told(item) for item in found]
    tell(told, json, lambda _: console().print(table("bl", heads, rows)))


def _told(experiment: "Experiment") -> dict[str, Any]:
    """As JSON values, by the names that all commands use; on the wire it is ``players``."""
    values = experiment.to_dict()
    return {"n_players": values.pop("players"), **values}


def invites(
    experiment: Annotated[str, typer.Argument(help="The experiment's name.")],
    count: Annotated[int, takes("N", "How many.", min=1)] = 1,
    server: Server = SERVER,
    token_file: TokenFile = TOKEN_FILE,
    json: options.Json = False,
) -> None:
    """Make invites, one per line. The server keeps only their hashes: they are shown once.

    Example:
        devote invites banner --count 1000 > invites.txt
    """
    with _operator(server, token_file) as calls:
        made = calls.invites(experiment, count)
    told = {"experiment": experiment, "invites": made}
    tell(told, json, lambda _: typer.echo("\n".join(made)))
