"""``devote plan``: which scheme for your fleet, and what it will cost."""

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from devote.cli import options
from devote.cli.errors import CommandError
from devote.cli.options import takes
from devote.problems import Problem
from devote.protocol.scheme import check

if TYPE_CHECKING:
    from devote.simulator import Scenario

DEFAULT_ARMS = 4
DEFAULT_PRIVACY = 1.0
DEFAULT_PLAYERS = 1000
PLAYS_PER_DAY = 10.0
VISITORS_PER_DAY = 50_000.0
MOST_DAYS = 365.0
RUNS = 400
TRIALS = 20


@options.scenario_options("engine", players=None, epsilon=0.005, workers=0, algorithm=None)
def plan(
    asked: options.ScenarioOptions,
    arms: Annotated[
        int | None, takes("K", "Number of options, if --means does not tell (default: 4).")
    ] = None,
    visitors_per_day: Annotated[
        float | None,
        takes("V", "New visitors a day, each of whom plays once (default: 50000)."),
    ] = None,
    plays_per_day: Annotated[
        float | None,
        takes("R", "In place of visitors: plays a day of each of --players devices (default: 10)."),
    ] = None,
    events_per_day: Annotated[
        float | None, takes("E", "In place of --plays-per-day: plays of all devices together.")
    ] = None,
    days: Annotated[
        float | None, takes("D", "The longest that you would wait (default: 365).")
    ] = None,
    privacy: Annotated[
        str | None,
        takes("E", "Privacy wanted: the e of local differential privacy, or none (default: 1)."),
    ] = None,
    liars: Annotated[
        int | None, takes("L", "Lying devices to tolerate, by proof (default: 0).", min=0)
    ] = None,
    switches: Annotated[
        int | None, takes("S", "ser4: expected changes of the best arm within --horizon.")
    ] = None,
    trials: Annotated[
        int | None,
        takes("T", "Most runs to simulate (default: 400, one scheme 20, a sweep 5).", min=1),
    ] = None,
    seconds: Annotated[
        float | None,
        takes("S", "About the most time for one forecast (default: 10, one scheme 5).", min=0.1),
    ] = None,
    sweep: Annotated[str | None, takes("AXIS", "Costs over eta, players or epsilon.")] = None,
    out: Annotated[
        Path | None, takes("FILE", "Draw the sweep: .png or .svg; its data go beside it.")
    ] = None,
) -> None:
    """Which scheme for your fleet, and what it will cost, before anything is deployed.

    Simulates all schemes and names the one to use: how many answers it takes, how many devices and
    days are enough, and what more privacy, more lying devices or a smaller epsilon would cost. If
    no scheme can do what you ask, it says so, and what you could ask instead. It plans for visitors
    who come once (--visitors-per-day), or for devices that play again and again (--players and
    --plays-per-day). Without --means it plans for a web shop with click rates near 5 %.

    With --scheme it tells more of that one. For ser4 it recommends a phi, unless --option phi=P is
    given.

    Examples:
        devote plan
        devote plan --visitors-per-day 20000 --means .05,.04,.03,.03 --epsilon .005 --privacy 2
        devote plan --visitors-per-day 20000 --privacy 4 --liars 100
        devote plan --players 500 --plays-per-day 20 --means .7,.5,.3 --epsilon .1 --privacy none
        devote plan --players 1000000 --plays-per-day 3 --means .6,.5,.5 --epsilon .05
        devote plan --scheme jury --set privacy=2 --set seats=61 --eta .1 --means .8,.4 --epsilon .2
        devote plan --scheme decentralized --means .7,.4 --players 500 --epsilon .2 --sweep eta
        devote plan --algorithm ser4 --means .8,.4,.1 --epsilon .25 --switches 2 --horizon 1000000
    """
    from devote.plan.plan import web_shop

    problem = asked.read_problem(assumed=web_shop(DEFAULT_ARMS if arms is None else arms))
    if arms not in (None, problem.n_arms):
        raise CommandError(f"--arms {arms} with {problem.n_arms} means.\nLeave --arms out.")
    if out is not None and sweep is None:
        raise CommandError("--out is for the picture of a sweep.\nGive --sweep eta as well.")
    has_resets = _check_resets(asked, switches)
    rates = _Rates(visitors_per_day, plays_per_day, events_per_day)
    if asked.scheme is None and sweep is None and not has_resets:
        rates.check(asked.players)
        return _compare(asked, problem, rates, days, privacy, liars, trials, seconds)
    for flag, value in (
        ("--privacy", privacy),
        ("--days", days),
        ("--liars", liars),
        ("--visitors-per-day", visitors_per_day),
    ):
        if value is not None:
            raise CommandError(
                f"{flag} is for a comparison of all schemes.\nLeave --scheme, --sweep and "
                "--algorithm ser4 out; or give the scheme's own: --set privacy=1, --set liars=5."
            )
    asked = replace(asked, players=DEFAULT_PLAYERS if asked.players is None else asked.players)
    events = rates.events_per_day
    if plays_per_day is not None:
        events = plays_per_day * asked.players
    return _one(asked, problem, events, switches, trials, seconds or 5.0, sweep, out)


