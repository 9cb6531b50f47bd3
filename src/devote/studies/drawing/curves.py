"""Curves over the number of players: means of the trials, with their intervals."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from devote.problems import get_problem
from devote.simulate.result import Result
from devote.studies.drawing import style
from devote.studies.drawing.labels import EndLabel, write_labels
from devote.studies.estimates import Estimate, exact, mean
from devote.studies.table import Table
from devote.studies.variants import DELTA, EPSILON, SCHEMES, Variant
from devote.theory import sample_lower_bound

LOWER_BOUND = "Lower bound: these arms, any algorithm that errs with probability δ at most."

Measure = Callable[[Result], NDArray[np.int64]]


@dataclass(frozen=True)
class Curve:
    """One line: an estimate for each point, and how it looks.

    ``shift`` is a factor on the number of players that keeps bars of different curves apart.
    """

    x: tuple[float, ...]
    estimates: tuple[Estimate, ...]
    label: str
    colour: str
    line: style.Line = "-"
    marker: str = ""
    width: float = 1.8
    shift: float = 1.0


def samples(result: Result) -> NDArray[np.int64]:
    """What most curves show."""
    return result.samples


def curve(
    table: Table,
    *,
    variant: Variant,
    scheme: str,
    problem: str,
    measure: Measure = samples,
) -> Curve:
    """The curve of one algorithm on one problem, in its colour and line."""
    line, marker = style.LINES[scheme]
    results = [table[variant.scenario(problem, scheme, n)] for n in table.players]
    return Curve(
        x=tuple(map(float, table.players)),
        estimates=tuple(mean(measure(result)) for result in results),
        label=f"{SCHEMES[scheme]} {variant.label}",
        colour=style.SUBROUTINES[variant.label],
        line=line,
        marker=marker,
    )


def level(table: Table, estimate: Estimate, *, label: str, variant: Variant) -> Curve:
    """A number that does not depend on the number of players: one line, one bar."""
    ends = (float(table.players[0]), float(table.players[-1]))
    colour, line = style.SUBROUTINES[variant.label], style.dots(variant.label)
    return Curve(ends, (exact(estimate.value), estimate), label, colour, line)


def draw_curves(axes: Axes, curves: Sequence[Curve]) -> list[EndLabel]:
    """Draw lines and bars; the labels for their ends, to be written once the axes are set."""
    for item in curves:
        x = [item.shift * n for n in item.x]
        style.bars(axes, x, item.estimates, item.colour)
        axes.plot(
            x,
            [estimate.value for estimate in item.estimates],
            linestyle=item.line,
            marker=item.marker or None,
            color=item.colour,
            linewidth=item.width,
        )
    return [EndLabel(c.x[-1], c.estimates[-1].value, c.label, c.colour) for c in curves]


def draw_lower_bound(axes: Axes, table: Table, problem: str) -> EndLabel:
    """What the arms of a stationary problem take at least, whatever the algorithm."""
    bound = sample_lower_bound(get_problem(problem).means, epsilon=EPSILON, delta=DELTA)
    ends = [table.players[0], table.players[-1]]
    axes.plot(ends, [bound, bound], color=style.BLACK, linewidth=1.0, dashes=(1, 2))
    return EndLabel(ends[-1], bound, "lower bound", style.BLACK)


def finish(axes: Axes, table: Table, labels: Sequence[EndLabel], *, of: str) -> None:
    """Set both axes, then write the labels where the lines have come to lie."""
    style.players_axis(axes, table.players)
    style.counts_axis(axes, of)
    write_labels(axes, labels)
