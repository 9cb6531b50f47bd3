"""Numbers of the studies with their 95 % intervals, from a handful of trials.

Means have Student-t intervals, means of small counts score intervals, proportions exact ones.
Trial i of every cell draws from the streams of trial i, so two cells are compared trial by
trial; a ratio of means is linearised (the delta method).
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from devote.simulator.summary import CONFIDENCE as CONFIDENCE
from devote.simulator.summary import Estimate as Estimate
from devote.simulator.summary import around, student
from devote.simulator.summary import mean as mean
from devote.simulator.summary import proportion as proportion


def exact(value: float, at: str = "") -> Estimate:
    """A number that was computed, not sampled."""
    return Estimate(float(value), float(value), float(value), at)


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
    half = student(n - 1) ** 2 * excess / (2 * n)
    reach = math.sqrt(half * half + 2 * half * value)
    return Estimate(value, max(0.0, value + half - reach), min(most, value + half + reach))


def ratio(numerator: ArrayLike, denominator: ArrayLike) -> Estimate:
    """The ratio of two means over the same trials.

    >>> ratio([2.0, 4.0], [1.0, 2.0])
    Estimate(value=2.0, low=2.0, high=2.0, at='')
    """
    above, below = _paired(numerator, denominator)
    value = float(above.mean() / below.mean())
    return around(value, (above - value * below) / below.mean())


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
    logs = around(whole, pseudo)
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
