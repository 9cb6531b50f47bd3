"""Which plays and answers were good enough, told from the problem that nobody playing knows."""

from devote.kernels import jitable
from devote.problems.rewards import Environment, mean_reward
from devote.protocol import RunStatus
from devote.simulate.scenario import Scenario

TOLERANCE = 1e-9
"""Means a rounding error past epsilon count as within it."""


@jitable
def is_suboptimal(env: Environment, epsilon: float, t: int, player: int, arm: int) -> int:
    """1 if the arm is not epsilon-optimal for this player at time t.

    Paper: Definition 1.
    """
    mean = mean_reward(env, t, player, arm)
    for k in range(env.n_arms):
        if mean_reward(env, t, player, k) > mean + epsilon + TOLERANCE:
            return 1
    return 0


def answers_well(scenario: Scenario, status: RunStatus, winners: tuple[int, ...], t: int) -> bool:
    """Whether the run ended with an answer that is epsilon-optimal at its end.

    Where players vote the answer is the first of ``winners``; where they do not, each player
    has its own, and all must be right.
    """
    if status == "unfinished":
        return False
    optimal = scenario.problem.optimal(scenario.n_players, t, scenario.spec.epsilon)
    answers = winners[:1] if scenario.scheme.by_message else winners
    return optimal.issuperset(answers)
