"""How simulated runs spread: their mean with its interval, percentiles, and what is enough."""

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from devote.simulator.estimates import mean
from devote.theory import binomial_tail

DECIDES = 0.95
"""A plan is good if this share of its runs comes to an answer in time."""

SURE = 0.99
"""How sure it is that the devices named are enough for that share."""

Floats: TypeAlias = NDArray[np.float64]


def spread_of(values: Floats) -> dict[str, float | None]:
    """The mean with its 95 % interval, the median and the 95th percentile of runs.

    Runs without an answer are infinite: they count in the percentiles, which are None where they
    are infinite, and not in the mean.

    >>> spread_of(np.array([1.0, 2.0, 3.0, np.inf]))["median"]
    2.0
    """
    finite = values[np.isfinite(values)]
    found: dict[str, float | None] = dict.fromkeys(("mean", "low", "high"))
    if len(finite):
        found = dict.fromkeys(found, float(finite.mean()))
    if len(finite) > 1:
        estimate = mean(finite)
        found = {"mean": estimate.value, "low": estimate.low, "high": estimate.high}
    for name, share in (("median", 0.5), ("p95", DECIDES)):
        value = percentile(values, share)
        found[name] = value if math.isfinite(value) else None
    return found


def percentile(values: Floats, share: float) -> float:
    """The lowest value that at least this share of all values does not exceed."""
    return float(np.sort(values)[math.ceil(share * len(values)) - 1]) if len(values) else math.inf


def enough(values: Floats) -> float:
    """What ``DECIDES`` of all runs do not exceed, with confidence ``SURE``: a value on that side.

    It is one of the values, in order; with too few of them the largest, or three standard
    deviations above the mean.

    >>> float(enough(np.arange(1.0, 401.0)))
    390.0
    """
    n, ordered = len(values), np.sort(values)
    for k in range(math.ceil(DECIDES * n), n + 1):
        if binomial_tail(k, n, probability=DECIDES) <= 1.0 - SURE:
            return float(ordered[k - 1])
    spread = float(values.std(ddof=1)) if n > 1 else float(values.mean())
    return max(float(ordered[-1]), float(values.mean()) + 3.0 * spread)
