"""Curves over the number of players: the mean of the trials, and the band they span."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from devote.experiments.drawing import style
from devote.experiments.drawing.labels import EndLabel, write_labels
from devote.experiments.settings import Settings
from devote.experiments.table import Table
from devote.experiments.variants import DELTA, EPSILON, PROTOCOLS, Variant
from devote.simulate.result import Result
from devote.theory import lower_bound

BAND = "Lines: mean of the trials. Bands: lowest to highest trial."

COLOURS = {
    "SER3": style.BLUE,
    "SER3 (active)": style.SKY,
    "UGapEc": style.VERMILLION,
    "Median Elimination": style.GREEN,
    "Successive Elimination": style.PURPLE,
}
LINES = {"decentralized": ("-", "o"), "isolated": ("--", "^"), "pooled": (":", "s")}

Measure = Callable[[Result], NDArray[np.int64]]


@dataclass(frozen=True)
class Curve:
    """One line: its trials as rows, a column per point, and how it looks."""

    x: NDArray[np.float64]
    trials: NDArray[np.float64]
    label: str
    colour: str
    line: str = "-"
    marker: str = ""
    width: float = 1.8


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
    line, marker = LINES[protocol]
    results = [table[variant.cell(problem, protocol, n)] for n in settings.players]
    return Curve(
        x=np.array(settings.players, dtype=np.float64),
        trials=np.stack([measure(result).astype(np.float64) for result in results], axis=1),
        label=f"{PROTOCOLS[protocol]} {variant.label}",
        colour=COLOURS[variant.label],
        line=line,
        marker=marker,
    )


def draw_curves(axes: Axes, curves: Sequence[Curve]) -> list[EndLabel]:
    """Draw lines and bands; the labels for their ends, to be written once the axes are set."""
    for item in curves:
        middle = item.trials.mean(axis=0)
        axes.fill_between(
            item.x,
            item.trials.min(axis=0),
            item.trials.max(axis=0),
            color=item.colour,
            alpha=0.18,
            linewidth=0,
        )
        axes.plot(
            item.x,
            middle,
            item.line,
            marker=item.marker or None,
            color=item.colour,
            linewidth=item.width,
        )
    return [EndLabel(c.x[-1], c.trials.mean(axis=0)[-1], c.label, c.colour) for c in curves]


def draw_lower_bound(axes: Axes, settings: Settings, n_arms: int = 10) -> EndLabel:
    """The lower bound, its constant taken as 1.

    Paper: section 2, after Algorithm 1.
    """
    bound = lower_bound(n_arms, epsilon=EPSILON, delta=DELTA)
    ends = [settings.players[0], settings.players[-1]]
    axes.plot(ends, [bound, bound], color=style.BLACK, linewidth=1.0, dashes=(1, 2))
    return EndLabel(ends[-1], bound, "lower bound", style.BLACK)


def finish(axes: Axes, settings: Settings, labels: Sequence[EndLabel], *, of: str) -> None:
    """Set both axes, then write the labels where the lines have come to lie."""
    style.players_axis(axes, settings.players)
    style.counts_axis(axes, of)
    write_labels(axes, labels)
