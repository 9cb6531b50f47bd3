"""``devote audit``: the promises, measured."""

from pathlib import Path
from typing import Annotated, Any

import typer

from devote.cli import options
from devote.cli.values import read_sizes

app = typer.Typer(rich_markup_mode="rich", add_completion=False, no_args_is_help=True)

Precision = Annotated[
    float, typer.Option(metavar="P", help="Half the width of the interval to reach.")
]
Confidence = Annotated[float, typer.Option(metavar="P", help="Confidence of the exact intervals.")]
Yes = Annotated[bool, typer.Option("--yes", help="Go on however long it takes.")]
SizeList = Annotated[
    str | None, typer.Option("--players", metavar="LIST", help="Numbers of devices, such as 32,64.")
]


@app.callback()
def audit() -> None:
    """What each promise is worth: measured, with exact intervals."""


@app.command()
@options.scenario_options("players")
def correctness(
    asked: options.ScenarioOptions,
    hard: Annotated[
        bool, typer.Option("--hard", help="The set of hard problems instead of one.")
    ] = False,
    worst_case: Annotated[
        bool, typer.Option("--worst-case", help="Subroutines that fail with probability eta.")
    ] = False,
    players: SizeList = None,
    precision: Precision = 0.02,
    confidence: Confidence = 0.95,
    yes: Yes = False,
    seed: options.Seed = 0,
    workers: options.Workers = 1,
    json: options.Json = False,
) -> None:
    """How often the vote is really wrong, beside what is claimed and what is proved.

    Runs until the exact interval for the failure probability is tight enough.

    [bold]Examples[/bold]

    devote audit correctness --worst-case

    devote audit correctness --scheme jury --hard --algorithm kl_racing

    devote audit correctness --problem 1 --players 64 --precision .005

    devote audit correctness --problem 4 --algorithm ser4 --option phi=4e-5 --horizon 180000
    """
    from devote.audit import audit_correctness, audit_worst_case, hard_problems
    from devote.audit.worst_case import PLAYERS
    from devote.cli import terminal
    from devote.cli.audit_view import show_correctness
    from devote.simulate import Scenario

    measuring: dict[str, Any] = {
        "precision": precision,
        "confidence": confidence,
        "seed": seed,
        "workers": workers or None,
        "allow_long": yes,
    }
    sizes = () if players is None else read_sizes(players)
    with terminal.progress_bar() as progress:
        if worst_case:
            rows: list[Any] = list(
                audit_worst_case(
                    eta=asked.eta,
                    delta=asked.delta,
                    players=sizes or PLAYERS,
                    progress=progress,
                    **measuring,
                )
            )
        else:
            problems = hard_problems(asked.epsilon) if hard else (asked.read_problem(),)
            scenarios = [
                Scenario(asked.read_spec(problem.n_arms), problem, n, asked.horizon)
                for problem in problems
                for n in sizes or (asked.players,)
            ]
            rows = [audit_correctness(one, progress=progress, **measuring) for one in scenarios]
    if json:
        terminal.show_json({"rows": [row.to_dict() for row in rows], "precision": precision})
    else:
        show_correctness(rows, asked.delta)


@app.command()
@options.scenario_options()
def privacy(
    asked: options.ScenarioOptions,
    runs: Annotated[
        int, typer.Option(metavar="R", help="Runs per question; half of them teach.")
    ] = 2_000,
    figure: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Draw success over eta from .1 to .99 and over N instead, as .svg, .pdf and .png.",
        ),
    ] = None,
    seed: options.Seed = 0,
    workers: options.Workers = 1,
    json: options.Json = False,
) -> None:
    """What one device's messages give away to somebody who knows the algorithm.

    Adversaries name its best arm, tell its group, tell whether it is a frequent user; with its own
    messages alone and with everybody's.

    [bold]Examples[/bold]

    devote audit privacy --problem 1 --players 64

    devote audit privacy --scheme jury --runs 4000 --json

    devote audit privacy --algorithm ser4 --option phi=2e-5 --horizon 100000 --players 32

    devote audit privacy --figure privacy.svg
    """
    from devote.audit import audit_privacy
    from devote.cli import terminal
    from devote.cli.audit_view import show_privacy

    if figure is not None:
        _draw(figure, runs, seed, workers, json)
        return
    scenario = asked.read_scenario()
    with terminal.progress_bar() as progress:
        leaks = audit_privacy(
            scenario.spec,
            scenario.problem,
            scenario.n_players,
            horizon=scenario.horizon,
            runs=runs,
            seed=seed,
            workers=workers or None,
            progress=progress,
        )
    eta = scenario.spec.eta
    if json:
        terminal.show_json({"eta": eta, "leaks": [leak.to_dict() for leak in leaks]})
    else:
        show_privacy(leaks, eta)


def _draw(figure: Path, runs: int, seed: int, workers: int, json: bool) -> None:
    from devote.cli.output_file import check_writable
    from devote.cli.terminal import console, progress_bar, show_json

    check_writable(figure, (".png", ".svg"))

    from devote.studies.eta_buys.figure import draw_eta
    from devote.studies.eta_buys.sweep import EtaSweep, sweep_eta

    data = figure.with_suffix(".json")
    with progress_bar() as progress:
        swept = sweep_eta(runs=runs, seed=seed, workers=workers or None, progress=progress)
    swept.save(data)
    pictures = draw_eta(EtaSweep.load(data), figure)
    if json:
        show_json({"pictures": [str(path) for path in pictures], "data": str(data)})
    else:
        console().print(f"Pictures: {', '.join(map(str, pictures))}\nData: {data}")
