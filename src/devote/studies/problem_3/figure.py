"""Samples on problem 3, and what each algorithm gains from the drift."""

from dataclasses import replace
from itertools import product

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from devote.studies.drawing import style
from devote.studies.drawing.canvas import footnote, panels
from devote.studies.drawing.curves import curve, draw_curves
from devote.studies.drawing.labels import write_labels
from devote.studies.estimates import mean
from devote.studies.problem_1.figure import draw_samples, made_of
from devote.studies.settings import Settings
from devote.studies.table import Table
from devote.studies.variants import SER3, UGAPEC

SHIFTS = (0.94, 0.98, 1.02, 1.06)
"""Four curves side by side at each number of players, so that no bar hides another."""


def draw(table: Table, settings: Settings) -> Figure:
    """Panel (a) the six algorithms, panel (b) the same relative to problem 1."""
    figure, (left, right) = panels(2, size=(10.0, 4.4), bottom=0.245)
    draw_samples(left, table, settings, problem="3")
    left.set_title("(a) Problem 3: samples until all are done")
    _draw_relative(right, table, settings)
    right.set_title("(b) Problem 3 relative to problem 1")
    footnote(
        figure,
        [
            made_of(settings, bound=False),
            "Problem 3: all arms but the best lose 1e-5 per time step, down to 0, so that the "
            "gaps widen. (b) Below 1: the drift makes the problem easier.",
        ],
    )
    return figure


def _draw_relative(axes: Axes, table: Table, settings: Settings) -> None:
    curves = []
    for i, (protocol, variant) in enumerate(product(("isolated", "decentralized"), (SER3, UGAPEC))):
        item = curve(table, settings, variant=variant, protocol=protocol, problem="3")
        drifting, steady = (
            table.trials_by_players(variant, protocol, problem, settings.players)
            for problem in ("3", "1")
        )
        estimates = tuple(mean(column) for column in (drifting / steady).T)
        curves.append(replace(item, estimates=estimates, shift=SHIFTS[i]))
    labels = draw_curves(axes, curves)
    style.players_axis(axes, settings.players)
    axes.axhline(1.0, color=style.BLACK, linewidth=0.9)
    axes.set_ylabel("samples, problem 3 / problem 1")
    write_labels(axes, labels)
