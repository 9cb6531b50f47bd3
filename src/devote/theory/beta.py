"""The incomplete beta function, its inverse, and the exact intervals made of it.

The numbers come from :mod:`devote.theory.binomial`.
"""

import math

from devote.theory.binomial import ROUNDING, factor, offset, tails
from devote.theory.errors import TheoryError, check

NEWTON_STEPS = 50

LEAST, MOST, MOST_OF_SMALLER = 1e-3, 1e100, 1e14
"""The shapes served. Work grows as the root of the smaller one: a tenth of a second at 1e14."""


def betainc(a: float, b: float, x: float) -> float:
    """Regularised incomplete beta function ``I_x(a, b)``, to about 1e-12 relative.

    Paper: Theorem 2, where it is written ``I_a(b, c)``.
    Differs from print: the footnote's I_0.99(500, 500) = 1.47e-302 is the value of B(500, 500);
    the regularised function, which the theorem needs, is 1.0 there (erratum 10).

    >>> betainc(500, 500, 0.99), round(betainc(2, 3, 0.5), 12)
    (1.0, 0.6875)
    """
    a, b = _shape(a, b)
    return tails(a, b, check.unit("x", x))[0]


def beta_quantile(probability: float, *, a: float, b: float) -> float:
    """The ``x`` with ``I_x(a, b) = probability``.

    Newton's method on the logarithm of the smaller tail, as a function of log(x / (1 - x)):
    concave there, so a step never runs away; a bracket guards it, and bisection takes over
    where rounding keeps it from settling.

    Paper: no place in it; exact intervals are made of it.

    >>> round(beta_quantile(0.6875, a=2, b=3), 12)
    0.5
    """
    check.probability("probability", probability)
    a, b = _shape(a, b)
    lower = probability <= 0.5
    target = probability if lower else 1.0 - probability
    low, high = -745.0, 745.0
    logit = math.log(a / b)
    steps = 0
    while high - low > ROUNDING * max(1.0, abs(logit)):
        x = _logistic(logit)
        tail = tails(a, b, x)[0 if lower else 1]
        if tail == target:
            break
        too_far = (tail > target) == lower
        low, high = (low, logit) if too_far else (logit, high)
        slope = factor(a, b, x, d=offset(a, b, x)) if 0.0 < x < 1.0 else 0.0
        middle = 0.5 * (low + high)
        step = math.log(target / tail) * tail / slope if tail > 0.0 and slope > 0.0 else math.inf
        if abs(step) <= ROUNDING * max(1.0, abs(logit)):
            break
        proposal = logit + (step if lower else -step)
        steps += 1
        logit = proposal if low < proposal < high and steps < NEWTON_STEPS else middle
    return _logistic(logit)


def clopper_pearson(
    successes: int, trials: int, *, confidence: float = 0.95
) -> tuple[float, float]:
    """The interval that covers the true proportion with at least ``confidence``.

    Exact: no normal approximation, so it may be trusted with no failure in twenty trials.

    Paper: no place in it; its experiments average 20 trials and give no intervals.

    >>> low, high = clopper_pearson(0, 20)
    >>> low, round(high, 4)
    (0.0, 0.1684)
    """
    check.whole("trials", trials, least=1)
    check.whole("successes", successes, least=0)
    check.probability("confidence", confidence)
    if successes > trials:
        raise TheoryError(
            f"successes={successes} exceeds trials={trials}. Pass the successes first, then "
            "the trials they were counted in."
        )
    outside = 0.5 * (1.0 - confidence)
    failures = trials - successes
    low = beta_quantile(outside, a=successes, b=failures + 1) if successes else 0.0
    high = beta_quantile(1.0 - outside, a=successes + 1, b=failures) if failures else 1.0
    return low, high


def _shape(a: float, b: float) -> tuple[float, float]:
    """The two shape parameters, checked."""
    for name, value in (("a", a), ("b", b)):
        if not LEAST <= value <= MOST:
            raise TheoryError(
                f"{name}={value} is not between {LEAST} and {MOST}. Pass a positive number of "
                "ordinary size."
            )
    if min(a, b) > MOST_OF_SMALLER:
        raise TheoryError(
            f"a={a} and b={b} are both above {MOST_OF_SMALLER}. Use a normal approximation there."
        )
    return float(a), float(b)


def _logistic(logit: float) -> float:
    """``1 / (1 + exp(-logit))`` without overflow, precise near 0."""
    if logit < 0.0:
        odds = math.exp(logit)
        return odds / (1.0 + odds)
    return 1.0 / (1.0 + math.exp(-logit))
