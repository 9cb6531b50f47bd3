"""Two settings compared trial by trial, on common random numbers.

Trial i of every setting draws who wakes, what is chosen and what is paid from the same streams on
the same engine, so the difference of two settings varies less than either, and few trials tell
them apart. Counts are compared by the paired t test. What is true or false of a trial is compared
by the exact McNemar test on the trials in which the two differ.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from devote.simulator.block import COUNTS, JUDGEMENTS
from devote.simulator.errors import ResultError
from devote.simulator.results import Result
from devote.simulator.summary import CONFIDENCE, mean, number
from devote.simulator.trial import NEVER
from devote.theory import binomial_tail, clopper_pearson

T_TEST = "paired t test"
MCNEMAR = "exact McNemar test"


@dataclass(frozen=True, repr=False)
class Comparison:
    """The mean over trials of one setting minus the other, and how sure that is.

    ``low`` and ``high`` hold the true mean difference with 95 % confidence, ``p_value`` is the
    probability of a difference at least as large if there were none, by ``test``. ``left_out``
    counts pairs without a value, ``unfinished`` pairs of which one was cut off by the horizon:
    their samples are too small.
    """

    first: str
    second: str
    column: str
    trials: int
    mean_first: float
    mean_second: float
    difference: float
    low: float
    high: float
    p_value: float
    test: str
    left_out: int = 0
    unfinished: int = 0

    def __repr__(self) -> str:
        change = ""
        if self.test == T_TEST and self.mean_second:
            change = f" ({self.difference / self.mean_second:+.1%})"
        lines = [
            f"{self.column}, mean of {self.trials} paired trials (common random numbers)",
            f"  first   {number(self.mean_first):>10}  {self.first}",
            f"  second  {number(self.mean_second):>10}  {self.second}",
            f"  first - second = {number(self.difference)}{change}, "
            f"95 % interval {number(self.low)} to {number(self.high)}",
            f"  {self.test}: p = {self.p_value:.2g}",
        ]
        if self.left_out:
            lines.append(f"  {self.left_out} pairs left out: one of the two has no decision")
        if self.unfinished:
            lines.append(f"  {self.unfinished} pairs hold a trial that the horizon cut off")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {"confidence": CONFIDENCE, **self.__dict__}


def compare(first: Result, second: Result, column: str = "samples") -> Comparison:
    """Compare a column of two results of the same seed and engine, trial by trial.

    For counts the interval is the paired Student t interval. For ``epsilon_optimal`` and
    ``holds_epsilon_optimal`` it is exact, if wide: from two Clopper-Pearson intervals, each at
    97.5 %, for how often one is right where the other is not.

    >>> from devote.problems import PROBLEMS
    >>> from devote.protocol import ExperimentSpec
    >>> from devote.simulator import simulate
    >>> a, b = (simulate(ExperimentSpec(arms=10, algorithm=name), PROBLEMS["1"], 32, trials=10)
    ...         for name in ("ser3", "ugapec"))
    >>> found = compare(a, b)
    >>> found.difference < 0, found.high < 0, found.test
    (True, True, 'paired t test')
    """
    if column not in (*COUNTS, *JUDGEMENTS):
        known = ", ".join((*COUNTS, *JUDGEMENTS))
        raise ResultError(f"{column!r} cannot be compared.\nUse one of: {known}.")
    if first.seed != second.seed:
        raise ResultError(
            f"The seeds are {first.seed} and {second.seed}: trials have no random numbers in "
            "common.\nRun both with the same seed."
        )
    numbers, others = (_numbers(result) for result in (first, second))
    if numbers != others:
        raise ResultError(
            f"The engines are {numbers} and {others}: trials have no random numbers in common.\n"
            "Run both with engine='event'."
        )
    n = min(first.trials, second.trials)
    one, other = (np.asarray(getattr(result, column)[:n]) for result in (first, second))
    there = np.ones(n, dtype=bool)
    if column == "samples":
        there = (one != NEVER) & (other != NEVER)
    one, other = one[there].astype(np.float64), other[there].astype(np.float64)
    if len(one) < 2:
        raise ResultError(
            f"There are {len(one)} pairs of trials to compare.\nRun at least 2 trials of each."
        )
    cut = [result.ended("unfinished")[:n][there] for result in (first, second)]
    differ = _judged if column in JUDGEMENTS else _counted
    difference, low, high, p_value, test = differ(one, other)
    return Comparison(
        first=first.scenario.label,
        second=second.scenario.label,
        column=column,
        trials=len(one),
        mean_first=float(one.mean()),
        mean_second=float(other.mean()),
        difference=difference,
        low=low,
        high=high,
        p_value=p_value,
        test=test,
        left_out=int(n - there.sum()),
        unfinished=int((cut[0] | cut[1]).sum()),
    )


def _numbers(result: Result) -> str:
    """The engine, of those that draw different numbers; the slow path draws those of ``event``."""
    scenario = result.scenario
    if result.engine == "cuda":
        return "cuda" if scenario.why_no_passes else "passes"
    return "passes" if result.engine == "passes" else "event"


def _counted(one: Any, other: Any) -> tuple[float, float, float, float, str]:
    differences = one - other
    found = mean(differences)
    error = float(differences.std(ddof=1)) / math.sqrt(len(differences))
    if error == 0.0:
        p_value = 1.0 if found.value == 0.0 else 0.0
    else:
        from scipy.special import stdtr

        p_value = 2.0 * float(stdtr(len(differences) - 1, -abs(found.value) / error))
    return found.value, found.low, found.high, p_value, T_TEST


def _judged(one: Any, other: Any) -> tuple[float, float, float, float, str]:
    n = len(one)
    only_first, only_second = int((one > other).sum()), int((other > one).sum())
    differing = only_first + only_second
    # Were there no difference, either would be the right one with probability 1/2.
    tail = binomial_tail(max(only_first, only_second), differing, probability=0.5)
    each = 1.0 - (1.0 - CONFIDENCE) / 2.0
    (low_1, high_1), (low_2, high_2) = (
        clopper_pearson(count, n, confidence=each) for count in (only_first, only_second)
    )
    difference = (only_first - only_second) / n
    return difference, low_1 - high_2, high_1 - low_2, min(1.0, 2.0 * tail), MCNEMAR
