"""What a specification takes in a fleet until there is an answer: many simulated runs of it.

A survey is simulated as a stream of answers and a jury by its jurors alone, which cost the same
for any number of devices; any other scheme, and what these two cannot do, with all its devices.
How many runs are made depends on how much work there is time for, counted in answers and plays,
not on the clock: the same question gives the same numbers on every machine.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from devote.plan.question import Floats, Question
from devote.problems import Problem, Uniform, optimal_arms
from devote.problems.rewards import BERNOULLI
from devote.protocol import ExperimentSpec
from devote.schemes import Jury, Survey
from devote.simulator.answers import simulate_answers
from devote.simulator.estimates import mean
from devote.simulator.jurors import simulate_jury
from devote.simulator.scenario import Scenario
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

FIRST = 4
"""A run that takes more than this part of the time is not followed to its end."""

FEWEST = 4
PILOT = 10
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

    def share(self, part: float, runs: int) -> "Effort":
        """A part of the seconds, for at most so many runs."""
        return Effort(min(runs, self.runs), part * self.seconds, self.seed)

    @property
    def work(self) -> float:
        """The same in answers or plays."""
        return self.seconds * PER_SECOND

    def affordable(self, pilot: NDArray[Any]) -> int:
        """How many runs there is time for, by what the first ones took."""
        return max(len(pilot), min(self.runs, int(self.work / max(1.0, float(pilot.mean())))))


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
            "takes": None if not self.runs or self.is_cut else spread_of(self.takes),
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
    spec: ExperimentSpec,
    problem: Problem,
    question: Question,
    effort: Effort,
    *,
    crowd: int = 0,
) -> Forecast | None:
    """Simulate a specification in the fleet of a question; None where that is not possible.

    ``crowd``: so many devices are asked before the first answer comes.
    """
    if why_not_simulated(spec, problem, question):
        return None
    if _is_stream(spec, problem):
        return _survey(spec, problem, question, effort, crowd)
    if _is_jurors(spec, problem):
        return _jury(spec, problem, question, effort)
    return _fleet(spec, problem, question, effort)


def why_not_simulated(spec: ExperimentSpec, problem: Problem, question: Question) -> str:
    """Why a specification cannot be simulated in the fleet of a question; empty if it can."""
    n = question.wish.n_players
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
    in_order = problem.replay is not None and problem.replay_order == "time"
    return bool(problem.switches or any(problem.drift or ()) or in_order)


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


def _survey(
    spec: ExperimentSpec, problem: Problem, question: Question, effort: Effort, crowd: int
) -> Forecast:
    """A stream of answers."""
    n, work = question.wish.n_players, effort.work
    means = tuple(problem.values(n, 0)) if problem.groups else problem.means
    each = spec.scheme.planning(spec).answers_each
    assert each is not None
    delay = LEAVES_AFTER * (spec.scheme.sending.reply_after or 0.0) / 86400.0
    under_way = min(n, round(delay * question.plays_a_day))
    answers, winner = np.zeros(0), np.zeros(0, dtype=np.int64)
    # What cannot be simulated to its end in the time is found by one run, then by a few.
    for most in (1, PILOT, effort.runs):
        pilot = replace(effort, runs=min(most, effort.runs))
        runs = pilot.affordable(answers) if len(answers) else 1
        made = simulate_answers(
            spec,
            means,
            runs=max(runs, min(FEWEST, pilot.runs)) - len(answers),
            first=len(answers),
            seed=effort.seed,
            most=math.ceil(4 * work if len(answers) else work / FIRST),
            crowd=crowd,
            lag=0 if crowd else under_way,
        )
        answers, winner = np.append(answers, made.answers), np.append(winner, made.winner)
        if is_cut := bool((winner == NEVER).any()):
            break
    ended = np.where(winner == NEVER, math.inf, answers)
    return Forecast(
        spec=spec,
        unit="answers",
        takes=answers[winner == NEVER] if is_cut else answers,
        days=question.days_for_answers(ended, each, problem) + delay,
        messages=None if is_cut else float(answers.mean()),
        wrong=_wrong(winner, means, spec.epsilon),
        devices=None if is_cut else math.ceil(enough(answers) / each),
        is_cut=is_cut,
        seed=effort.seed,
        under_way=under_way,
    )


def _jury(spec: ExperimentSpec, problem: Problem, question: Question, effort: Effort) -> Forecast:
    """Jurors alone."""
    n, seats = question.wish.n_players, spec.scheme.fewest_players(spec)
    longest = math.ceil(effort.work / (PILOT * seats))
    how: dict[str, Any] = {"seed": effort.seed, "longest": longest}
    found = [simulate_jury(spec, problem.means, n, runs=min(PILOT, effort.runs), **how)]
    is_cut = bool(found[0].cut.any())
    if not is_cut:
        first = len(found[0].plays)
        more = effort.affordable(found[0].plays * seats) - first
        found.append(simulate_jury(spec, problem.means, n, runs=more, first=first, **how))
    plays, winner, cut, messages = (
        np.concatenate([getattr(runs, name) for runs in found])
        for name in ("plays", "winner", "cut", "messages")
    )
    winner = np.where(cut, NEVER, winner)
    return _of_plays(spec, problem, question, effort, plays, winner, float(messages.mean()), is_cut)


def _fleet(spec: ExperimentSpec, problem: Problem, question: Question, effort: Effort) -> Forecast:
    """Every play of every device."""
    n = question.wish.n_players
    runs = run_within(Scenario(spec, problem, n), effort.runs, seed=effort.seed, pulls=effort.work)
    ends = [run.samples for run in runs]
    is_cut = runs[0].status == "unfinished" and ends[0] == NEVER
    winner = np.array(
        [
            NEVER if end == NEVER or len(run.winners) > 1 else run.winners[0]
            for run, end in zip(runs, ends, strict=True)
        ]
    )
    plays = (
        np.array(
            [max(end, 0) or run.samples_until_all_know for run, end in zip(runs, ends, strict=True)]
        )
        / n
    )
    messages = float(np.mean([run.broadcasts for run in runs]))
    return _of_plays(spec, problem, question, effort, plays, winner, messages, is_cut)


def _of_plays(
    spec: ExperimentSpec,
    problem: Problem,
    question: Question,
    effort: Effort,
    plays: Floats,
    winner: NDArray[np.int64],
    messages: float,
    is_cut: bool,
) -> Forecast:
    """The forecast of runs that took so many plays of each device; no winner: no answer."""
    rate = question.plays_per_day
    assert rate is not None
    is_decided = winner != NEVER
    takes = plays[~is_decided] if is_cut else plays[is_decided] if is_decided.any() else plays
    is_enough = is_decided.mean() >= DECIDES
    return Forecast(
        spec=spec,
        unit="plays",
        takes=takes,
        days=np.where(is_decided, plays / rate, math.inf),
        messages=None if is_cut else messages,
        wrong=_wrong(winner, problem.values(question.wish.n_players, 0), spec.epsilon),
        devices=spec.scheme.planning(spec).enough_players if is_enough else None,
        is_cut=is_cut,
        seed=effort.seed,
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


def _wrong(winner: NDArray[Any], means: Any, epsilon: float) -> int:
    """How many runs ended with an arm that is not epsilon-optimal."""
    good = optimal_arms(list(means), epsilon)
    return sum(arm != NEVER and arm not in good for arm in winner.tolist())


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
