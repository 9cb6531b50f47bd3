"""What is known of a scenario and of its runs: bounds, promises, and a summary of both.

What a scheme promises, and how firmly, is the scheme's: ``spec.scheme.guarantees(case)``.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from devote.problems import Problem, optimal_arms
from devote.protocol import Bound, Case, Promise
from devote.simulator.results import Result
from devote.simulator.scenario import Scenario
from devote.simulator.trial import NEVER, Trial
from devote.theory import clopper_pearson

T = TypeVar("T")

NOTHING_KNOWN = "Nothing is known of how often this scheme is wrong."


def broken_assumption(problem: Problem) -> str:
    """Which assumption of the proofs the problem breaks; empty where it keeps them.

    Paper: Assumptions 1 and 2.

    >>> broken_assumption(Problem("toy", [0.7, 0.5], drift=[0, -1e-5]))
    'rewards must not change (Assumption 1), and here the means drift'
    """
    if problem.switches:
        return "rewards must not change (Assumption 1), and here the means switch"
    if problem.drift is not None and any(problem.drift):
        return "rewards must not change (Assumption 1), and here the means drift"
    if problem.replay is not None:
        return "rewards must not change (Assumption 1), and recorded ones in order may"
    if problem.groups:
        return "arms must pay all players alike (Assumption 2), and here groups of players differ"
    return ""


def only_users_differ(problem: Problem) -> bool:
    """Whether all that the problem breaks is that arms pay all players alike."""
    return bool(problem.groups) and not any(problem.drift or ())


def case_of(scenario: Scenario) -> Case:
    """The case that a scheme judges: its bounds and promises are for this.

    Paper: Definition 1 for the number of good arms, counted when the run begins.

    >>> from devote.problems import PROBLEMS
    >>> from devote.protocol import ExperimentSpec
    >>> case_of(Scenario(ExperimentSpec(arms=10), PROBLEMS["1"], 64)).n_optimal
    2
    """
    return Case(
        spec=scenario.spec,
        n_players=scenario.n_players,
        n_optimal=len(scenario.optimal(0)),
        broken=broken_assumption(scenario.problem),
        users_differ=only_users_differ(scenario.problem),
    )


@dataclass(frozen=True)
class FailureBounds:
    """The probability of a wrong answer: as the paper has it, and as it is.

    Paper: Theorem 1.
    Differs from print: what is proved is for any M of N players (errata 7 and 19).
    """

    bounds: tuple[Bound, ...]

    @property
    def claimed(self) -> float | None:
        """The boldest bound, if there is any."""
        return self.bounds[0].value if self.bounds else None

    @property
    def proved(self) -> float | None:
        """The bound that is proved, if there is one."""
        return next((row.value for row in self.bounds if row.name == "proved"), None)

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "claimed": self.claimed,
            "proved": self.proved,
            "meaning": " ".join(row.text for row in self.bounds) or NOTHING_KNOWN,
            "bounds": [asdict(row) for row in self.bounds],
        }


def failure_bounds(scenario: Scenario) -> FailureBounds:
    """The bounds on a wrong answer in a scenario.

    >>> from devote.problems import PROBLEMS
    >>> from devote.protocol import ExperimentSpec
    >>> scenario = Scenario(ExperimentSpec(arms=10, epsilon=0.15), PROBLEMS["1"], 64)
    >>> bounds = failure_bounds(scenario)
    >>> round(bounds.claimed, 4), bounds.proved < 1e-40
    (0.0523, True)
    """
    return FailureBounds(scenario.scheme.guarantees(case_of(scenario)).bounds)


def measured_answer(scenario: Scenario, runs: Sequence[Trial]) -> Promise:
    """How often runs were right, with an exact 95 % interval for the rest.

    Where every arm is good enough only the best counts, else there would be nothing to measure.
    A stall leaves a set of arms: its first one is judged, and how many sets hold a good one.
    """
    spec, problem = scenario.spec, scenario.problem
    values = problem.values(scenario.n_players, 0)
    if runs[0].status == "unfinished":
        return Promise("right answer", "measured", "No simulated run ended in the time given.")
    if min(values) == max(values) and not broken_assumption(problem):
        return Promise("right answer", "measured", "All arms are equal here: no answer is wrong.")
    right = [run.epsilon_optimal for run in runs]
    held = [run.holds_epsilon_optimal for run in runs]
    what = f"an arm within epsilon={spec.epsilon:g} of the best"
    if len(optimal_arms(values, spec.epsilon)) == spec.n_arms:
        right = [values[run.winners[0]] == max(values) for run in runs]
        held = [max(values) in [values[arm] for arm in run.winners] for run in runs]
        what = "the best arm (all are within epsilon)"
    stalls = sum(run.status == "stalled" for run in runs)
    sets = ""
    if stalls and scenario.scheme.about.by_message:
        sets = (
            f" {stalls} stalled and left several arms, judged by the first; {sum(held)} of "
            f"{len(held)} runs ended with a set that holds such an arm."
        )
    _, high = clopper_pearson(len(right) - sum(right), len(right))
    return Promise(
        "right answer",
        "measured",
        f"{sum(right)} of {len(right)} simulated runs ended with {what}: on these arms wrong "
        f"with probability at most {high:.2g} (95 % confidence).{sets} More trials tell more.",
    )


def spread(values: ArrayLike) -> dict[str, Any]:
    """Mean, standard deviation over trials, and the values themselves.

    >>> spread([1, 3])
    {'mean': 2.0, 'std': 1.4142135623730951, 'values': [1, 3]}
    """
    array = np.asarray(values)
    return {
        "mean": float(array.mean()),
        "std": float(array.std(ddof=1)) if array.size > 1 else 0.0,
        "values": array.tolist(),
    }


def summarise(result: Result) -> dict[str, Any]:
    """The result as one JSON object.

    ``votes_needed`` is the number of messages that decide on an arm, None where none do.
    ``samples`` is over the trials in which the group had an answer, None if none had.
    ``winners`` has the agreed arm of each trial, None where there is none, and ``winner_means``
    what it paid at the end of that trial. ``endings`` says how each trial ended, ``shared`` which
    arms were still shared then, the likeliest first: the answer of a stalled trial.
    ``epsilon_optimal`` is the fraction of trials whose answer's first arm is epsilon-optimal,
    ``holds_epsilon_optimal`` that of trials whose answer holds such an arm: see ``Goodness``.
    """
    scenario = result.scenario
    decided = result.samples[result.samples != NEVER]
    return {
        "spec": result.spec.to_dict(),
        "scheme": scenario.scheme.name,
        "sends": scenario.scheme.about.sends,
        "votes_needed": result.spec.votes_needed,
        "trials": result.trials,
        "samples_until_all_know": spread(result.samples_until_all_know),
        "samples": spread(decided) if decided.size else None,
        "broadcasts": spread(result.broadcasts),
        "deliveries": spread(result.deliveries),
        "status": result.status_counts(),
        "winners": list(result.answers),
        "winner_means": [
            None if arm is None else result.problem.values(result.n_players, int(samples))[arm]
            for arm, samples in zip(result.answers, result.samples_until_all_know, strict=True)
        ],
        "endings": list(result.status),
        "shared": [list(arms) for arms in result.winners],
        "epsilon_optimal": float(result.epsilon_optimal.mean()),
        "holds_epsilon_optimal": float(result.holds_epsilon_optimal.mean()),
        "conflicts": spread(result.conflicts),
        "resets": spread(result.resets),
        "problem": result.problem.to_dict(),
        "n_players": result.n_players,
        "seed": result.seed,
        "horizon": result.horizon,
        "engine": result.engine,
        "failure": failure_bounds(scenario).to_dict(),
        "promises": [asdict(row) for row in scenario.scheme.guarantees(case_of(scenario)).promises],
    }


def winner_counts(answers: Iterable[int | None]) -> list[tuple[int, int]]:
    """How often each arm won, the most frequent first.

    >>> winner_counts([0, 1, None, 1])
    [(1, 2), (0, 1)]
    """
    return _most_frequent(arm for arm in answers if arm is not None)


def stalled_counts(
    shared: Iterable[Sequence[int]], statuses: Iterable[str]
) -> list[tuple[tuple[int, ...], int]]:
    """How often each set of arms was left by a stall, the most frequent first.

    >>> stalled_counts([[1, 0], [0, 1], [0]], ["stalled", "stalled", "agreed"])
    [((0, 1), 2)]
    """
    ended = zip(shared, statuses, strict=True)
    return _most_frequent(tuple(sorted(arms)) for arms, status in ended if status == "stalled")


def _most_frequent(values: Iterable[T]) -> list[tuple[T, int]]:
    counts: list[tuple[Any, int]] = list(Counter(values).items())
    return sorted(counts, key=lambda pair: (-pair[1], pair[0]))
