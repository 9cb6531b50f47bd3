"""Binomial tails: the probability that at least k of n are wrong.

Theory of operation. A binomial tail is an incomplete beta function. With ``n = a + b`` and
``d = a - n x``, its common factor ``x**a (1 - x)**b / B(a, b)`` is a binomial probability in
disguise. Written with log-gammas it loses eight digits at a = 1e7, because numbers near 1e8
cancel. Here its logarithm is written as Stirling corrections and two deviances, each a function
of ``d`` alone, and ``d`` is computed exactly: nothing large is ever subtracted (Loader 2000), and
nothing overflows. A continued fraction does the rest, always on the side of the mean where it
converges fast (Didonato and Morris 1992).
"""

import math
from fractions import Fraction

from devote.theory.errors import check

HALF_LOG_TAU = 0.5 * math.log(math.tau)
TINY = 1e-300
ROUNDING = 2.0**-52

# Coefficients of 1/z, 1/z^3, ... in Stirling's series for log(z!): B_2j / (2j (2j - 1)).
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)


def binomial_tail(successes: int, trials: int, *, probability: float) -> float:
    """``P(Bin(trials, probability) >= successes)``, to about 1e-12 relative down to 1e-300.

    Every binomial tail of this project is computed here.

    Paper: the law of a player's activations, proof of Theorem 2.

    >>> round(binomial_tail(2, 2, probability=0.5), 12), binomial_tail(3, 2, probability=0.5)
    (0.25, 0.0)
    """
    check.whole("successes", successes, least=0)
    check.whole("trials", trials, least=0)
    check.unit("probability", probability)
    if successes == 0:
        return 1.0
    if successes > trials:
        return 0.0
    return tails(float(successes), float(trials - successes + 1), probability)[0]


def tails(a: float, b: float, x: float) -> tuple[float, float]:
    """``I_x(a, b)`` and its complement; one side is computed, the other follows."""
    if x == 0.0:
        return 0.0, 1.0
    if x == 1.0:
        return 1.0, 0.0
    d = offset(a, b, x)
    common = factor(a, b, x, d=d)
    # x <= (a + 1) / (n + 2): the side on which the fraction converges fast.
    if d + 1.0 >= 2.0 * x:
        lower = min(1.0, common * _fraction(a, b, x, d=d)) if common > 0.0 else 0.0
        return lower, 1.0 - lower
    upper = min(1.0, common * _fraction(b, a, 1.0 - x, d=-d)) if common > 0.0 else 0.0
    return 1.0 - upper, upper


def offset(a: float, b: float, x: float) -> float:
    """``a - (a + b) x`` rounded once: near the mean every digit of it counts."""
    exact = Fraction(a)
    return float(exact - (exact + Fraction(b)) * Fraction(x))


def factor(a: float, b: float, x: float, *, d: float) -> float:
    """``x**a (1 - x)**b / B(a, b)``."""
    n = a + b
    exponent = _stirling_error(n) - _stirling_error(a) - _stirling_error(b)
    # The means n x and n (1 - x) differ from a and b by the same d, with opposite signs.
    exponent -= a * _deviance(-d / a, math.log(x) - math.log(a / n))
    exponent -= b * _deviance(d / b, math.log1p(-x) - math.log(b / n))
    # a b / n as a product of moderate numbers: a * b alone may overflow or vanish.
    return math.sqrt(min(a, b) * (max(a, b) / n) / math.tau) * math.exp(exponent)


def _deviance(u: float, log_ratio: float) -> float:
    """``u - log(1 + u)``, where ``log_ratio`` is the same logarithm for u far from 0."""
    if abs(u) > 0.5:
        return u - log_ratio
    # log(1 + u) = 2 artanh(r); its first term is taken off u exactly.
    r = u / (2.0 + u)
    square = r * r
    total, power, k = 0.0, 1.0, 3
    while power > ROUNDING * 0.1:
        total += power / k
        power *= square
        k += 2
    return r * (u - 2.0 * square * total)


def _stirling_error(z: float) -> float:
    """``log(z!)`` less Stirling's ``(z + 1/2) log z - z + log(2 pi) / 2``."""
    if z < 16.0:
        return math.lgamma(z + 1.0) - (z + 0.5) * math.log(z) + z - HALF_LOG_TAU
    square = 1.0 / (z * z)
    total = 0.0
    for coefficient in reversed(STIRLING):
        total = total * square + coefficient
    return total / z


def _fraction(a: float, b: float, x: float, *, d: float) -> float:
    """``I_x(a, b)`` over its common factor, by Lentz's method, for small enough ``x``."""
    value = a * (d + 1.0) / (a + 1.0)
    front, back = value, 0.0
    m = 0.0
    while True:
        m += 1.0
        odd = a + 2.0 * m
        ratio = x / (odd - 1.0)
        numerator = (a + m - 1.0) * ratio * (a + b + m - 1.0) * ratio * m * (b - m)
        denominator = m + m * (b - m) * ratio + (a + m) / (odd + 1.0) * (d + 1.0 + m * (2.0 - x))
        back = 1.0 / ((denominator + numerator * back) or TINY)
        front = (denominator + numerator / front) or TINY
        change = front * back
        value *= change
        # Two quotients that agree may still differ by four roundings.
        if abs(change - 1.0) <= 4.0 * ROUNDING:
            return 1.0 / value
