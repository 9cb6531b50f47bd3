"""Which arms are good enough: Definition 1, decided here for plays, answers and audits alike."""

from collections.abc import Sequence

from devote.kernels.jitable import jitable
from devote.problems.rewards import Environment, mean_in_row, row_at

TOLERANCE = 1e-12
"""A mean that falls short by epsilon and a rounding error is within epsilon."""


@jitable
def falls_short(mean: float, best: float, epsilon: float) -> bool:
    """Whether a mean is more than epsilon below the best.

    Paper: Definition 1.

    >>> falls_short(0.5, 0.75, 0.25), falls_short(0.5, 0.7500000001, 0.25)
    (False, True)
    """
    return best - mean > epsilon + TOLERANCE


@jitable
def is_suboptimal(env: Environment, epsilon: float, t: int, player: int, arm: int) -> int:
    """1 if the arm is not epsilon-optimal for this player at time t.

    Paper: Definition 1.
    """
    row = row_at(env, t, player)
    mean = mean_in_row(env, row, t, arm)
    best = mean
    for k in range(env.n_arms):
        best = max(best, mean_in_row(env, row, t, k))
    return int(falls_short(mean, best, epsilon))


def optimal_arms(means: Sequence[float], epsilon: float) -> frozenset[int]:
    """The arms whose means are within epsilon of the best.

    Paper: Definition 1.

    >>> sorted(optimal_arms([0.7, 0.5, 0.3], 0.25))
    [0, 1]
    """
    best = max(means)
    return frozenset(k for k, mean in enumerate(means) if not falls_short(mean, best, epsilon))
