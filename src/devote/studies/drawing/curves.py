"""Curves over the number of players: means of the trials, with their intervals."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from devote.studies.drawing import style
from devote.studies.drawing.labels import EndLabel, write_labels
from devote.studies.estimates import Estimate, exact, mean
from devote.studies.settings import Settings
from devote.studies.table import Table
from devote.studies.variants import DELTA, EPSILON, PROTOCOLS, Variant
from devote.problems import get_problem
from devote.simulate.result import Result
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
    settings: Settings,
    *,
    variant: Variant,
    protocol: str,
    problem: str,
    measure: Measure = samples,
) -> Curve:
    """The curve of one algorithm on one problem, in its colour and line."""
    line, marker = style.LINES[protocol]
    results = [table[variant.cell(problem, protocol, n)] for n in settings.players]
    return Curve(
        x=tuple(map(float, settings.players)),
        estimates=tuple(mean(measure(result)) for result in results),
        label=f"{PROTOCOLS[protocol]} {variant.label}",
        colour=style.SUBROUTINES[variant.label],
        line=line,
        marker=marker,
    )


def level(settings: Settings, estimate: Estimate, *, label: str, variant: Variant) -> Curve:
    """A number that does not depend on the number of players: one line, one bar."""
    ends = (float(settings.players[0]), float(settings.players[-1]))
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


def draw_lower_bound(axes: Axes, settings: Settings, problem: str) -> EndLabel:
    """What the arms of a stationary problem take at least, whatever the algorithm."""
    bound = sample_lower_bound(get_problem(problem).means, epsilon=EPSILON, delta=DELTA)
    ends = [settings.players[0], settings.players[-1]]
    axes.plot(ends, [bound, bound], color=style.BLACK, linewidth=1.0, dashes=(1, 2))
    return EndLabel(ends[-1], bound, "lower bound", style.BLACK)


def finish(axes: Axes, settings: Settings, labels: Sequence[EndLabel], *, of: str) -> None:
    """Set both axes, then write the labels where the lines have come to lie."""
    style.players_axis(axes, settings.players)
    style.counts_axis(axes, of)
    write_labels(axes, labels)