@dataclass(frozen=True)
class _Rates:
    """Who plays how often, as it stands on the command line."""

    visitors: float | None
    plays_per_day: float | None
    events_per_day: float | None

    def check(self, players: int | None) -> None:
        """Refuse what does not go together."""
        if None not in (self.plays_per_day, self.events_per_day):
            raise CommandError(
                "--plays-per-day and --events-per-day say the same.\nGive one of them: the first "
                "is of each device, the second of all together."
            )
        plays = self.plays_per_day if self.events_per_day is None else self.events_per_day
        if None not in (self.visitors, plays):
            raise CommandError(
                "--visitors-per-day is for visitors who come once, --plays-per-day and "
                "--events-per-day are for devices that play again and again.\nGive one of them."
            )
        if plays is not None and players is None:
            raise CommandError(
                "--plays-per-day and --events-per-day are about a fixed fleet, and it is not said "
                "how many devices it has.\nGive --players as well."
            )

    def fleet(self, players: int | None, days: float) -> tuple[int, float | None, float | None]:
        """How many devices, how often each plays a day, or how many visitors come a day."""
        if players is not None and self.visitors is None:
            plays = PLAYS_PER_DAY if self.plays_per_day is None else self.plays_per_day
            if self.events_per_day is not None:
                plays = self.events_per_day / max(1, players)
            return players, plays, None
        visitors = VISITORS_PER_DAY if self.visitors is None else self.visitors
        for name, value in (("visitors_per_day", visitors), ("days", days)):
            check.positive(name, value, "It is a number of visitors, or of days to wait.")
        return math.ceil(visitors * days) if players is None else players, None, visitors


def _compare(
    asked: options.ScenarioOptions,
    problem: Problem,
    rates: _Rates,
    days: float | None,
    privacy: str | None,
    liars: int | None,
    trials: int | None,
    seconds: float | None,
) -> None:
    """All schemes side by side."""
    from devote.cli.compare_view import show_comparison
    from devote.cli.terminal import progress_bar, tell
    from devote.plan.compare import compare
    from devote.plan.promises import broken_assumption
    from devote.plan.question import Question
    from devote.protocol import Wish

    given = (("--set", asked.parameters), ("--option", asked.option), ("--eta", asked.eta))
    for flag, value in given:
        if value is not None:
            raise CommandError(
                f"{flag} is for one scheme, and without --scheme all are compared.\n"
                "Give --scheme as well, one of `devote schemes`."
            )
    wait = MOST_DAYS if days is None else days
    n_players, plays_per_day, visitors_per_day = rates.fleet(asked.players, wait)
    wish = Wish(
        n_players=n_players,
        n_arms=problem.n_arms,
        epsilon=asked.epsilon,
        delta=asked.delta,
        privacy=_read_privacy(privacy),
        liars=liars or 0,
        means=problem.means,
    )
    question = Question(
        wish if asked.algorithm is None else replace(wish, algorithm=asked.algorithm),
        plays_per_day,
        visitors_per_day,
        wait,
        broken_assumption(problem),
        bool(problem.groups),
    )
    with progress_bar() as progress:
        found = compare(
            question,
            problem,
            runs=trials or RUNS,
            seed=asked.seed,
            seconds=seconds or 10.0,
            progress=progress,
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
    switches: int | None,
    trials: int | None,
    seconds: float,
    sweep: str | None,
    out: Path | None,
) -> None:
    """One scheme in detail, or its costs over an axis."""
    from devote.cli.plan_view import show_plan, show_sweep
    from devote.cli.terminal import tell
    from devote.plan.plan import make_plan
    from devote.protocol.scheme import make_scheme
    from devote.simulator import Scenario

    if switches is not None:
        if sweep:
            raise CommandError("--sweep is for one term of ser4.\nUse --algorithm ser3.")
        if not any(word.startswith("phi") for word in asked.option or ()):
            # Without a phi a plan for ser4 is one for the terms of ser3, and recommends it.
            asked = replace(asked, algorithm="ser3")
    algorithm = asked.algorithm or make_scheme(asked.scheme).about.default_algorithm
    spec = replace(asked, algorithm=algorithm).read_spec(problem.n_arms)
    if sweep is not None:
        scenario = Scenario(spec, problem, asked.players)
        told = _sweep(scenario, sweep, out, {"trials": trials or 5, **asked.running})
        return tell(told, asked.json, show_sweep)
    made = make_plan(
        spec,
        problem,
        asked.players,
        events_per_day=events_per_day,
        trials=trials or TRIALS,
        seed=asked.seed,
        seconds=seconds,
        switches=switches,
        horizon=asked.horizon,
    )
    return tell(made.to_dict(), asked.json, show_plan)


def _sweep(
    scenario: "Scenario", axis: str, picture: Path | None, how: dict[str, Any]
) -> dict[str, Any]:
    """The costs over an axis; a picture, and its data beside it, only if asked for."""
    from devote.studies.sweeps import sweep_plan

    if picture is None:
        from devote.cli.terminal import progress_bar

        with progress_bar() as progress:
            swept = sweep_plan(scenario, axis, progress=progress, **how)
        return {"picture": None, "data": None, **swept.to_dict()}
    from devote.cli.output_file import draw_sweep
    from devote.studies.sweeps import draw_plan

    swept, _, data = draw_sweep(picture, draw_plan, sweep_plan, scenario, axis, **how)
    return {"picture": str(picture), "data": str(data), **swept.to_dict()}


def _check_resets(asked: options.ScenarioOptions, switches: int | None) -> bool:
    """Whether it is a plan for ser4, and what it must know was given, which no other plan takes."""
    if asked.algorithm != "ser4":
        if switches is None and asked.horizon is None:
            return False
        raise CommandError(
            "--switches and --horizon are for resets.\nGive --algorithm ser4 as well."
        )
    if switches is None or asked.horizon is None:
        raise CommandError(
            "A plan for ser4 needs to know what changes.\n"
            "Give --switches, how often the best arm does, and --horizon, within how many events."
        )
    return True
