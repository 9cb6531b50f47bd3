"""Who wakes how often: the slowest voter that counts, and the wait for everyone."""

import math
from collections import Counter
from collections.abc import Sequence

from devote.theory.errors import TheoryError, check

NEGLIGIBLE = 45.0
"""``exp(-45)`` is below the rounding of any sum of a thousand terms near one."""


def p_star(weights: Sequence[float], quorum: int) -> float:
    """Smallest activation probability among the M most likely players.

    ``weights`` need not sum to one.

    Paper: Section 3, before Theorem 2.

    >>> p_star([4, 4, 1, 1], 2), p_star([4, 4, 1, 1], 3)
    (0.4, 0.1)
    """
    probabilities = _shares(weights)
    check.whole("quorum", quorum, least=1)
    if quorum > len(probabilities):
        raise TheoryError(
            f"quorum={quorum} votes eliminate an arm, but weights name {len(probabilities)} "
            f"players. Use at least {quorum} players or a smaller quorum."
        )
    return sorted(probabilities, reverse=True)[quorum - 1]


def coupon_collector(weights: Sequence[float]) -> float:
    """Expected number of activations until every player has been active at least once.

    ``N H_N`` for equal weights; else the integral of ``1 - prod(1 - exp(-p_n t))`` over time,
    to about ten digits. A run ends only when the last player has woken.

    Paper: no place in it.
    Differs from print: Theorem 2 leaves this wait out (erratum 11).

    >>> coupon_collector([1, 1]), round(coupon_collector([3, 1]), 9)
    (3.0, 4.333333333)
    """
    groups = sorted(Counter(_shares(weights)).items())
    if len(groups) == 1:
        n_players = len(weights)
        return n_players * math.fsum(1.0 / k for k in range(1, n_players + 1))
    # In s = log t the integrand is smooth and dies at both ends, so that the plain
    # trapezoidal rule converges faster than any power of the step.
    rarest = groups[0][0]
    first = -math.log(groups[-1][0]) - NEGLIGIBLE
    last = math.log((NEGLIGIBLE + math.log(len(weights))) / rarest)
    step, coarse = 0.25, 0.0
    fine = _trapezoid(groups, first, last, step=step)
    while abs(fine - coarse) > 1e-11 * fine:
        # Halving adds the midpoints of the steps before.
        midpoints = _trapezoid(groups, first + 0.5 * step, last, step=step)
        coarse, fine = fine, 0.5 * (fine + midpoints)
        step *= 0.5
    return fine


def _trapezoid(
    groups: Sequence[tuple[float, int]], first: float, last: float, *, step: float
) -> float:
    """Step times the sum of ``t P(someone is still asleep at t)`` over a grid of ``log t``."""
    points = int((last - first) / step) + 1
    times = (math.exp(first + i * step) for i in range(points))
    return step * math.fsum(time * _someone_asleep(groups, time) for time in times)


def _someone_asleep(groups: Sequence[tuple[float, int]], time: float) -> float:
    """Probability that a player has not woken when players wake at their own Poisson rates."""
    log_all_awake = 0.0
    for probability, count in groups:
        if probability * time > NEGLIGIBLE:
            break
        log_all_awake += count * math.log(-math.expm1(-probability * time))
        if log_all_awake < -NEGLIGIBLE:
            return 1.0
    return -math.expm1(log_all_awake)


def _shares(weights: Sequence[float]) -> list[float]:
    """Activation weights as probabilities that sum to one.

    Paper: Assumption 3 (all players are active).
    """
    if len(weights) == 0:
        raise TheoryError("weights is empty: there is no player.\nPass one weight per player.")
    remedy = "A player that is never active keeps everyone waiting (Assumption 3): leave it out."
    numbers = [check.positive(f"weights[{n}]", w, remedy) for n, w in enumerate(weights)]
    total = math.fsum(numbers)
    return [weight / total for weight in numbers]
