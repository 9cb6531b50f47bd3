"""How often was this player active? A number, guessed from when it was heard of.

The adversary cuts what it sees into stretches, learns one number for each from runs of its own, and
is measured by the median of its relative error. The rival without messages has one number for all.
Both use the best numbers there are for that measure, so what lies between them is what the messages
give away.

Paper: Definition 3 has no word on activity.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median_high
from typing import Any, TypeAlias

from devote.audit.adversaries import stretches
from devote.audit.batches import Rate, to_json
from devote.audit.leak import rate_of
from devote.audit.views import View

Clock: TypeAlias = Callable[[View], float]
NEAR = 0.1
"""An estimate this close to the truth, relatively, counts as a hit."""


@dataclass(frozen=True)
class CountError:
    """Median relative error of an estimated number of activations.

    ``interval`` holds the true median with 95 % confidence, whatever the distribution;
    ``near`` counts estimates within ``NEAR`` of the truth. ``blind`` and ``blind_near`` are the
    same for the best single number, without any message.
    """

    error: float
    interval: tuple[float, float]
    blind: float
    near: Rate
    blind_near: Rate

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        names = {"error": "median_relative_error", "blind": "without_messages"}
        rates = {"near": "within", "blind_near": "within_without_messages"}
        return {"near": NEAR, **to_json(self, **names, **rates)}


def count_error(taught: Sequence[View], tested: Sequence[View], *, others: bool) -> CountError:
    """Learn from some runs to estimate activations, and be measured on others.

    Of the clocks that it can read the adversary takes the one that served it best while learning.
    """
    shares = (False, True) if others else (False,)
    ways = [_learn(taught, clock(place, share=share)) for share in shares for place in (0, -1)]
    way = min(ways, key=lambda guess: median_high(_errors(guess, taught)))
    errors = _errors(way, tested)
    number = best_number([view.activations for view in taught])
    blind = _errors(lambda view: number, tested)
    return CountError(
        error=median_high(errors),
        interval=median_interval(errors),
        blind=median_high(blind),
        near=rate_of([error <= NEAR for error in errors]),
        blind_near=rate_of([error <= NEAR for error in blind]),
    )


def clock(place: int, *, share: bool = False) -> Clock:
    """When the player was first (place 0) or last (-1) heard of.

    Or that as a ``share`` of the time until anybody was last heard of.
    """

    def read(view: View) -> float:
        end = max(1, *(sent.time for sent in (*view.own, *view.others))) if share else 1
        return view.own[place].time / end

    return read


def best_number(counts: Sequence[int]) -> float:
    """The number whose relative error is least in the median.

    An error of at most r means a count from ``c / (1 + r)`` to ``c / (1 - r)``. So take the half of
    the sorted counts with the least ratio of its ends, and their harmonic mean.

    >>> best_number([1, 100, 100, 100, 900])
    100.0
    """
    ranked = sorted(max(count, 1) for count in counts)
    half = len(ranked) // 2 + 1
    ends = [(ranked[i], ranked[i + half - 1]) for i in range(len(ranked) - half + 1)]
    low, high = min(ends, key=lambda pair: pair[1] / pair[0])
    return 2.0 * low * high / (low + high)


def median_interval(values: Sequence[float], *, risk: float = 0.05) -> tuple[float, float]:
    """Order statistics between which the median lies, whatever the distribution.

    >>> median_interval([float(i) for i in range(100)])
    (39.0, 60.0)
    """
    import numpy as np
    from scipy.special import bdtr

    ranked = sorted(values)
    n = len(ranked)
    # As many values as may lie below the median but for the risk, at each end.
    below = bdtr(np.arange((n - 1) // 2), n, 0.5) <= risk / 2
    k = max(int(below.sum()) - 1, 0)
    return ranked[k], ranked[n - 1 - k]


def _learn(taught: Sequence[View], when: Clock) -> Clock:
    stretch = stretches(taught, when)
    seen: defaultdict[int, list[int]] = defaultdict(list)
    for view in taught:
        seen[stretch(view)].append(view.activations)
    numbers = {place: best_number(counts) for place, counts in seen.items()}
    usual = best_number([view.activations for view in taught])
    return lambda view: numbers.get(stretch(view), usual)


def _errors(guess: Clock, views: Sequence[View]) -> list[float]:
    counts = [max(view.activations, 1) for view in views]
    return [abs(guess(view) - count) / count for view, count in zip(views, counts, strict=True)]
