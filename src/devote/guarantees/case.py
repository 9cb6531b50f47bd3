"""What is known of a scenario when its promises are judged."""

from devote.problems import Problem
from devote.protocol import Case
from devote.simulate.scenario import Scenario


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
