"""Trials in batches until an interval is tight enough, and no longer than was agreed to.

The rule: a first batch of 100 runs; then as many as the interval would need if the proportion
were as far from 0 and 1 as the first interval allows, in growing batches, until half the width of
the exact interval is at most the precision. The interval reported is the exact one for the number
of runs at the end; that this number depends on the outcomes is not corrected for.
"""

import math
import time
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, field, fields
from typing import Any, TypeAlias, TypedDict

from devote.errors import DevoteError
from devote.simulator import Scenario, Trial
from devote.simulator.executors import in_chunks, local_executor, worker_count
from devote.simulator.trials import run_chunk, warm_up
from devote.theory import clopper_pearson


class AuditError(DevoteError, ValueError):
    """An audit that cannot be made as asked."""


FIRST = 100
PATIENCE = 3600.0
"""Seconds that an audit may take without being asked about."""

Progress: TypeAlias = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Rate:
    """How often something happened, with its exact interval.

    >>> Rate(1, 4).value
    0.25
    """

    count: int
    runs: int
    confidence: float = 0.95

    @property
    def value(self) -> float:
        """The proportion, 0 where there was no run."""
        return self.count / self.runs if self.runs else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Clopper and Pearson's; everything where there was no run."""
        if not self.runs:
            return 0.0, 1.0
        return clopper_pearson(self.count, self.runs, confidence=self.confidence)

    @property
    def half_width(self) -> float:
        """Half the width of the interval."""
        low, high = self.interval
        return (high - low) / 2.0

    def to_dict(self) -> dict[str, object]:
        """As JSON values."""
        return {**asdict(self), "value": self.value, "interval": list(self.interval)}


def to_json(item: Any, **renamed: str) -> dict[str, Any]:
    """The fields of a dataclass as JSON values, some under other names."""

    def value(field: Any) -> Any:
        return field.to_dict() if hasattr(field, "to_dict") else field

    return {renamed.get(it.name, it.name): value(getattr(item, it.name)) for it in fields(item)}


class Options(TypedDict, total=False):
    """How an audit is run; the defaults are those of ``Batches``.

    It runs until the rate of failures is known to ``precision``, with this ``confidence``; with
    ``allow_long`` for as long as that takes.
    """

    precision: float
    confidence: float
    seed: int
    workers: int | None
    allow_long: bool
    progress: Progress | None


@dataclass
class Batches:
    """The trials of one scenario, run as they are asked for."""

    scenario: Scenario
    precision: float = 0.01
    confidence: float = 0.95
    seed: int = 0
    workers: int | None = 1
    allow_long: bool = False
    progress: Progress | None = None
    runs: list[Trial] = field(default_factory=list)
    seconds: float = 0.0

    def until(self, failed: Callable[[Trial], bool]) -> Rate:
        """Run until the rate of failures is known to the precision."""
        if not 0.0 < self.precision < 0.5:
            raise AuditError(
                f"precision={self.precision!r} must be in (0, 0.5).\n"
                "It is half the width of the interval; 0.01 is one per cent either way."
            )
        warm_up(self.scenario)
        with local_executor(worker_count(self.workers)) as executor:
            size = FIRST
            while True:
                self._run(size, executor)
                rate = Rate(sum(map(failed, self.runs)), len(self.runs), self.confidence)
                needed = runs_needed(rate, self.precision)
                if self.progress is not None:
                    self.progress(rate.runs, max(needed, rate.runs), self.scenario.label)
                if rate.half_width <= self.precision:
                    return rate
                left = max(needed - rate.runs, FIRST)
                self._ask(left)
                size = min(left, rate.runs)

    def _run(self, size: int, executor: Executor) -> None:
        begin = time.perf_counter()
        trials = range(len(self.runs), len(self.runs) + size)
        step = max(1, size // (4 * worker_count(self.workers)))
        # Where there are resets each term is judged, which takes a trace.
        options = self.seed, self.scenario.algorithm.endless
        for runs in in_chunks(executor, step, run_chunk, self.scenario, trials, *options):
            self.runs.extend(runs)
        self.seconds += time.perf_counter() - begin

    def _ask(self, left: int) -> None:
        estimate = self.seconds / len(self.runs) * left
        if not self.allow_long and estimate > PATIENCE:
            raise AuditError(
                f"precision={self.precision:g} would need about {left:,} more runs of "
                f"{self.scenario.label}, which take {spoken_time(estimate)}.\n"
                "Pass --yes (allow_long=True) to wait, or ask for less precision."
            )


def runs_needed(rate: Rate, precision: float) -> int:
    """Runs after which the interval is about this tight, at the worst rate still plausible.

    >>> runs_needed(Rate(0, 100), 0.01) < runs_needed(Rate(50, 100), 0.01)
    True
    """
    low, high = rate.interval
    worst = min(max(0.5, low), high)
    normal = 2.0 if rate.confidence <= 0.96 else 3.9
    return math.ceil(normal**2 * worst * (1.0 - worst) / precision**2) + 1


def spoken_time(seconds: float) -> str:
    """A length of time for people.

    >>> spoken_time(90), spoken_time(7200), spoken_time(3 * 86400)
    ('1.5 minutes', '2.0 hours', '3.0 days')
    """
    for size, name in ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if seconds >= size:
            return f"{seconds / size:.1f} {name}"
    return f"{seconds:.1f} seconds"


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
