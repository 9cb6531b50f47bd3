"""From guesses to a number: what success implies about differential privacy."""

import math

from devote.audit.batches import Rate
from devote.theory import clopper_pearson

CONFIDENCE = 0.95


def epsilon_lower_bound(
    hits: int, positives: int, false_alarms: int, negatives: int, *, confidence: float = CONFIDENCE
) -> float:
    """The least epsilon of differential privacy that these counts leave possible.

    If what a player sends were epsilon-differentially private with respect to all its data, no
    test could tell two players apart better than ``TPR <= e^epsilon FPR``, and the same for the
    complements. So epsilon is at least the larger of ``ln(TPR / FPR)`` and ``ln(TNR / FNR)``, taken
    at the ends of exact intervals that hold together with this confidence (four bounds, a quarter
    of the risk each).

    Paper: no place in it; Definition 3 is not differential privacy.

    >>> epsilon_lower_bound(50, 100, 50, 100)
    0.0
    >>> round(epsilon_lower_bound(1000, 1000, 0, 1000), 1)
    5.4
    """
    if positives == 0 or negatives == 0:
        return 0.0
    each = 1.0 - (1.0 - confidence) / 2.0
    tpr = clopper_pearson(hits, positives, confidence=each)
    fpr = clopper_pearson(false_alarms, negatives, confidence=each)
    ratios = []
    for above, below in ((tpr[0], fpr[1]), (1.0 - fpr[1], 1.0 - tpr[0])):
        if above > 0.0:
            ratios.append(math.log(above / below) if below > 0.0 else math.inf)
    return max(0.0, *ratios) if ratios else 0.0


def epsilon_of(guesses: list[int], secrets: list[int]) -> float:
    """The bound for guesses at a secret that is 0 or 1.

    >>> epsilon_of([0, 1] * 50, [0, 0, 1, 1] * 25)
    0.0
    """
    said = [guess for guess, secret in zip(guesses, secrets, strict=True) if secret == 1]
    wrongly = [guess for guess, secret in zip(guesses, secrets, strict=True) if secret == 0]
    return epsilon_lower_bound(sum(said), len(said), sum(wrongly), len(wrongly))


def rate_of(outcomes: list[bool]) -> Rate:
    """How often something came true."""
    return Rate(sum(outcomes), len(outcomes), CONFIDENCE)
