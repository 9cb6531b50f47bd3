"""Randomized response: the truth with a known probability, else something else at random.

``blur`` hides which of K arms is meant, ``blur_reward`` what a play paid, as one bit.

Exact by construction. A uniform number on a device or in a simulation is one of 2^53 equally
likely values; here it is read as a whole number below 2^53, its place. ``truthful(e, K)`` places
stand for the truth: the most for which the odds of the truth against any other arm are at most
``exp(e)``, and for which the rest can be shared out evenly among the K - 1 other arms. So every
probability is a ratio of whole numbers, no rounding is left, and the promise ``e`` holds exactly.
It holds for any e from ``LEAST`` on; below it the grid is too coarse to tell the truth from a lie.
The proofs are in ``docs/proofs.md``.
"""

import math
from fractions import Fraction
from functools import lru_cache

GRID = 2**53
"""How many values a uniform number can take."""

LEAST = 1e-3
"""The smallest e: no group is large enough to learn anything from less."""


@lru_cache(maxsize=256)
def truthful(privacy: float, n_arms: int) -> int:
    """How many of the ``GRID`` values stand for the truth.

    >>> round(truthful(1.0, 2) / GRID, 6), round(math.exp(1) / (1 + math.exp(1)), 6)
    (0.731059, 0.731059)
    """
    # exp is right to the last digit or one off: two digits less are surely below it.
    odds = Fraction(math.nextafter(math.nextafter(math.exp(privacy), 0.0), 0.0))
    lies = math.ceil(Fraction(GRID) / (odds + n_arms - 1))
    return GRID - lies * (n_arms - 1)


def blur(truth: int, noise: float, truths: int, n_arms: int) -> int:
    """The arm to report instead of ``truth``; ``truths`` is what ``truthful`` gave."""
    place = int(noise * 9007199254740992.0)
    if place < truths:
        return truth
    lie = (place - truths) // ((9007199254740992 - truths) // (n_arms - 1))
    return lie if lie < truth else lie + 1


def blur_reward(reward: float, noise: float, truths: int) -> int:
    """A bit for a reward in [0, 1]; ``truths`` is what ``truthful(e, 2)`` gave.

    One draw rounds the reward to a bit, 1 with probability ``reward``, and reports that bit with
    probability ``truths / GRID``, else the other. Whatever the reward, the number of places for
    which this is 1 lies between ``GRID - truths`` and ``truths``.
    """
    place = int(noise * 9007199254740992.0)
    lies = 9007199254740992 - truths
    return 1 if place < lies + int(reward * (truths - lies)) else 0
