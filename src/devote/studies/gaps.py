"""The mean gap of Assumption 4, exactly.

Paper: section 4, Assumption 4 and the two figures "Mean gap versus time".
"""

from collections.abc import Sequence
from fractions import Fraction


def mean_gaps(gaps: Sequence[Fraction | int], remaining: Sequence[int]) -> list[Fraction]:
    """``Delta*([tau])`` for tau = 1, 2, ...: the mean, over tau steps, of each step's mean gap.

    ``gaps[j - 1]`` is the gap at time j between the best arm and another; step i takes the
    ``remaining[i - 1]`` gaps from time i on, as printed. There are as many values as steps for
    which all gaps are known.

    Paper: Assumption 4.

    >>> mean_gaps([1, 0, -2], remaining=[2, 2])
    [Fraction(1, 2), Fraction(-1, 4)]
    """
    total = Fraction(0)
    means = []
    for step, n_arms in enumerate(remaining, start=1):
        window = gaps[step - 1 : step - 1 + n_arms]
        if len(window) < n_arms:
            break
        total += sum((Fraction(gap) for gap in window), Fraction(0)) / n_arms
        means.append(total / step)
    return means


def first_switch(means: Sequence[Fraction]) -> int | None:
    """The first time at which the mean gap is no longer positive: a switch of the best arm.

    >>> first_switch([Fraction(1, 2), Fraction(-1, 4)])
    2
    """
    return next((tau for tau, value in enumerate(means, start=1) if value <= 0), None)
