"""How often was this player active? A number, guessed from when it was heard of.

The adversary cuts what it sees into stretches, learns one number for each from runs of its own, and
is measured by the median of its relative error. The rival without messages has one number for all.
Both use the best numbers there are for that measure, so what lies between them is what the messages
give away.

Paper: Definition 3 has no word on activity.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from devote.audit.adversaries import BINS, SILENT
from devote.audit.batches import Rate
from devote.audit.leak import rate_of
from devote.audit.views import View
from devote.theory import binomial_tail

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
        return {
            "median_relative_error": self.error,
            "interval": list(self.interval),
            "without_messages": self.blind,
            "near": NEAR,
            "within": self.near.to_dict(),
            "within_without_messages": self.blind_near.to_dict(),
        }


def count_error(taught: Sequence[View], tested: Sequence[View], *, others: bool) -> CountError:
    """Learn from some runs to estimate activations, and be measured on others.

    Of the clocks that it can read the adversary takes the one that served it best while learning.
    """
    clocks = (first_heard, last_heard, *((first_share, last_share) if others else ()))
    ways = [_learn(taught, clock) for clock in clocks]
    way = min(ways, key=lambda guess: _median(_errors(guess, taught)))
    errors = _errors(way, tested)
    number = best_number([view.activations for view in taught])
    blind = _errors(lambda view: number, tested)
    return CountError(
        error=_median(errors),
        interval=median_interval(errors),
        blind=_median(blind),
        near=rate_of([error <= NEAR for error in errors]),
        blind_near=rate_of([error <= NEAR for error in blind]),
    )


def first_heard(view: View) -> float:
    """When the player was first heard of."""
    return float(view.own[0].time)


def last_heard(view: View) -> float:
    """When the player was last heard of."""
    return float(view.own[-1].time)


def first_share(view: View) -> float:
    """When it was first heard of, as a share of the time until anybody was last heard of."""
    return first_heard(view) / _end(view)


def last_share(view: View) -> float:
    """When it was last heard of, as such a share."""
    return last_heard(view) / _end(view)


def _end(view: View) -> float:
    return max(1.0, *(float(sent.time) for sent in (*view.own, *view.others)))


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
    ranked = sorted(values)
    n = len(ranked)
    k = 0
    while 2 * (k + 1) < n and binomial_tail(n - k, n, probability=0.5) <= risk / 2:
        k += 1
    k = max(k - 1, 0)
    return ranked[k], ranked[n - 1 - k]


def _learn(taught: Sequence[View], clock: Clock) -> Clock:
    times = sorted(clock(view) for view in taught if view.own)
    edges = [times[len(times) * i // BINS] for i in range(1, BINS)] if times else []

    def stretch(view: View) -> int:
        return bisect_right(edges, clock(view)) if view.own else SILENT

    seen: defaultdict[int, list[int]] = defaultdict(list)
    for view in taught:
        seen[stretch(view)].append(view.activations)
    numbers = {place: best_number(counts) for place, counts in seen.items()}
    usual = best_number([view.activations for view in taught])
    return lambda view: numbers.get(stretch(view), usual)


def _errors(guess: Clock, views: Sequence[View]) -> list[float]:
    counts = [max(view.activations, 1) for view in views]
    return [abs(guess(view) - count) / count for view, count in zip(views, counts, strict=True)]


def _median(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2]
