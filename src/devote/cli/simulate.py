"""``devote simulate``: trials of one setting."""

from pathlib import Path
from typing import Annotated

import typer

from devote.cli import options

app = typer.Typer(rich_markup_mode="rich", add_completion=False)


@app.command()
def simulate(
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
    seat_after: options.SeatAfter = 50,
    absent: options.Absent = 0,
    phi: options.Phi = 0.0,
    horizon: options.Horizon = None,
    trials: Annotated[int, typer.Option(min=1, metavar="T", help="Number of trials.")] = 20,
    seed: options.Seed = 0,
    workers: options.Workers = 1,
    save: Annotated[
        Path | None,
        typer.Option(metavar="FILE.npz", help="Keep every trial, for devote.simulate.Result.load."),
    ] = None,
    json: options.Json = False,
) -> None:
    """Run trials of one setting: samples, messages, who won.

    Without --means and --problem it runs the paper's problem 1.

    [bold]Examples[/bold]

    devote simulate --problem 1 --players 64

    devote simulate --means .7,.5,.3 --activity zipf:1.1 --players 500 --json

    devote simulate --problem 4 --algorithm ser4 --phi .0001 --horizon 180000

    devote simulate --problem 3 --option radius=active --protocol isolated
    """
    from devote.cli.reading import read_problem, read_spec
    from devote.cli.showing import progress_bar, show_json
    from devote.cli.simulate_view import show_summary
    from devote.cli.writing import check_writable

    chosen = read_problem(problem, means, activity)
    spec = read_spec(
        chosen.n_arms,
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
    if save is not None:
        check_writable(save)

    from devote.simulate.cell import Cell
    from devote.simulate.summary import run_timed, summarise

    cell = Cell(spec, chosen, players, protocol, horizon)
    with progress_bar() as progress:
        result, seconds = run_timed(
            cell, trials=trials, seed=seed, workers=workers or None, progress=progress
        )
    if save is not None:
        result.save(save)
    if not cell.setting.algorithm.endless and set(result.status) == {"unfinished"}:
        seats = ", lower --seat-after" if cell.setting.protocol.seats else ""
        raise ValueError(
            f"0 of {trials} trials ended within --horizon {horizon} pulls.\n"
            f"Raise --horizon{seats}, or leave --horizon out to run to the end."
        )
    summary = summarise(result, wall_seconds=seconds)
    if json:
        show_json(summary)
    else:
        show_summary(summary)
