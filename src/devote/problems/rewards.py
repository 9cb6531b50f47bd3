"""What arms pay, and which arms are good enough: functions of buffers for every problem.

An ``Environment`` is data, so that one compiled loop serves all problems: lists on the slow
path, arrays under numba. A feature that a problem does not use costs one branch that always
goes the same way. Every pull takes exactly one uniform u in [0, 1), also where it is not
needed, so that the random stream of a run does not depend on the family of rewards.

Time t is the number of pulls made by all players before this one.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

BERNOULLI = 0
"""Pays 1 with probability the mean, else 0."""

BETA = 1
"""Beta(m / (1 - m), 1), of mean m: its quantile function is u^((1 - m) / m)."""

UNIFORM = 2
"""Uniform on the widest interval around the mean that stays in [0, 1]."""

REPLAY = 3
"""Pays the arm's recorded rewards in order of time, from the first again after the last."""

SAMPLES = 4
"""Pays one of the arm's recorded rewards, drawn at random."""

TOLERANCE = 1e-12
"""A mean that falls short by epsilon and a rounding error is within epsilon."""


class Environment(NamedTuple):
    """The buffers behind ``pay``; none is empty, unused ones hold a dummy.

    ``means[(segment * n_groups + group) * n_arms + arm]`` holds from time ``starts[segment]``
    on, ``slopes[arm]`` is added per unit of time since the start of the run, ``groups[player]``
    is the player's group. ``table`` has the ``lengths[arm]`` recorded rewards of each arm, from
    ``firsts[arm]`` on.

    Paper: section 2, P_{x,y}.
    """

    kind: int
    n_arms: int
    n_groups: int
    n_segments: int
    means: Sequence[float]
    slopes: Sequence[float]
    starts: Sequence[int]
    groups: Sequence[int]
    table: Sequence[float]
    firsts: Sequence[int]
    lengths: Sequence[int]


def segment_at(env: Environment, t: int) -> int:
    """The stretch of time between two switches that holds t.

    Paper: section 4, the sequences that rewards "can be splitted into" (Theorem 4).
    """
    low = 0
    high = env.n_segments
    # Invariant: starts[low] <= t, and t < starts[high] if there is one.
    while high - low > 1:
        middle = (low + high) // 2
        if env.starts[middle] <= t:
            low = middle
        else:
            high = middle
    return low


def row_at(env: Environment, t: int, player: int) -> int:
    """The row of means that holds for a player at time t."""
    row = 0
    if env.n_segments > 1:
        row = segment_at(env, t) * env.n_groups
    if env.n_groups > 1:
        row += env.groups[player]
    return row


def mean_in_row(env: Environment, row: int, t: int, arm: int) -> float:
    """The mean reward of an arm at time t, by a row of means."""
    mean = env.means[row * env.n_arms + arm]
    if t == 0:  # also where players run alone, and nothing changes with time
        return mean
    mean += env.slopes[arm] * t
    if mean < 0.0:
        return 0.0
    if mean > 1.0:
        return 1.0
    return mean


def mean_reward(env: Environment, t: int, player: int, arm: int) -> float:
    """The mean reward of an arm for a player at time t; of recorded rewards, of all of them.

    Paper: section 2, mu^n_k; section 5.1, problem 3, mu(t) = mu(0) - 1e-5 t.
    Differs from print: a drifting mean is clipped to [0, 1] (erratum 13).
    """
    return mean_in_row(env, row_at(env, t, player), t, arm)


def beta_quantile(mean: float, u: float) -> float:
    """The u-quantile of Beta(m / (1 - m), 1); the point masses at 0 and 1 for such means."""
    if mean >= 1.0:
        return 1.0
    if mean <= 0.0 or u <= 0.0:
        return 0.0
    return math.exp(math.log(u) * ((1.0 - mean) / mean))


def pay(env: Environment, t: int, player: int, arm: int, u: float) -> float:
    """The reward in [0, 1] of one pull, from one uniform u in [0, 1).

    Paper: Algorithm 1, line 5, "player n receives reward".
    """
    # All buffers are read before the families part, and nothing can raise: else numba cannot
    # drop its counts of references to the buffers, and a pull costs twenty times as much.
    kind = env.kind
    if kind == BERNOULLI:
        return 1.0 if u < mean_reward(env, t, player, arm) else 0.0
    mean = mean_reward(env, t, player, arm)
    # max() shows the compiler that this cannot divide by zero.
    length = max(env.lengths[arm], 1)
    place = t % length if kind == REPLAY else int(u * length)
    recorded = env.table[env.firsts[arm] + place]
    if kind == BETA:
        return beta_quantile(mean, u)
    if kind == UNIFORM:
        return mean + min(mean, 1.0 - mean) * (u + u - 1.0)
    return recorded


def falls_short(mean: float, best: float, epsilon: float) -> bool:
    """Whether a mean is more than epsilon below the best.

    Paper: Definition 1.

    >>> falls_short(0.5, 0.75, 0.25), falls_short(0.5, 0.7500000001, 0.25)
    (False, True)
    """
    return best - mean > epsilon + TOLERANCE


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
