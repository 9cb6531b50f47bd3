"""Samples on problem 3, and what each algorithm gains from the drift."""

from dataclasses import replace

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from devote.experiments.drawing import style
from devote.experiments.drawing.canvas import footnote, panels
from devote.experiments.drawing.curves import BAND, curve, draw_curves
from devote.experiments.drawing.labels import write_labels
from devote.experiments.problem_1.figure import draw_samples
from devote.experiments.settings import Settings
from devote.experiments.table import Table
from devote.experiments.variants import SER3, UGAPEC


def draw(table: Table, settings: Settings) -> Figure:
    """Panel (a) the six algorithms, panel (b) the same relative to problem 1."""
    figure, (left, right) = panels(2)
    draw_samples(left, table, settings, problem="3")
    left.set_title("(a) Problem 3: samples until all are done")
    _draw_relative(right, table, settings)
    right.set_title("(b) Problem 3 relative to problem 1")
    footnote(
        figure,
        [
            f"{BAND} {settings.trials} trials. SER3 with radius form “union”.",
            "Problem 3: all arms but the best lose 1e-5 per time step, down to 0, so that the "
            "gaps widen. (b) Below 1: the drift makes the problem easier.",
        ],
    )
    return figure


def _draw_relative(axes: Axes, table: Table, settings: Settings) -> None:
    curves = []
    for protocol in ("isolated", "decentralized"):
        for variant in (SER3, UGAPEC):
            drifting, steady = (
                curve(table, settings, variant=variant, protocol=protocol, problem=problem)
                for problem in ("3", "1")
            )
            curves.append(replace(drifting, trials=drifting.trials / steady.trials))
    labels = draw_curves(axes, curves)
    style.players_axis(axes, settings.players)
    axes.axhline(1.0, color=style.BLACK, linewidth=0.9)
    axes.set_ylabel("samples, problem 3 / problem 1")
    write_labels(axes, labels)
