"""The incomplete beta function, its inverse and the binomial tail, in plain Python.

Theory of operation. With ``n = a + b`` and ``d = a - n x``, the common factor
``x**a (1 - x)**b / B(a, b)`` is a binomial probability in disguise. Written with log-gammas it
loses eight digits at a = 1e7, because numbers near 1e8 cancel. Here it is written as Stirling
corrections and two deviances, each a function of ``d`` alone, and ``d`` is computed exactly:
nothing large is ever subtracted (Loader 2000). A continued fraction does the rest, always on
the side of the mean where it converges fast (Didonato and Morris 1992).
"""

import math
from fractions import Fraction

from devote.theory.arguments import closed_unit, open_unit, whole

HALF_LOG_TAU = 0.5 * math.log(math.tau)
TINY = 1e-300
ROUNDING = 2.0**-52
NEWTON_STEPS = 50

LEAST, MOST, MOST_OF_SMALLER = 1e-3, 1e100, 1e14
"""The shapes served. Work grows as the root of the smaller one: a tenth of a second at 1e14."""

# Coefficients of 1/z, 1/z^3, ... in Stirling's series for log(z!): B_2j / (2j (2j - 1)).
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)


def betainc(a: float, b: float, x: float) -> float:
    """Regularised incomplete beta function ``I_x(a, b)``, to about 1e-12 relative.

    Paper: Theorem 2, where it is written ``I_a(b, c)``.
    Differs from print: the footnote's I_0.99(500, 500) = 1.47e-302 is the value of B(500, 500);
    the regularised function, which the theorem needs, is 1.0 there (erratum 10).

    >>> betainc(500, 500, 0.99), round(betainc(2, 3, 0.5), 12)
    (1.0, 0.6875)
    """
    a, b = _shape(a, b)
    return _tails(a, b, closed_unit("x", x))[0]


def betainc_upper(a: float, b: float, x: float) -> float:
    """The complement ``1 - I_x(a, b) = I_{1-x}(b, a)``, with all its digits where it is tiny.

    Paper: Theorem 2.

    >>> round(betainc_upper(2, 3, 0.5), 12)
    0.3125
    """
    a, b = _shape(a, b)
    return _tails(a, b, closed_unit("x", x))[1]


def log_beta(a: float, b: float) -> float:
    """Logarithm of the beta function ``B(a, b)``.

    Paper: the footnote to Theorem 2 prints ``B(500, 500)``, cut to 1.47e-302 (erratum 10).

    >>> f"{math.exp(log_beta(500, 500)):.3e}"
    '1.480e-302'
    """
    a, b = _shape(a, b)
    small, large = min(a, b), max(a, b)
    at_mean = small * math.log(small / (a + b)) - large * math.log1p(small / large)
    return at_mean - math.log(_factor(a, b, a / (a + b), d=0.0))


def binomial_tail(successes: int, trials: int, *, probability: float) -> float:
    """``P(Bin(trials, probability) >= successes)``.

    Paper: the law of a player's activations, proof of Theorem 2.

    >>> round(binomial_tail(2, 2, probability=0.5), 12), binomial_tail(3, 2, probability=0.5)
    (0.25, 0.0)
    """
    whole("successes", successes, least=0)
    whole("trials", trials, least=0)
    closed_unit("probability", probability)
    if successes == 0:
        return 1.0
    if successes > trials:
        return 0.0
    return betainc(successes, trials - successes + 1, probability)


def beta_quantile(probability: float, *, a: float, b: float) -> float:
    """The ``x`` with ``I_x(a, b) = probability``.

    Newton's method on the logarithm of the smaller tail, as a function of log(x / (1 - x)):
    concave there, so a step never runs away; a bracket guards it, and bisection takes over
    where rounding keeps it from settling.

    Paper: no place in it; exact intervals are made of it.

    >>> round(beta_quantile(0.6875, a=2, b=3), 12)
    0.5
    """
    open_unit("probability", probability)
    a, b = _shape(a, b)
    lower = probability <= 0.5
    target = probability if lower else 1.0 - probability
    low, high = -745.0, 745.0
    logit = math.log(a / b)
    steps = 0
    while high - low > ROUNDING * max(1.0, abs(logit)):
        x = _logistic(logit)
        tails = _tails(a, b, x)
        tail = tails[0] if lower else tails[1]
        if tail == target:
            break
        too_far = (tail > target) == lower
        low, high = (low, logit) if too_far else (logit, high)
        slope = _factor(a, b, x, d=_offset(a, b, x)) if 0.0 < x < 1.0 else 0.0
        middle = 0.5 * (low + high)
        step = math.log(target / tail) * tail / slope if tail > 0.0 and slope > 0.0 else math.inf
        if abs(step) <= ROUNDING * max(1.0, abs(logit)):
            break
        proposal = logit + (step if lower else -step)
        steps += 1
        logit = proposal if low < proposal < high and steps < NEWTON_STEPS else middle
    return _logistic(logit)


def _shape(a: float, b: float) -> tuple[float, float]:
    """The two shape parameters, checked."""
    for name, value in (("a", a), ("b", b)):
        if not LEAST <= value <= MOST:
            raise ValueError(
                f"{name}={value} is not between {LEAST} and {MOST}. Pass a positive number of "
                "ordinary size."
            )
    if min(a, b) > MOST_OF_SMALLER:
        raise ValueError(
            f"a={a} and b={b} are both above {MOST_OF_SMALLER}. Use a normal approximation there."
        )
    return float(a), float(b)


def _logistic(logit: float) -> float:
    """``1 / (1 + exp(-logit))`` without overflow, precise near 0."""
    if logit < 0.0:
        odds = math.exp(logit)
        return odds / (1.0 + odds)
    return 1.0 / (1.0 + math.exp(-logit))


def _tails(a: float, b: float, x: float) -> tuple[float, float]:
    """``I_x(a, b)`` and its complement; one side is computed, the other follows."""
    if x == 0.0:
        return 0.0, 1.0
    if x == 1.0:
        return 1.0, 0.0
    d = _offset(a, b, x)
    factor = _factor(a, b, x, d=d)
    # x <= (a + 1) / (n + 2): the side on which the fraction converges fast.
    if d + 1.0 >= 2.0 * x:
        lower = min(1.0, factor * _fraction(a, b, x, d=d)) if factor > 0.0 else 0.0
        return lower, 1.0 - lower
    upper = min(1.0, factor * _fraction(b, a, 1.0 - x, d=-d)) if factor > 0.0 else 0.0
    return 1.0 - upper, upper


def _offset(a: float, b: float, x: float) -> float:
    """``a - (a + b) x`` rounded once: near the mean every digit of it counts."""
    exact = Fraction(a)
    return float(exact - (exact + Fraction(b)) * Fraction(x))


def _factor(a: float, b: float, x: float, *, d: float) -> float:
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
