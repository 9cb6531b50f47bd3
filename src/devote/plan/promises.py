"""What is known of a scenario, its bounds, and the promise that simulated runs measure.

What a scheme promises, and how firmly, is the scheme's: ``spec.scheme.guarantees(case)``.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from devote import theory
from devote.problems import Problem, optimal_arms
from devote.protocol import Bound, Case, Promise
from devote.simulator.scenario import Scenario
from devote.simulator.trial import Trial


def case_of(scenario: Scenario) -> Case:
    """The case that a scheme judges: its bounds and promises are for this.

    Paper: Definition 1 for the number of good arms, counted when the run begins.

    >>> from devote.problems import PROBLEMS
    >>> from devote.protocol import ExperimentSpec
    >>> case_of(Scenario(ExperimentSpec(arms=10), PROBLEMS["1"], 64)).n_optimal
    2
    """
    optimal = scenario.problem.optimal(scenario.n_players, 0, scenario.spec.epsilon)
    return Case(
        spec=scenario.spec,
        n_players=scenario.n_players,
        n_optimal=len(optimal),
        broken=broken_assumption(scenario.problem),
        users_differ=bool(scenario.problem.groups),
    )


def broken_assumption(problem: Problem) -> str:
    """Which assumption of the proofs the problem breaks; empty where it keeps them.

    Paper: Assumptions 1 and 2.

    >>> broken_assumption(Problem("toy", [0.7, 0.5], drift=[0, -1e-5]))
    'rewards must not change (Assumption 1), and here the means drift'
    """
    if problem.groups:
        return "arms must pay all players alike (Assumption 2), and here groups of players differ"
    if problem.switches:
        return "rewards must not change (Assumption 1), and here the means switch"
    if problem.drift is not None and any(problem.drift):
        return "rewards must not change (Assumption 1), and here the means drift"
    if problem.replay is not None and problem.replay_order == "time":
        return "rewards must not change (Assumption 1), and recorded ones in order may"
    return ""


NOTHING_KNOWN = "Nothing is known of how often this scheme is wrong."


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
    """What can be said of a wrong answer in a scenario.

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
    A stall leaves a set of arms: its first one is judged, and whether it holds a good one is said.
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
    wrong = len(right) - sum(right)
    _, high = theory.clopper_pearson(wrong, len(right))
    return Promise(
        "right answer",
        "measured",
        f"{sum(right)} of {len(right)} simulated runs ended with {what}: on these arms wrong "
        f"with probability at most {high:.2g} (95 % confidence).{sets} More trials tell more.",
    )
