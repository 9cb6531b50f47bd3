"""``devote plan``: what it will cost with your fleet."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from devote.cli import options
from devote.cli.errors import CommandError

if TYPE_CHECKING:
    from devote.guarantees.resets import Changes
    from devote.simulate import Scenario

DEFAULT_ARMS = 10

app = typer.Typer(rich_markup_mode="rich", add_completion=False)


@app.command()
@options.scenario_options(players=1000, epsilon=0.1)
def plan(
    asked: options.ScenarioOptions,
    arms: Annotated[
        int | None,
        typer.Option(metavar="K", help="Number of options; with --means it follows from them."),
    ] = None,
    events_per_day: Annotated[
        float | None,
        typer.Option(metavar="E", help="Events of all devices together, to tell how long."),
    ] = None,
    switches: Annotated[
        int | None,
        typer.Option(
            metavar="S", help="ser4: how often the best arm is expected to change within --horizon."
        ),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(min=1, metavar="T", help="Trials to simulate. [default: 20; in a sweep 5]"),
    ] = None,
    seconds: Annotated[
        float, typer.Option(min=0.1, metavar="S", help="Most time for the simulation.")
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

    Without --means and --problem it assumes that all arms are equal (an A/A test), which takes
    longest. For ser4 it recommends a phi, unless --option phi=P is given.

    [bold]Examples[/bold]

    devote plan --arms 10 --players 5000 --epsilon .1 --delta .05 --events-per-day 1e6

    devote plan --means .12,.10,.10 --players 2000 --epsilon .02 --activity zipf:1.1

    devote plan --scheme jury --set privacy=2 --set seats=61 --eta .1 --epsilon .25

    devote plan --arms 4 --players 500 --sweep eta --out eta.svg

    devote plan --algorithm ser4 --means .8,.4,.1,.1 --epsilon .25 --switches 2 --horizon 1000000
    """
    from devote.cli import plan_view, terminal
    from devote.guarantees.plan import default_problem, make_plan
    from devote.simulate import Scenario

    changes = _changes(asked, switches)
    if changes is not None:
        if sweep:
            raise CommandError("--sweep is for one term of ser4.\nUse --algorithm ser3.")
        if not any(word.startswith("phi") for word in asked.option or ()):
            # Without a phi a plan for ser4 is one for the terms of ser3, and recommends it.
            asked = replace(asked, algorithm="ser3")
    problem = asked.read_problem(assumed=default_problem(DEFAULT_ARMS if arms is None else arms))
    if arms not in (None, problem.n_arms):
        raise CommandError(f"--arms {arms} with {problem.n_arms} means.\nLeave --arms out.")
    spec = asked.read_spec(problem.n_arms)
    if sweep is not None:
        scenario = Scenario(spec, problem, asked.players)
        picture = out or Path(f"plan-{sweep}.png")
        _draw(scenario, sweep, picture, trials or 5, seed, workers, json)
        return
    if out is not None:
        raise CommandError("--out is for the picture of a sweep.\nGive --sweep eta as well.")
    made = make_plan(
        spec,
        problem,
        asked.players,
        events_per_day=events_per_day,
        trials=trials or 20,
        seed=seed,
        seconds=seconds,
        changes=changes,
    ).to_dict()
    if json:
        terminal.show_json(made)
    else:
        plan_view.show_plan(made)


def _changes(asked: options.ScenarioOptions, switches: int | None) -> "Changes | None":
    """What a plan for ser4 must know, and no other takes."""
    if asked.algorithm != "ser4":
        if switches is None and asked.horizon is None:
            return None
        raise CommandError(
            "--switches and --horizon are for resets.\nGive --algorithm ser4 as well."
        )
    if switches is None or asked.horizon is None:
        raise CommandError(
            "A plan for ser4 needs to know what changes.\n"
            "Give --switches, how often the best arm does, and --horizon, within how many events."
        )

    from devote.guarantees.resets import Changes

    return Changes(switches, asked.horizon)


def _draw(
    scenario: "Scenario",
    axis: str,
    picture: Path,
    trials: int,
    seed: int,
    workers: int,
    json: bool,
) -> None:
    from devote.cli.output_file import check_writable
    from devote.cli.plan_view import show_sweep
    from devote.cli.terminal import progress_bar, show_json

    data = picture.with_suffix(".json")
    check_writable(picture, (".png", ".svg"))
    check_writable(data)

    from devote.studies.planning.figure import draw_plan
    from devote.studies.planning.sweep import PlanSweep, sweep_plan

    with progress_bar() as progress:
        swept = sweep_plan(
            scenario,
            axis,
            trials=trials,
            seed=seed,
            workers=workers or None,
            progress=progress,
        )
    swept.save(data)
    draw_plan(PlanSweep.load(data), picture)
    if json:
        show_json({"picture": str(picture), "data": str(data), **swept.to_dict()})
    else:
        show_sweep(swept.to_dict(), picture, data)
