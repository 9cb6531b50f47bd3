"""What a specification takes in a fleet until there is an answer: many simulated runs of it.

A survey is simulated as a stream of answers and a jury by its jurors alone, which cost the same
for any number of devices; any other scheme, and what these two cannot do, with all its devices.
How many runs are made depends on how much work there is time for, counted in answers and plays,
not on the clock: the same question gives the same numbers on every machine.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from devote.plan.cost import estimate_cost
from devote.plan.question import Question
from devote.plan.spread import DECIDES, Floats, enough, percentile, spread_of
from devote.problems import Problem, Uniform, optimal_arms
from devote.problems.rewards import BERNOULLI
from devote.protocol import ExperimentSpec
from devote.schemes import Jury, Survey
from devote.simulator.answers import AnswerRuns, simulate_answers
from devote.simulator.jurors import JuryRuns, simulate_jury
from devote.simulator.parts import PARTS
from devote.simulator.scenario import Scenario
from devote.simulator.trial import NEVER

PER_SECOND = 10_000_000
"""Answers, or plays of a lone juror, that a second is taken to simulate."""

FIRST = 4
"""A run that takes more than this part of the time is not followed to its end."""

FEWEST = 4
PILOT = 10
"""Runs, at least and at most, after which it is decided how many there is time for."""

HOPELESS = 0.75
"""Where so few runs of the pilot come to an answer, no more are made."""

MOST_PLAYERS = 1_000_000
"""The largest fleet that is simulated with all its devices."""

LEAVES_AFTER = 1.15
"""An answer leaves so many times ``reply_after`` after its arm was drawn, on average."""

UNITS = {"answers": "answers", "plays": "plays of each device"}

Report: TypeAlias = Callable[[int], None]


@dataclass(frozen=True)
class Effort:
    """How much to simulate: at most ``runs`` of them, for about ``seconds``, from this ``seed``."""

    runs: int = 400
    seconds: float = 10.0
    seed: int = 0

    def share(self, part: float, runs: int) -> "Effort":
        """A part of the seconds, for at most so many runs."""
        return Effort(min(runs, self.runs), part * self.seconds, self.seed)


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
    is_capped: bool = False,
    crowd: int = 0,
    report: Report | None = None,
) -> Forecast | None:
    """Simulate a specification in the fleet of a question; None where that is not possible.

    ``is_capped``: a run that needs more than the fleet has, or more days than one would wait, is
    not followed to its end. ``crowd``: so many devices are asked before the first answer comes.
    """
    if why_not_simulated(spec, problem, question):
        return None
    scheme = spec.scheme
    if isinstance(scheme, Survey) and _is_stream(scheme, problem):
        means = problem.values(question.wish.n_players, 0) if problem.groups else problem.means
        return _survey(spec, tuple(means), problem, question, effort, is_capped, crowd)
    if isinstance(scheme, Jury) and _is_even(spec, problem):
        return _jury(spec, problem, question, effort, is_capped)
    return _fleet(spec, problem, question, effort, report)


def why_not_simulated(spec: ExperimentSpec, problem: Problem, question: Question) -> str:
    """Why a specification cannot be simulated in the fleet of a question; empty if it can."""
    scheme, n = spec.scheme, question.wish.n_players
    if isinstance(scheme, Survey) and _is_stream(scheme, problem):
        return ""
    if question.visitors_per_day is not None:
        return "visitors who come once are simulated only where rewards do not change"
    if n < scheme.fewest_players(spec):
        return "there are too few devices"
    if n > MOST_PLAYERS and not (isinstance(scheme, Jury) and _is_even(spec, problem)):
        return f"more than {MOST_PLAYERS:,} devices are too many to simulate"
    return ""


def _changes(problem: Problem) -> bool:
    """Whether rewards may change with time."""
    in_order = problem.replay is not None and problem.replay_order == "time"
    return bool(problem.switches or any(problem.drift or ()) or in_order)


def _is_stream(survey: Survey, problem: Problem) -> bool:
    """Whether all answers about an arm are alike, whoever gives them."""
    return not _changes(problem) and (survey.answers == 1 or not problem.groups)


def _is_even(spec: ExperimentSpec, problem: Problem) -> bool:
    """Whether all wake equally often, and are paid bits, or what becomes bits."""
    is_bits = problem.kind == BERNOULLI or spec.algorithm == "betting"
    is_even = isinstance(problem.activity, Uniform) and not problem.groups
    return is_bits and is_even and not _changes(problem)


def _survey(
    spec: ExperimentSpec,
    means: tuple[float, ...],
    problem: Problem,
    question: Question,
    effort: Effort,
    is_capped: bool,
    crowd: int,
) -> Forecast:
    """A stream of answers."""
    each = spec.scheme.planning(spec).answers_each
    assert each is not None
    there = question.wish.n_players * each
    work = effort.seconds * PER_SECOND
    delay = LEAVES_AFTER * (spec.scheme.sending.reply_after or 0.0) / 86400.0
    under_way = min(question.wish.n_players, round(delay * question.plays_a_day))

    def some(first: int, runs: int, most: float) -> AnswerRuns:
        return simulate_answers(
            spec,
            means,
            runs=runs,
            first=first,
            seed=effort.seed,
            most=min(there + 1, math.ceil(4 * work)) if is_capped else math.ceil(most),
            crowd=crowd,
            lag=0 if crowd else under_way,
        )

    # What cannot be simulated to its end in the time is found by one run.
    found = [some(0, 1, work / FIRST)]
    is_cut = not is_capped and not found[0].decided.all()
    if not is_cut:
        few = max(FEWEST, _affordable(found[0].answers, work, min(PILOT, effort.runs)))
        found.append(some(1, min(few, effort.runs) - 1, 4 * work))
        pilot = np.concatenate([runs.answers for runs in found])
        share = float(np.concatenate([runs.decided for runs in found]).mean())
        is_cut = not is_capped and share < 1.0
        if not is_cut and share > HOPELESS:
            total = _affordable(pilot, work, effort.runs)
            found.append(some(len(pilot), total - len(pilot), 4 * work))
    answers = np.concatenate([runs.answers for runs in found]).astype(np.float64)
    winner = np.concatenate([runs.winner for runs in found])
    takes = np.where(winner == NEVER, math.inf, answers) if is_capped or is_cut else answers
    return Forecast(
        spec=spec,
        unit="answers",
        takes=answers[winner == NEVER] if is_cut else takes,
        days=np.array([question.days_for_answers(x, each, problem) + delay for x in takes]),
        messages=None if is_cut else float(answers.mean()),
        wrong=_wrong(winner, means, spec.epsilon),
        devices=None if is_cut or is_capped else math.ceil(enough(answers) / each),
        is_cut=is_cut,
        seed=effort.seed,
        under_way=under_way,
    )


def _jury(
    spec: ExperimentSpec, problem: Problem, question: Question, effort: Effort, is_capped: bool
) -> Forecast:
    """Jurors alone."""
    n, rate = question.wish.n_players, question.plays_per_day
    assert rate is not None
    seats = spec.scheme.fewest_players(spec)
    work = effort.seconds * PER_SECOND
    longest = math.ceil(work / (PILOT * seats))
    if is_capped:
        longest = min(longest, math.ceil(2.0 * rate * question.days) + 100)

    def some(first: int, runs: int) -> JuryRuns:
        return simulate_jury(
            spec, problem.means, n, runs=runs, first=first, seed=effort.seed, longest=longest
        )

    found = [some(0, min(PILOT, effort.runs))]
    is_cut = bool(found[0].cut.any())
    if not is_cut:
        total = _affordable(found[0].plays * seats, work, effort.runs)
        first = len(found[0].plays)
        found.append(some(first, total - first))
    plays = np.concatenate([runs.plays for runs in found])
    winner = np.concatenate([runs.winner for runs in found])
    cut = np.concatenate([runs.cut for runs in found])
    is_decided = (winner != NEVER) & ~cut
    return Forecast(
        spec=spec,
        unit="plays",
        takes=plays[cut] if is_cut else plays[is_decided] if is_decided.any() else plays,
        days=np.where(is_decided, plays / rate, math.inf),
        messages=float(np.concatenate([runs.messages for runs in found]).mean()),
        wrong=_wrong(winner[is_decided], problem.means, spec.epsilon),
        devices=spec.scheme.planning(spec).enough_players if is_decided.mean() >= DECIDES else None,
        is_cut=is_cut,
        seed=effort.seed,
    )


def _fleet(
    spec: ExperimentSpec,
    problem: Problem,
    question: Question,
    effort: Effort,
    report: Report | None,
) -> Forecast:
    """Every play of every device."""
    n, rate = question.wish.n_players, question.plays_per_day
    assert rate is not None
    slow = None if spec.scheme.name in PARTS else 100_000
    cost = estimate_cost(
        Scenario(spec, problem, n, slow),
        trials=effort.runs,
        seed=effort.seed,
        seconds=math.inf,
        pulls=effort.seconds * PER_SECOND,
        to_the_end=False,
        progress=report,
    )
    runs = cost.runs
    is_decided = np.array([r.samples != NEVER and len(r.winners) == 1 for r in runs])
    samples = np.array(
        [max(r.samples, 0) or r.samples_until_all_know for r in runs], dtype=np.float64
    )
    winner = np.array([r.winners[0] for r in runs])
    values = problem.values(n, 0)
    return Forecast(
        spec=spec,
        unit="plays",
        takes=(samples[is_decided] if is_decided.any() else samples) / n,
        days=np.where(is_decided, samples / (n * rate), math.inf),
        messages=None if cost.cut_off else float(np.mean([r.broadcasts for r in runs])),
        wrong=_wrong(winner[is_decided], values, spec.epsilon),
        devices=spec.scheme.planning(spec).enough_players if is_decided.mean() >= DECIDES else None,
        is_cut=cost.cut_off,
        seed=effort.seed,
    )


def _affordable(pilot: NDArray[Any], work: float, runs: int) -> int:
    """How many runs there is time for, by what the first ones took."""
    return max(len(pilot), min(runs, int(work / max(1.0, float(pilot.mean())))))


def _wrong(winner: NDArray[Any], means: Any, epsilon: float) -> int:
    """How many runs ended with an arm that is not epsilon-optimal."""
    good = optimal_arms(list(means), epsilon)
    return sum(arm != NEVER and arm not in good for arm in winner.tolist())
