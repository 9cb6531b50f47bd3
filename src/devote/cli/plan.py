"""``devote plan``: which scheme for your fleet, and what it will cost."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from devote.cli import options
from devote.cli.errors import CommandError
from devote.cli.options import takes
from devote.guarantees.resets import Changes
from devote.problems import Problem

if TYPE_CHECKING:
    from devote.simulate import Scenario

DEFAULT_ARMS = 10
DEFAULT_PRIVACY = 1.0
PLAYS_PER_DAY = 10.0
MOST_DAYS = 365.0


@options.scenario_options("engine", players=1000, epsilon=0.1, workers=0, algorithm=None)
def plan(
    asked: options.ScenarioOptions,
    arms: Annotated[int | None, takes("K", "Number of options, if --means does not tell.")] = None,
    privacy: Annotated[
        str | None,
        takes("E", "Privacy wanted: the e of local differential privacy, or none (default: 1)."),
    ] = None,
    plays_per_day: Annotated[
        float | None, takes("R", "Plays of each device and day (default: 10).")
    ] = None,
    days: Annotated[
        float | None, takes("D", "The longest that you would wait (default: 365).")
    ] = None,
    events_per_day: Annotated[
        float | None, takes("E", "In place of --plays-per-day: plays of all devices together.")
    ] = None,
    switches: Annotated[
        int | None, takes("S", "ser4: expected changes of the best arm within --horizon.")
    ] = None,
    trials: Annotated[
        int | None, takes("T", "Trials to simulate (default: 20, in a sweep 5).", min=1)
    ] = None,
    seconds: Annotated[float, takes("S", "Most time for each simulation.", min=0.1)] = 5.0,
    sweep: Annotated[str | None, takes("AXIS", "Costs over eta, players or epsilon.")] = None,
    out: Annotated[
        Path | None, takes("FILE", "Draw the sweep: .png or .svg; its data go beside it.")
    ] = None,
) -> None:
    """Which scheme for your fleet, and what it will cost, before anything is deployed.

    Compares all schemes and names the one to use. With --scheme it tells more of that one.
    Without --means and --problem it plans for the hardest problem: all arms equal, and nobody
    clicks. For ser4 it recommends a phi, unless --option phi=P is given.

    Examples:
        devote plan --players 100000 --arms 4 --epsilon .05 --privacy 1 --plays-per-day 3
        devote plan --players 1000000 --means .05,.04,.03,.03 --epsilon .005 --privacy 2
        devote plan --players 500 --arms 4 --epsilon .2 --privacy none
        devote plan --scheme jury --set privacy=2 --set seats=61 --eta .1 --epsilon .25
        devote plan --scheme decentralized --arms 4 --players 500 --sweep eta --out eta.svg
        devote plan --algorithm ser4 --means .8,.4,.1 --epsilon .25 --switches 2 --horizon 1000000
    """
    from devote.guarantees.plan import hardest_problem

    problem = asked.read_problem(assumed=hardest_problem(DEFAULT_ARMS if arms is None else arms))
    if arms not in (None, problem.n_arms):
        raise CommandError(f"--arms {arms} with {problem.n_arms} means.\nLeave --arms out.")
    if None not in (plays_per_day, events_per_day):
        raise CommandError(
            "--plays-per-day and --events-per-day say the same.\nGive one of them: the first is "
            "of each device, the second of all together."
        )
    if out is not None and sweep is None:
        raise CommandError("--out is for the picture of a sweep.\nGive --sweep eta as well.")
    changes = _changes(asked, switches)
    if asked.scheme is None and sweep is None and changes is None:
        if events_per_day is not None:
            plays_per_day = events_per_day / asked.players
        how = (PLAYS_PER_DAY if plays_per_day is None else plays_per_day, days or MOST_DAYS)
        return _compare(asked, problem, privacy, how, trials or 20, seconds)
    if privacy is not None or days is not None:
        raise CommandError(
            "--privacy and --days are for a comparison of all schemes.\n"
            "Leave --scheme out, or give the scheme's own: --set privacy=1."
        )
    if plays_per_day is not None:
        events_per_day = plays_per_day * asked.players
    return _one(asked, problem, events_per_day, changes, trials, seconds, sweep, out)


def _compare(
    asked: options.ScenarioOptions,
    problem: Problem,
    privacy: str | None,
    how: tuple[float, float],
    trials: int,
    seconds: float,
) -> None:
    """All schemes side by side."""
    from devote.cli.compare_view import show_comparison
    from devote.cli.terminal import progress_bar, tell
    from devote.guarantees.compare import compare
    from devote.guarantees.promises import broken_assumption
    from devote.guarantees.weigh import Question
    from devote.protocol.planning import Wish

    given = (("--set", asked.parameters), ("--option", asked.option), ("--eta", asked.eta))
    for flag, value in given:
        if value is not None:
            raise CommandError(
                f"{flag} is for one scheme, and without --scheme all are compared.\n"
                "Give --scheme as well, one of `devote schemes`."
            )
    assumed = asked.means is None and asked.problem is None
    wish = Wish(
        n_players=asked.players,
        n_arms=problem.n_arms,
        epsilon=asked.epsilon,
        delta=asked.delta,
        privacy=_read_privacy(privacy),
        means=None if assumed else tuple(problem.values(asked.players, 0)),
        **({} if asked.algorithm is None else {"algorithm": asked.algorithm}),
    )
    question = Question(wish, *how, broken=broken_assumption(problem))
    with progress_bar() as progress:
        found = compare(
            question, problem, trials=trials, seed=asked.seed, seconds=seconds, progress=progress
        )
    tell(found.to_dict(), asked.json, show_comparison)


def _read_privacy(text: str | None) -> float | None:
    if text is None:
        return DEFAULT_PRIVACY
    if text == "none":
        return None
    try:
        return float(text)
    except ValueError:
        raise CommandError(
            f"--privacy {text!r} is not a number.\n"
            "Give the e of local differential privacy, such as 1, or none."
        ) from None


def _one(
    asked: options.ScenarioOptions,
    problem: Problem,
    events_per_day: float | None,
    changes: Changes | None,
    trials: int | None,
    seconds: float,
    sweep: str | None,
    out: Path | None,
) -> None:
    """One scheme in detail, or its costs over an axis."""
    from devote.cli.plan_view import show_plan, show_sweep
    from devote.cli.terminal import tell
    from devote.guarantees.plan import make_plan
    from devote.simulate import Scenario

    if changes is not None:
        if sweep:
            raise CommandError("--sweep is for one term of ser4.\nUse --algorithm ser3.")
        if not any(word.startswith("phi") for word in asked.option or ()):
            # Without a phi a plan for ser4 is one for the terms of ser3, and recommends it.
            asked = replace(asked, algorithm="ser3")
    spec = replace(asked, algorithm=asked.algorithm or "ser3").read_spec(problem.n_arms)
    if sweep is not None:
        scenario = Scenario(spec, problem, asked.players)
        told = _sweep(scenario, sweep, out, {"trials": trials or 5, **asked.running})
        return tell(told, asked.json, show_sweep)
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


def _sweep(
    scenario: "Scenario", axis: str, picture: Path | None, how: dict[str, Any]
) -> dict[str, Any]:
    """The costs over an axis; a picture, and its data beside it, only if asked for."""
    from devote.studies.plan_sweep import sweep_plan

    if picture is None:
        from devote.cli.terminal import progress_bar

        with progress_bar() as progress:
            swept = sweep_plan(scenario, axis, progress=progress, **how)
        return {"picture": None, "data": None, **swept.to_dict()}
    from devote.cli.output_file import draw_sweep
    from devote.studies.plan_sweep import draw_plan

    swept, _, data = draw_sweep(picture, draw_plan, sweep_plan, scenario, axis, **how)
    return {"picture": str(picture), "data": str(data), **swept.to_dict()}


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
