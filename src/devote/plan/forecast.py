"""What a specification takes in a fleet until there is an answer: many simulated runs of it.

A survey is simulated as a stream of answers and a jury by its jurors alone, which cost the same
for any number of devices; any other scheme, and what these two cannot do, with all its devices.
How many runs are made depends on how much work there is time for, counted in answers and plays,
not on the clock: the same question gives the same numbers on every machine.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from devote.plan.question import Floats, Question
from devote.problems import Problem, Uniform, optimal_arms
from devote.problems.rewards import BERNOULLI
from devote.protocol import ExperimentSpec
from devote.schemes import Jury, Survey
from devote.simulator.answers import simulate_answers
from devote.simulator.jurors import simulate_jury
from devote.simulator.scenario import Scenario
from devote.simulator.summary import mean
from devote.simulator.trial import NEVER, Trial
from devote.simulator.trials import run_chunk, run_trial
from devote.theory import binomial_tail

DECIDES = 0.95
"""A plan is good if this share of its runs comes to an answer in time."""

SURE = 0.99
"""How sure it is that the devices named are enough for that share."""

PER_SECOND = 10_000_000
"""Answers, or plays, that a second is taken to simulate."""

SLOW = 50
"""A play without a compiled loop counts as so many."""

FEWEST, PILOT = 4, 10
"""Runs, at least and at most, after which it is decided how many there is time for."""

MOST_PLAYERS = 1_000_000
"""The largest fleet that is simulated with all its devices."""

LEAVES_AFTER = 1.15
"""An answer leaves so many times ``reply_after`` after its arm was drawn, on average."""

UNITS = {"answers": "answers", "plays": "plays of each device"}


@dataclass(frozen=True)
class Effort:
    """How much to simulate: at most ``runs`` of them, for about ``seconds``, from this ``seed``."""

    runs: int = 400
    seconds: float = 10.0
    seed: int = 0

    def less(self, runs: int) -> "Effort":
        """A fifth of the seconds, for at most so many runs."""
        return Effort(min(runs, self.runs), 0.2 * self.seconds, self.seed)

    @property
    def work(self) -> float:
        """The seconds in answers or plays."""
        return self.seconds * PER_SECOND


class _Runs(NamedTuple):
    """What each run took, the arm that won or NEVER, its messages, and whether it was given up."""

    takes: NDArray[Any]
    winner: NDArray[Any]
    messages: NDArray[Any]
    cut: NDArray[Any]


@dataclass(frozen=True, eq=False)
class Forecast:
    """Simulated runs of one specification.

    ``takes`` has what runs took until there was an answer, in ``unit``: the answers of all devices,
    or the plays of each device. ``days`` says of each run when that was, infinite where there was
    none in this fleet, ``wrong`` how many runs ended with an arm that is not epsilon-optimal.
    ``devices`` are enough for 95 % of runs to end with an answer, None if that is not known.
    ``is_cut``: time ran out, and ``takes`` has what runs take at least. So many answers are
    ``under_way`` at any time, because one leaves some time after its arm was drawn.
    """

    spec: ExperimentSpec
    unit: str
    takes: Floats
    days: Floats
    messages: float | None
    wrong: int
    devices: int | None
    is_cut: bool
    seed: int
    under_way: int = 0

    @property
    def runs(self) -> int:
        """How many runs were simulated."""
        return len(self.days)

    @property
    def decided(self) -> int:
        """How many of them came to an answer in this fleet."""
        return int(np.isfinite(self.days).sum())

    @property
    def is_enough(self) -> bool:
        """Whether 95 % of the runs came to an answer."""
        return not self.is_cut and self.decided >= DECIDES * self.runs

    @property
    def days_needed(self) -> float:
        """Within so many days 95 % of the runs came to an answer; infinite if fewer ever did."""
        return math.inf if self.is_cut else percentile(self.days, DECIDES)

    def why_not(self, question: Question) -> list[str]:
        """Why this is not what is asked; empty if it is."""
        if self.is_cut:
            least = float(self.takes.min())
            return [
                f"it takes more than {least:,.0f} {UNITS[self.unit]}, which is as long as there "
                "was time to simulate"
            ]
        if not self.is_enough:
            runs = f"{self.decided} of {self.runs} simulated runs come to an answer"
            if self.devices is None:
                return [runs]
            return [f"{runs}: {self.devices:,} devices would be needed so that 95 % do"]
        if self.days_needed > question.days:
            days, most = self.days_needed, question.days
            return [f"it takes up to {days:,.0f} days (95 % of runs), and you would wait {most:g}"]
        return []

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "unit": self.unit,
            "takes": None if self.is_cut else spread_of(self.takes),
            "takes_at_least": float(self.takes.min()) if self.is_cut else None,
            "days": None if self.is_cut else spread_of(self.days),
            "messages": self.messages,
            "devices_needed": self.devices,
            "simulated_runs": self.runs,
            "decided_runs": self.decided,
            "wrong_runs": self.wrong,
            "answers_under_way": self.under_way,
            "seed": self.seed,
        }


def forecast(
    spec: ExperimentSpec, question: Question, effort: Effort, *, crowd: int = 0
) -> Forecast | None:
    """Simulate a specification in the fleet of a question; None where that is not possible.

    ``crowd``: so many devices are asked before the first answer comes.
    """
    if why_not_simulated(spec, question):
        return None
    problem, n, planning = question.problem, question.wish.n_players, spec.scheme.planning(spec)
    is_stream, under_way = _is_stream(spec, problem), 0
    if is_stream:
        delay = LEAVES_AFTER * (spec.scheme.sending.reply_after or 0.0) / 86400.0
        under_way = min(n, round(delay * question.plays_a_day))
        found = _simulate_answers(spec, question, effort, crowd, under_way)
    elif _is_jurors(spec, problem):
        found = _simulate_jurors(spec, question, effort)
    else:
        found = _simulate_fleet(spec, question, effort)
    is_cut, decided = bool(found.cut.any()), found.winner != NEVER
    ended = np.where(decided, found.takes, math.inf)
    if is_stream:
        each = planning.answers_each or 1
        days = question.days_for_answers(ended, each) + delay
        devices = None if is_cut else math.ceil(enough(found.takes) / each)
    else:
        assert question.plays_per_day is not None
        days = ended / question.plays_per_day
        devices = planning.enough_players if decided.mean() >= DECIDES else None
    shown = found.cut if is_cut else decided if decided.any() else ~decided
    good = optimal_arms(list(problem.values(n, 0)), spec.epsilon)
    return Forecast(
        spec=spec,
        unit="answers" if is_stream else "plays",
        takes=found.takes[shown],
        days=days,
        messages=None if is_cut else float(found.messages.mean()),
        wrong=sum(arm not in good for arm in found.winner[decided].tolist()),
        devices=devices,
        is_cut=is_cut,
        seed=effort.seed,
        under_way=under_way,
    )


def why_not_simulated(spec: ExperimentSpec, question: Question) -> str:
    """Why a specification cannot be simulated in the fleet of a question; empty if it can."""
    n, problem = question.wish.n_players, question.problem
    if _is_stream(spec, problem):
        return ""
    if question.visitors_per_day is not None:
        return "visitors who come once are simulated only where rewards do not change"
    if n < spec.scheme.fewest_players(spec):
        return "there are too few devices"
    if n > MOST_PLAYERS and not _is_jurors(spec, problem):
        return f"more than {MOST_PLAYERS:,} devices are too many to simulate"
    return ""


def _changes(problem: Problem) -> bool:
    """Whether rewards may change with time."""
    return bool(problem.switches or any(problem.drift or ()) or problem.replay)


def _is_stream(spec: ExperimentSpec, problem: Problem) -> bool:
    """Whether it is a survey in which all answers about an arm are alike, whoever gives them."""
    survey = spec.scheme
    alike = isinstance(survey, Survey) and (survey.answers == 1 or not problem.groups)
    return alike and not _changes(problem)


def _is_jurors(spec: ExperimentSpec, problem: Problem) -> bool:
    """Whether it is a jury of devices that wake equally often and are paid what becomes bits."""
    is_bits = problem.kind == BERNOULLI or spec.algorithm == "betting"
    is_even = isinstance(problem.activity, Uniform) and not problem.groups
    return isinstance(spec.scheme, Jury) and is_bits and is_even and not _changes(problem)


def _simulate_answers(
    spec: ExperimentSpec, question: Question, effort: Effort, crowd: int, under_way: int
) -> _Runs:
    """A survey as a stream of answers."""
    problem, n = question.problem, question.wish.n_players
    means = tuple(problem.values(n, 0)) if problem.groups else problem.means
    lag = 0 if crowd else under_way

    def simulate(first: int, runs: int, most: int) -> _Runs:
        how: dict[str, Any] = {"seed": effort.seed, "most": most, "crowd": crowd, "lag": lag}
        made = simulate_answers(spec, means, runs=runs, first=first, **how)
        return _Runs(made.answers, made.winner, made.answers, ~made.decided)

    return _within(simulate, effort, 1)


def _simulate_jurors(spec: ExperimentSpec, question: Question, effort: Effort) -> _Runs:
    """A jury by its jurors alone, in plays of each device; it can also end without a verdict."""
    seats = spec.scheme.fewest_players(spec)
    means, n = question.problem.means, question.wish.n_players

    def simulate(first: int, runs: int, most: int) -> _Runs:
        how: dict[str, Any] = {"seed": effort.seed, "longest": math.ceil(most / seats)}
        made = simulate_jury(spec, means, n, runs=runs, first=first, **how)
        winner = np.where(made.cut, NEVER, made.winner)
        return _Runs(made.plays, winner, made.messages, made.cut)

    return _within(simulate, effort, seats)


def _within(simulate: Callable[[int, int, int], _Runs], effort: Effort, weight: int) -> _Runs:
    """One run, then a few, then as many as there is time for by what those took.

    ``simulate(first, runs, most)`` gives up a run after ``most`` answers or plays, which ends this;
    ``weight`` is the work of one unit of what a run takes.
    """
    found = simulate(0, 1, math.ceil(effort.work / FEWEST))
    for most in (min(PILOT, effort.runs), effort.runs):
        if found.cut.any():
            break
        n = len(found.takes)
        affordable = int(effort.work / max(1.0, weight * float(found.takes.mean())))
        more = max(min(most, affordable), min(FEWEST, most)) - n
        if more > 0:
            made = simulate(n, more, math.ceil(4 * effort.work))
            found = _Runs(*(np.append(*both) for both in zip(found, made, strict=True)))
    return found


def _simulate_fleet(spec: ExperimentSpec, question: Question, effort: Effort) -> _Runs:
    """Every play of every device."""
    n = question.wish.n_players
    scenario = Scenario(spec, question.problem, n)
    runs = run_within(scenario, effort.runs, seed=effort.seed, pulls=effort.work)
    has_one = [run.samples != NEVER and len(run.winners) == 1 for run in runs]
    return _Runs(
        np.array([max(run.samples, 0) or run.samples_until_all_know for run in runs]) / n,
        np.array([r.winners[0] if one else NEVER for r, one in zip(runs, has_one, strict=True)]),
        np.array([run.broadcasts for run in runs]),
        np.array([run.status == "unfinished" and run.samples == NEVER for run in runs]),
    )


def run_within(
    scenario: Scenario, trials: int, *, seed: int, pulls: float, record: bool = False
) -> list[Trial]:
    """Up to so many trials, the same as in ``simulate``, with about so many pulls in all.

    The first is cut off there, and is then ``unfinished``; more are run as there is time for.
    """
    if scenario.part is None:
        pulls /= SLOW
    capped = replace(scenario, horizon=math.ceil(pulls))
    first = run_trial(capped, seed=seed, trial=0, record=record)
    runs = min(trials, int(pulls / first.samples_until_all_know))
    if first.status == "unfinished" or runs < 2:
        return [first]
    return [first, *run_chunk(scenario, range(1, runs), seed, record=record, threads=None)]


def spread_of(values: Floats) -> dict[str, float | None]:
    """The mean with its 95 % interval, the median and the 95th percentile of runs.

    Runs without an answer are infinite: they count in the percentiles, which are None where they
    are infinite, and not in the mean.

    >>> spread_of(np.array([1.0, 2.0, 3.0, np.inf]))["median"]
    2.0
    """
    finite = values[np.isfinite(values)]
    found: dict[str, float | None] = dict.fromkeys(("mean", "low", "high"))
    if len(finite):
        found = dict.fromkeys(found, float(finite.mean()))
    if len(finite) > 1:
        estimate = mean(finite)
        found = {"mean": estimate.value, "low": estimate.low, "high": estimate.high}
    for name, share in (("median", 0.5), ("p95", DECIDES)):
        value = percentile(values, share)
        found[name] = value if math.isfinite(value) else None
    return found


def percentile(values: Floats, share: float) -> float:
    """The lowest value that at least this share of all values does not exceed."""
    return float(np.sort(values)[math.ceil(share * len(values)) - 1]) if len(values) else math.inf


def enough(values: Floats) -> float:
    """What ``DECIDES`` of all runs do not exceed, with confidence ``SURE``: a value on that side.

    It is one of the values, in order; with too few of them the largest, or three standard
    deviations above the mean.

    >>> float(enough(np.arange(1.0, 401.0)))
    390.0
    """
    n, ordered = len(values), np.sort(values)
    for k in range(math.ceil(DECIDES * n), n + 1):
        if binomial_tail(k, n, probability=DECIDES) <= 1.0 - SURE:
            return float(ordered[k - 1])
    spread = float(values.std(ddof=1)) if n > 1 else float(values.mean())
    return max(float(ordered[-1]), float(values.mean()) + 3.0 * spread)
