"""Exact confidence intervals for a proportion, such as an error rate over repeated trials."""

from devote.theory.beta import beta_quantile
from devote.theory.errors import TheoryError, check


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
