"""``devote plan``: what it will cost with your fleet."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from devote.cli import options
from devote.cli.errors import CommandError
from devote.cli.options import takes
from devote.guarantees.resets import Changes

DEFAULT_ARMS = 10


@options.scenario_options("engine", players=1000, epsilon=0.1, workers=0)
def plan(
    asked: options.ScenarioOptions,
    arms: Annotated[int | None, takes("K", "Number of options, if --means does not tell.")] = None,
    events_per_day: Annotated[
        float | None, takes("E", "Events of all devices together, to tell how long.")
    ] = None,
    switches: Annotated[
        int | None, takes("S", "ser4: expected changes of the best arm within --horizon.")
    ] = None,
    trials: Annotated[
        int | None, takes("T", "Trials to simulate (default: 20, in a sweep 5).", min=1)
    ] = None,
    seconds: Annotated[float, takes("S", "Most time for the simulation.", min=0.1)] = 5.0,
    sweep: Annotated[str | None, takes("AXIS", "Draw costs over eta, players or epsilon.")] = None,
    out: Annotated[
        Path | None, takes("FILE", "The sweep's picture, .png or .svg; data go beside it.")
    ] = None,
) -> None:
    """What it will cost with your fleet, before anything is deployed.

    Without --means and --problem it assumes that all arms are equal (an A/A test), which takes
    longest. For ser4 it recommends a phi, unless --option phi=P is given.

    Examples:
        devote plan --arms 10 --players 5000 --epsilon .1 --delta .05 --events-per-day 1e6
        devote plan --means .12,.10,.10 --players 2000 --epsilon .02 --activity zipf:1.1
        devote plan --scheme jury --set privacy=2 --set seats=61 --eta .1 --epsilon .25
        devote plan --arms 4 --players 500 --sweep eta --out eta.svg
        devote plan --algorithm ser4 --means .8,.4,.1 --epsilon .25 --switches 2 --horizon 1000000
    """
    from devote.cli.plan_view import show_plan, show_sweep
    from devote.cli.terminal import tell
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
        from devote.cli.output_file import draw_sweep
        from devote.studies.planning.figure import draw_plan
        from devote.studies.planning.sweep import sweep_plan

        scenario = Scenario(spec, problem, asked.players)
        how = {"trials": trials or 5, **asked.running}
        picture = out or Path(f"plan-{sweep}.png")
        swept, _, data = draw_sweep(picture, draw_plan, sweep_plan, scenario, sweep, **how)
        drawn = {"picture": str(picture), "data": str(data), **swept.to_dict()}
        return tell(drawn, asked.json, show_sweep)
    if out is not None:
        raise CommandError("--out is for the picture of a sweep.\nGive --sweep eta as well.")
    made = make_plan(
        spec,
        problem,
        asked.players,
        events_per_day=events_per_day,
        trials=trials or 20,
        seed=asked.seed,
        seconds=seconds,
        changes=changes,
    )
    return tell(made.to_dict(), asked.json, show_plan)


def _changes(asked: options.ScenarioOptions, switches: int | None) -> Changes | None:
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
    return Changes(switches, asked.horizon)
