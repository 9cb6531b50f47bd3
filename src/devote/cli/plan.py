"""``devote plan``: what it will cost with your fleet."""

from pathlib import Path
from typing import Annotated

import typer

from devote.cli import options

app = typer.Typer(rich_markup_mode="rich", add_completion=False)


@app.command()
def plan(
    arms: Annotated[
        int | None,
        typer.Option(metavar="K", help="Number of options; with --means it follows from them."),
    ] = None,
    players: options.Players = 1000,
    epsilon: options.Epsilon = 0.1,
    delta: options.Delta = 0.05,
    eta: options.Eta = 0.9,
    means: options.Means = None,
    activity: options.Activity = None,
    events_per_day: Annotated[
        float | None,
        typer.Option(metavar="E", help="Events of all devices together, to tell how long."),
    ] = None,
    protocol: options.Protocol = "decentralized",
    algorithm: options.Algorithm = "ser3",
    option: options.Options = None,
    quorum: options.Quorum = "paper",
    seat_after: options.SeatAfter = 50,
    absent: options.Absent = 0,
    phi: Annotated[
        float,
        typer.Option(
            metavar="P",
            show_default=False,
            help="ser4: probability of a reset after each pull; the recommended one if left out.",
        ),
    ] = 0.0,
    switches: Annotated[
        int | None,
        typer.Option(metavar="S", help="ser4: how often the best arm is expected to change."),
    ] = None,
    horizon: Annotated[
        int | None,
        typer.Option(metavar="T", help="ser4: within how many events of all devices it does."),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(min=1, metavar="T", help="Trials to simulate. [default: 20; in a sweep 5]"),
    ] = None,
    seconds: Annotated[
        float, typer.Option(min=0.1, metavar="S", help="Most time for the quick simulation.")
    ] = 5.0,
    sweep: Annotated[
        str | None,
        typer.Option(metavar="AXIS", help="Draw costs against eta, players or epsilon instead."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The sweep's picture, .png or .svg; data go beside it."),
    ] = None,
    workers: options.Workers = 0,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """What it will cost with your fleet, before anything is deployed.

    Without --means it assumes that all arms are equal (an A/A test), which takes longest.

    [bold]Examples[/bold]

    devote plan --arms 10 --players 5000 --epsilon .1 --delta .05 --events-per-day 1e6

    devote plan --means .12,.10,.10 --players 2000 --epsilon .02 --activity zipf:1.1

    devote plan --arms 4 --players 500 --sweep eta --out eta.svg

    devote plan --algorithm ser4 --means .8,.4,.1,.1 --epsilon .25 --switches 2 --horizon 1000000
    """
    from devote.cli import plan_view, reading, showing

    changes = reading.read_changes(algorithm, switches, horizon)
    if changes and sweep:
        raise ValueError("--sweep is for one term of ser4.\nUse --algorithm ser3.")
    spec = reading.read_spec(
        reading.read_arms(arms, means),
        protocol=protocol,
        # Without a phi a plan for ser4 is one for the terms of ser3, and recommends it.
        algorithm="ser3" if changes and not phi else algorithm,
        option=option,
        quorum=quorum,
        epsilon=epsilon,
        eta=eta,
        delta=delta,
        phi=phi,
        seat_after=seat_after,
        absent=absent,
    )
    problem = reading.read_fleet(spec, means, activity)
    if sweep is None:
        if out is not None:
            raise ValueError("--out is for the picture of a sweep.\nGive --sweep eta as well.")

        from devote.simulate.plan import make_plan

        made = make_plan(
            spec,
            problem,
            players,
            protocol=protocol,
            events_per_day=events_per_day,
            trials=trials or 20,
            seed=seed,
            seconds=seconds,
            changes=changes,
        ).to_dict()
        if json:
            showing.show_json(made)
        else:
            plan_view.show_plan(made)
        return

    from devote.cli.writing import check_writable

    picture = out or Path(f"plan-{sweep}.png")
    data = picture.with_suffix(".json")
    check_writable(picture, (".png", ".svg"))
    check_writable(data)

    from devote.experiments.planning.figure import draw_plan
    from devote.experiments.planning.sweep import PlanSweep, sweep_plan
    from devote.simulate.cell import Cell

    with showing.progress_bar() as progress:
        swept = sweep_plan(
            Cell(spec, problem, players, protocol),
            sweep,
            trials=trials or 5,
            seed=seed,
            workers=workers or None,
            progress=progress,
        )
    swept.save(data)
    draw_plan(PlanSweep.load(data), picture)
    if json:
        showing.show_json({"picture": str(picture), "data": str(data), **swept.to_dict()})
    else:
        plan_view.show_sweep(swept.to_dict(), picture, data)
