"""The regularised incomplete beta function, and the exact intervals made of it.

Both are SciPy's, imported where it is called: no device needs it.
"""

from devote.theory.errors import TheoryError, check


def betainc(a: float, b: float, x: float) -> float:
    """Regularised incomplete beta function ``I_x(a, b)``.

    Paper: Theorem 2, where it is written ``I_a(b, c)``.
    Differs from print: the footnote's I_0.99(500, 500) = 1.47e-302 is the value of B(500, 500);
    the regularised function, which the theorem needs, is 1.0 there (erratum 10).

    >>> betainc(500, 500, 0.99), round(betainc(2, 3, 0.5), 12)
    (1.0, 0.6875)
    """
    from scipy.special import betainc as regularised

    return float(regularised(check.positive("a", a), check.positive("b", b), check.unit("x", x)))


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
    from scipy.special import betainccinv, betaincinv

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
    low = float(betaincinv(successes, failures + 1, outside)) if successes else 0.0
    high = float(betainccinv(successes + 1, failures, outside)) if failures else 1.0
    return low, high
