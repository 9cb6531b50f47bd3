"""``devote audit``: the promises, measured."""

from pathlib import Path
from typing import Annotated, Any

import typer

from devote.cli import options

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
def correctness(
    protocol: options.Protocol = "decentralized",
    algorithm: options.Algorithm = "ser3",
    option: options.Options = None,
    means: options.Means = None,
    problem: options.ProblemName = None,
    activity: options.Activity = None,
    hard: Annotated[
        bool, typer.Option("--hard", help="The set of hard problems instead of one.")
    ] = False,
    worst_case: Annotated[
        bool, typer.Option("--worst-case", help="Subroutines that fail with probability eta.")
    ] = False,
    players: SizeList = None,
    epsilon: options.Epsilon = 0.25,
    eta: options.Eta = 0.9,
    delta: options.Delta = 0.05,
    quorum: options.Quorum = "paper",
    phi: options.Phi = 0.0,
    horizon: options.Horizon = None,
    seat_after: options.SeatAfter = 50,
    absent: options.Absent = 0,
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

    devote audit correctness --protocol jury --hard --algorithm kl_racing

    devote audit correctness --problem 1 --players 64 --precision .005

    devote audit correctness --problem 4 --algorithm ser4 --phi 4e-5 --horizon 180000 --players 32
    """
    from devote.audit import audit_correctness, audit_worst_case, hard_problems
    from devote.audit.worst_case import PLAYERS
    from devote.cli import reading, showing
    from devote.cli.audit_view import show_correctness
    from devote.simulate.cell import Cell

    measuring: dict[str, Any] = {
        "precision": precision,
        "confidence": confidence,
        "seed": seed,
        "workers": workers or None,
        "allow_long": yes,
    }
    sizes = _sizes(players)
    with showing.progress_bar() as progress:
        if worst_case:
            rows: list[Any] = list(
                audit_worst_case(
                    eta=eta, delta=delta, players=sizes or PLAYERS, progress=progress, **measuring
                )
            )
        else:
            chosen = (
                hard_problems(epsilon)
                if hard
                else (reading.read_problem(problem, means, activity),)
            )
            cells = []
            for one in chosen:
                spec = reading.read_spec(
                    one.n_arms,
                    protocol=protocol,
                    algorithm=algorithm,
                    option=option,
                    quorum=quorum,
                    epsilon=epsilon,
                    eta=eta,
                    delta=delta,
                    phi=phi,
                    seat_after=seat_after,
                    absent=absent,
                )
                cells += [Cell(spec, one, n, protocol, horizon) for n in sizes or (64,)]
            for cell in cells:
                _ = cell.setting
            rows = [audit_correctness(cell, progress=progress, **measuring) for cell in cells]
    if json:
        showing.show_json({"rows": [row.to_dict() for row in rows], "precision": precision})
    else:
        show_correctness(rows, delta)


@app.command()
def privacy(
    protocol: options.Protocol = "decentralized",
    algorithm: options.Algorithm = "ser3",
    option: options.Options = None,
    means: options.Means = None,
    problem: options.ProblemName = None,
    activity: options.Activity = None,
    players: options.Players = 64,
    epsilon: options.Epsilon = 0.25,
    eta: options.Eta = 0.9,
    delta: options.Delta = 0.05,
    quorum: options.Quorum = "paper",
    phi: options.Phi = 0.0,
    horizon: options.Horizon = None,
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

    devote audit privacy --protocol jury --runs 4000 --json

    devote audit privacy --algorithm ser4 --phi 2e-5 --horizon 100000 --players 32

    devote audit privacy --figure privacy.svg
    """
    from devote.audit import audit_privacy
    from devote.cli import reading, showing
    from devote.cli.audit_view import show_privacy

    chosen = reading.read_problem(problem, means, activity)
    spec = reading.read_spec(
        chosen.n_arms,
        protocol=protocol,
        algorithm=algorithm,
        option=option,
        quorum=quorum,
        epsilon=epsilon,
        eta=eta,
        delta=delta,
        phi=phi,
    )
    if figure is not None:
        _draw(figure, runs, seed, workers, json)
        return
    with showing.progress_bar() as progress:
        leaks = audit_privacy(
            spec,
            chosen,
            players,
            protocol,
            horizon=horizon,
            runs=runs,
            seed=seed,
            workers=workers or None,
            progress=progress,
        )
    if json:
        showing.show_json({"eta": eta, "leaks": [leak.to_dict() for leak in leaks]})
    else:
        show_privacy(leaks, eta)


def _draw(figure: Path, runs: int, seed: int, workers: int, json: bool) -> None:
    from devote.cli.showing import console, progress_bar, show_json
    from devote.cli.writing import check_writable

    check_writable(figure, (".png", ".svg"))

    from devote.experiments.eta_buys.figure import draw_eta
    from devote.experiments.eta_buys.sweep import EtaSweep, sweep_eta

    data = figure.with_suffix(".json")
    with progress_bar() as progress:
        swept = sweep_eta(runs=runs, seed=seed, workers=workers or None, progress=progress)
    swept.save(data)
    pictures = draw_eta(EtaSweep.load(data), figure)
    if json:
        show_json({"pictures": [str(path) for path in pictures], "data": str(data)})
    else:
        console().print(f"Pictures: {', '.join(map(str, pictures))}\nData: {data}")


def _sizes(text: str | None) -> tuple[int, ...]:
    """A list of numbers of players, empty for none given."""
    if text is None:
        return ()
    try:
        return tuple(int(word) for word in text.split(","))
    except ValueError:
        raise ValueError(
            f"--players {text!r} is not a list of whole numbers.\nWrite 64, or 32,64,128."
        ) from None
