"""How many samples one problem takes at least, whatever the algorithm.

References: Kaufmann, Cappé and Garivier (2016), Lemma 1; Degenne and Koolen (2019), problems with
several right answers; Garivier and Kaufmann (2021), near-optimal arms.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence

from devote.rules.bernoulli_kl import divergence
from devote.theory.errors import check

STEPS = 80
"""Halvings: the resolution of a float."""

PRECISE = {"xatol": 1e-12}


def characteristic_time(means: Sequence[float], *, epsilon: float, arm: int) -> float:
    """Samples per nat of evidence that ``arm`` is epsilon-optimal, at the best proportions.

    ``1 / max_w min_j min_x [ w_arm d(mu_arm, x) + w_j d(mu_j, x + epsilon) ]`` over proportions w,
    other arms j, and means x and x + epsilon under which j is better by epsilon; d is the
    divergence of Bernoulli rewards. Infinite where ``arm`` is epsilon or more below the best.

    >>> round(characteristic_time([0.7, 0.5], epsilon=0.25, arm=0), 2)
    9.27
    """
    gap = check.fraction("epsilon", epsilon)
    mine = check.probability(f"means[{arm}]", means[arm])
    others = Counter(check.probability(f"means[{j}]", m) for j, m in enumerate(means) if j != arm)
    if max(others) - mine >= gap:
        return math.inf
    # At the optimum the evidence against each other arm is the same. The weights it takes are
    # convex in it, so the time per evidence has one minimum.
    ceiling = min((divergence(mine, mean - gap) for mean in others if mean > gap), default=1e3)

    def time(evidence: float) -> float:
        weights = (n * _weight(mine, mean, gap, evidence) for mean, n in others.items())
        return (1.0 + sum(weights)) / evidence

    from scipy.optimize import minimize_scalar

    bounds = (1e-9 * ceiling, ceiling)
    return float(minimize_scalar(time, bounds=bounds, method="bounded", options=PRECISE).fun)


def sample_lower_bound(means: Sequence[float], *, epsilon: float, delta: float) -> float:
    """Mean samples that Bernoulli arms of these means take at least.

    It holds for every algorithm whose answer is epsilon-optimal with probability 1 - delta or
    more, whatever the means. Proof: let it answer arm i with probability p_i here; those of the
    epsilon-optimal arms sum to 1 - delta or more. Where i is not epsilon-optimal it answers i with
    probability delta or less, so by Lemma 1 the evidence between the two is kl(p_i, delta) or more
    if p_i > delta. The evidence is at most t / T_i, with t the mean samples and T_i the
    characteristic time of i. Hence p_i <= u_i, where u_i >= delta and kl(u_i, delta) = t / T_i.
    The bound is the least t at which the u_i sum to 1 - delta. With one epsilon-optimal arm it is
    T kl(1 - delta, delta).

    Differs from print: section 2 of the paper has ``lower_bound``, the order of the worst problem.

    >>> round(sample_lower_bound([0.7, 0.1], epsilon=0.25, delta=0.05), 2)
    6.62
    """
    allowed = check.probability("delta", delta)
    best = max(means)
    times = [
        characteristic_time(means, epsilon=epsilon, arm=arm)
        for arm, mean in enumerate(means)
        if best - mean <= epsilon
    ]

    def likeliest(evidence: float) -> float:
        return _last(allowed, 1.0, lambda p: divergence(p, allowed) <= evidence)

    def too_few(samples: float) -> bool:
        return sum(likeliest(samples / time) for time in times) < 1.0 - allowed

    return _last(0.0, min(times) * divergence(1.0 - allowed, allowed), too_few)


def _last(low: float, high: float, holds: Callable[[float], bool]) -> float:
    """The largest number at which a condition holds, by bisection between ``low`` and ``high``."""
    for _ in range(STEPS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _weight(mine: float, other: float, gap: float, evidence: float) -> float:
    """How often to sample the other arm, relative to this one, for so much evidence.

    The least evidence lies where its derivative in x is 0, which gives the weight from x; and
    the evidence falls as x rises.
    """
    low, high = max(other - gap, 0.0), min(mine, 1.0 - gap)
    weight = 0.0
    for _ in range(STEPS):
        x = (low + high) / 2.0
        y = x + gap
        if not (low < x < high and other < y < 1.0):
            break
        weight = (mine - x) / (x * (1.0 - x)) * (y * (1.0 - y)) / (y - other)
        here = divergence(mine, x) + weight * divergence(other, y)
        low, high = (x, high) if here > evidence else (low, x)
    return weight
