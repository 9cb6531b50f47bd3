"""Numbers with their 95 % intervals, from a handful of trials.

Means have Student-t intervals, means of small counts score intervals, proportions exact ones.
Trial i of every cell draws from the streams of trial i, so two cells are compared trial by
trial; a ratio of means is linearised (the delta method).
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from devote.theory import clopper_pearson

CONFIDENCE = 0.95


def _student(degrees: int) -> float:
    """How many standard errors the interval of a mean reaches to either side."""
    from scipy.special import stdtrit  # a fifth of a worker's start, which needs none of it

    return float(stdtrit(degrees, 0.5 + CONFIDENCE / 2))


@dataclass(frozen=True)
class Estimate:
    """A number, the interval around it, and where it was measured."""

    value: float
    low: float
    high: float
    at: str = ""

    def located(self, at: str) -> "Estimate":
        """The same number, measured there."""
        return replace(self, at=at)


def exact(value: float, at: str = "") -> Estimate:
    """A number that was computed, not sampled."""
    return Estimate(float(value), float(value), float(value), at)


def mean(values: ArrayLike) -> Estimate:
    """The mean of independent trials.

    >>> mean([3.0, 4.0, 5.0]).value
    4.0
    """
    trials = np.asarray(values, dtype=np.float64)
    return _around(float(trials.mean()), trials)


def mean_count(values: ArrayLike, *, most: float = math.inf) -> Estimate:
    """The mean of counts from 0 to ``most``, with an interval that stays there.

    The score interval: all m with ``(mean - m)^2 <= t^2 phi m / n``, where phi is the ratio of
    variance to mean, at least the 1 of Poisson counts. No counts at all still leave a doubt.

    >>> estimate = mean_count([0] * 20)
    >>> estimate.value, estimate.low, round(estimate.high, 3)
    (0.0, 0.0, 0.219)
    """
    counts = np.asarray(values, dtype=np.float64)
    n, value = len(counts), float(counts.mean())
    excess = max(1.0, float(counts.var(ddof=1)) / value) if value else 1.0
    half = _student(n - 1) ** 2 * excess / (2 * n)
    reach = math.sqrt(half * half + 2 * half * value)
    return Estimate(value, max(0.0, value + half - reach), min(most, value + half + reach))


def proportion(outcomes: ArrayLike) -> Estimate:
    """How often something was so, with its exact interval.

    >>> estimate = proportion([True] * 20)
    >>> estimate.value, round(estimate.low, 3), estimate.high
    (1.0, 0.832, 1.0)
    """
    seen = np.asarray(outcomes, dtype=np.bool_)
    count = int(seen.sum())
    low, high = clopper_pearson(count, len(seen), confidence=CONFIDENCE)
    return Estimate(count / len(seen), low, high)


def ratio(numerator: ArrayLike, denominator: ArrayLike) -> Estimate:
    """The ratio of two means over the same trials.

    >>> ratio([2.0, 4.0], [1.0, 2.0])
    Estimate(value=2.0, low=2.0, high=2.0, at='')
    """
    above, below = _paired(numerator, denominator)
    value = float(above.mean() / below.mean())
    return _around(value, (above - value * below) / below.mean())


def exponent(players: ArrayLike, trials: NDArray[np.float64]) -> Estimate:
    """The exponent b of samples ~ N^b, fitted to each trial's curve (rows) on log axes.

    >>> round(exponent([32, 64, 128], np.array([[1.0, 4.0, 16.0], [3.0, 12.0, 48.0]])).value, 9)
    2.0
    """
    return mean(slopes(np.log(np.asarray(players, dtype=np.float64)), np.log(trials)))


def slopes(x: NDArray[np.float64], rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The slope over ``x`` of a straight line through each row."""
    centred = x - x.mean()
    return np.asarray(rows @ centred / (centred @ centred))


def deviation_ratio(numerator: ArrayLike, denominator: ArrayLike) -> Estimate:
    """The ratio of two standard deviations, by the jackknife of its logarithm."""
    pair = _paired(numerator, denominator)
    n = len(pair[0])
    whole = math.log(pair[0].std(ddof=1) / pair[1].std(ddof=1))
    above, below = map(_variances_without, pair)
    pseudo = n * whole - (n - 1) * np.log(above / below) / 2
    logs = _around(whole, pseudo)
    return Estimate(math.exp(whole), math.exp(logs.low), math.exp(logs.high))


def _variances_without(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sample variance without each of the values in turn."""
    n = len(values)
    squares = (values - values.mean()) ** 2
    return np.asarray((squares.sum() - squares * n / (n - 1)) / (n - 2))


def _paired(above: ArrayLike, below: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two rows of trials, as far as both go."""
    first, second = np.asarray(above, dtype=np.float64), np.asarray(below, dtype=np.float64)
    n = min(len(first), len(second))
    return first[:n], second[:n]


def _around(value: float, spread: NDArray[np.float64]) -> Estimate:
    """``value``, give or take the t interval of the mean of ``spread``."""
    n = len(spread)
    deviation = float(spread.std(ddof=1))
    # Identical trials differ by rounding alone once they have been scaled.
    if deviation < 1e-9 * abs(value):
        deviation = 0.0
    half = _student(n - 1) * deviation / math.sqrt(n)
    return Estimate(value, value - half, value + half)
