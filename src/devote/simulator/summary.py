"""What a result came to, each number with its 95 % interval and the name of that interval."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from devote.theory import clopper_pearson

if TYPE_CHECKING:
    from devote.simulator.results import Result

CONFIDENCE = 0.95

STUDENT = "Student t"
"""For means: exact for normal trials, good for some twenty of any shape."""

EXACT = "Clopper-Pearson"
"""For fractions: exact, whatever the number of trials."""

HEADS = ("", "mean", "95 % interval", "by", "trials")


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


def mean(values: ArrayLike) -> Estimate:
    """The mean of independent trials.

    >>> mean([3.0, 4.0, 5.0]).value
    4.0
    """
    trials = np.asarray(values, dtype=np.float64)
    return around(float(trials.mean()), trials)


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


def around(value: float, spread: NDArray[np.float64]) -> Estimate:
    """``value``, give or take the t interval of the mean of ``spread``."""
    n = len(spread)
    deviation = float(spread.std(ddof=1))
    # Identical trials differ by rounding alone once they have been scaled.
    if deviation < 1e-9 * abs(value):
        deviation = 0.0
    half = student(n - 1) * deviation / math.sqrt(n)
    return Estimate(value, value - half, value + half)


def student(degrees: int) -> float:
    """How many standard errors the interval of a mean reaches to either side."""
    from scipy.special import stdtrit  # a fifth of a worker's start, which needs none of it

    return float(stdtrit(degrees, 0.5 + CONFIDENCE / 2))


class Row(NamedTuple):
    """One number: ``low`` and ``high`` are None where one trial tells nothing of the spread."""

    name: str
    value: float
    low: float | None
    high: float | None
    interval: str
    trials: int

    def texts(self) -> tuple[str, ...]:
        """The cells of a table."""
        show = percent if self.interval == EXACT else number
        between = "-"
        if self.low is not None and self.high is not None:
            between = f"{show(self.low)} to {show(self.high)}"
        return self.name, show(self.value), between, self.interval, f"{self.trials:,}"


@dataclass(frozen=True, repr=False)
class Summary:
    """A title and rows; it prints as a table."""

    title: str
    rows: tuple[Row, ...]

    def __repr__(self) -> str:
        return f"{self.title}\n{text_table(HEADS, [row.texts() for row in self.rows])}"

    def __getitem__(self, name: str) -> Row:
        """The row of that name."""
        return {row.name: row for row in self.rows}[name]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        rows = [row._asdict() for row in self.rows]
        return {"title": self.title, "confidence": CONFIDENCE, "rows": rows}


def summarise(result: "Result") -> Summary:
    """The summary of a result."""
    rows = []
    if result.trials:
        means: list[tuple[str, Any]] = [
            ("samples", result.decided),
            ("samples until all know", result.samples_until_all_know),
            ("samples per player", result.decided / result.n_players),
            ("suboptimal plays", result.suboptimal_plays),
            ("broadcasts", result.broadcasts),
            ("deliveries", result.deliveries),
        ]
        rows = [mean_row(name, values) for name, values in means if len(values)]
        for status, count in result.status_counts().items():
            if count or status == "agreed":
                rows.append(_fraction(status, result.ended(status)))
        rows.append(_fraction("good answers", result.epsilon_optimal))
    return Summary(
        f"{result.scenario.label}: {result.trials} trials, seed {result.seed}", tuple(rows)
    )


def results_table(results: Sequence["Result"]) -> tuple[list[str], list[list[str]]]:
    """The heads and rows of a table of results: what varies between them, and what they came to."""
    from devote.simulator.results import setting, varying

    names = varying([result.scenario for result in results])
    rows = []
    for result in results:
        first = setting(result.scenario)
        samples, sent = (
            mean_row("", values).texts() if len(values) else ("-",) * len(HEADS)
            for values in (result.decided, result.broadcasts)
        )
        share = percent(float(result.epsilon_optimal.mean())) if result.trials else "-"
        texts = [f"{result.trials:,}", samples[1], samples[2], sent[1], share]
        rows.append([*(str(first[name]) for name in names), *texts])
    return [*names, "trials", "samples", "95 % interval", "broadcasts", "good answers"], rows


def mean_row(name: str, values: Any) -> Row:
    """A mean with its Student t interval."""
    trials = np.asarray(values, dtype=np.float64)
    if len(trials) < 2:
        return Row(name, float(trials.mean()), None, None, STUDENT, len(trials))
    found = mean(trials)
    return Row(name, found.value, found.low, found.high, STUDENT, len(trials))


def _fraction(name: str, outcomes: Any) -> Row:
    found = proportion(outcomes)
    return Row(name, found.value, found.low, found.high, EXACT, len(outcomes))


def number(value: float) -> str:
    """A count: whole from a hundred on, else three digits.

    >>> number(20654.67), number(12.34), number(-0.0523), number(0)
    ('20,655', '12.3', '-0.0523', '0')
    """
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def percent(value: float) -> str:
    """A fraction in per cent, never rounded to 0 or 100 unless it is.

    >>> percent(0.0523), percent(0.99996), percent(1.0), percent(0.83157)
    ('5.2 %', '99.9 %', '100 %', '83.2 %')
    """
    if value in (0.0, 1.0):
        return f"{value:.0%}".replace("%", " %")
    return f"{math.floor(1000 * value) / 10 if value > 0.999 else 100 * value:.1f} %"


def text_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns aligned by spaces, the first to the left, the others to the right."""
    lines = [tuple(heads), *(tuple(row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    texts = []
    for first, *others in lines:
        cells = [first.ljust(widths[0])]
        cells += [text.rjust(width) for text, width in zip(others, widths[1:], strict=True)]
        texts.append("  ".join(cells).rstrip())
    return "\n".join(texts)
