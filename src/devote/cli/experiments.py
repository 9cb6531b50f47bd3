"""``devote experiments``: what an operator does with the experiments of a server."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from devote.cli import options
from devote.cli.errors import CommandError
from devote.cli.operating import SERVER, TOKEN_FILE, Name, Server, TokenFile, operator, read_moment
from devote.cli.options import takes
from devote.cli.terminal import tell

experiments = typer.Typer(add_completion=False, no_args_is_help=True)


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
    from devote.boards.board import Experiment
    from devote.protocol import ExperimentSpec

    text = spec.read_text()
    read = ExperimentSpec.from_toml if spec.suffix == ".toml" else ExperimentSpec.from_json
    experiment = Experiment(read(text), enrolment, players)  # type: ignore[arg-type]
    with operator(server, token_file) as calls:
        address = calls.open(experiment)
    tell({"address": address, **_named(experiment.to_dict())}, json, lambda _: typer.echo(address))


@experiments.command("list")
def list_(
    server: Server = SERVER,
    token_file: TokenFile = TOKEN_FILE,
    archived: Annotated[
        bool, typer.Option("--all", help="The archived ones too; needs the token.")
    ] = False,
    json: options.Json = False,
) -> None:
    """The experiments on a server: how they stand, how many take part, and what came of them.

    Without the operator's token it tells what is public: no invites, and nothing archived.

    Example:
        devote experiments list
    """
    from devote.cli.experiments_view import show

    with operator(server, token_file, public=not archived) as calls:
        found = calls.overview()
    told = [_named(item) for item in found if archived or item["state"] != "archived"]
    tell(told, json, show)


def _puts_into(state: str, name: str, does: str) -> None:
    """Make the command that puts an experiment into a state."""

    def command(
        experiment: Name,
        server: Server = SERVER,
        token_file: TokenFile = TOKEN_FILE,
        json: options.Json = False,
    ) -> None:
        _change(experiment, server, token_file, json, state=state)

    command.__doc__ = f"{does}\n\nExample:\n    devote experiments {name} banner\n"
    experiments.command(name)(command)


_puts_into(
    "closed", "close", "Take no new messages and devices; all can be read, and devices play on."
)
_puts_into(
    "open", "reopen", "Take messages and devices again; an end date that has passed is removed."
)
_puts_into(
    "archived",
    "archive",
    "Close an experiment and list it no more; its log and its page stay.",
)


@experiments.command()
def end(
    experiment: Name,
    when: Annotated[str, typer.Argument(help="2027-01-31, 2027-01-31T18:00, 30d, or never.")],
    server: Server = SERVER,
    token_file: TokenFile = TOKEN_FILE,
    json: options.Json = False,
) -> None:
    """Set when an experiment closes by itself, by the server's clock; times are in UTC.

    Examples:
        devote experiments end banner 2027-01-31T18:00
        devote experiments end banner never
    """
    ends = None if when == "never" else read_moment(when)
    _change(experiment, server, token_file, json, ends=ends)


@experiments.command()
def delete(
    experiment: Name,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    server: Server = SERVER,
    token_file: TokenFile = TOKEN_FILE,
    json: options.Json = False,
) -> None:
    """Delete an experiment with all its messages, for good. Its name cannot be used again.

    Example:
        devote experiments delete banner
    """
    with operator(server, token_file) as calls:
        found = {item["name"]: item for item in calls.overview()}.get(experiment)
        if found is not None and not yes:
            what = (
                f"{experiment} with {found['messages']:,} messages of {found['enrolled']:,} devices"
            )
            typer.echo(
                f"This deletes {what} for good. Type its name to go on: ", err=True, nl=False
            )
            if sys.stdin.readline().strip() != experiment:
                raise CommandError(f"{experiment} was not deleted.\nType its name, or give --yes.")
        calls.delete(experiment)
    tell({"deleted": experiment}, json, lambda _: typer.echo(f"{experiment} is deleted."))


@experiments.command()
def export(
    experiment: Name,
    output: Annotated[
        Path | None, takes("FILE", "Where to; by default the experiment's name and .jsonl.")
    ] = None,
    server: Server = SERVER,
    json: options.Json = False,
) -> None:
    """Write the whole log to a file of JSON lines, checked message by message.

    `devote verify FILE` checks the file again, without the server. It needs no token.

    Example:
        devote experiments export banner --output banner.jsonl
    """
    from devote.boards.logs import HttpLog, LogCopy
    from devote.boards.verification import verify_log
    from devote.cli.output_file import check_writable
    from devote.cli.terminal import progress_bar

    file = output or Path(f"{experiment}.jsonl")
    check_writable(file)
    if file.exists():
        raise CommandError(f"{file} is there already.\nChoose another name with --output.")
    with (
        progress_bar() as progress,
        HttpLog(f"{server.rstrip('/')}/experiments/{experiment}", progress=progress) as log,
        LogCopy(file, log) as copy,
    ):
        report = verify_log(log, copy=copy, progress=progress)
    told = {"file": str(file), "messages": report.messages, "head": report.head, "ok": report.ok}
    words = f"{file}: {report.messages:,} messages. Check it with `devote verify {file}`."
    tell(told, json, lambda _: typer.echo(words))
    if not report.ok:
        typer.echo(f"devote: something is wrong with this log: devote verify {file}", err=True)
        raise typer.Exit(1)


def _named(values: dict[str, Any]) -> dict[str, Any]:
    """By the names that all commands use: the wire's ``players`` is ``n_players``."""
    return {"n_players" if name == "players" else name: one for name, one in values.items()}


def _change(name: str, server: str, token_file: Path, json: bool, **change: Any) -> None:
    with operator(server, token_file) as calls:
        standing = calls.change(name, **change)
    told = {"name": name, **vars(standing)}
    tell(told, json, lambda _: typer.echo(f"{name} is {standing.words}."))
