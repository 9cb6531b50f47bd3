"""Samples on problem 2 against the number of players, with the decentralized dip up close."""

from dataclasses import replace

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from devote.studies.drawing.canvas import footnote, panels
from devote.studies.drawing.curves import curve, draw_curves, finish
from devote.studies.drawing.samples import draw_samples, made_of
from devote.studies.table import Table
from devote.studies.variants import SER3, UGAPEC


def figure(table: Table) -> Figure:
    """Panel (a) the six algorithms, panel (b) both problems side by side."""
    drawn, (left, right) = panels(2, size=(10.0, 4.4), bottom=0.245)
    draw_samples(left, table, problem="2")
    _draw_both_problems(right, table)
    footnote(
        drawn,
        [
            made_of(table),
            "Problem 2: half of the players generates 80 % of the events. With 32 players the 28 "
            "votes an arm needs must wait for rare players; with 64 they need not.",
        ],
    )
    return drawn


def _draw_both_problems(axes: Axes, table: Table) -> None:
    curves = []
    for variant in (SER3, UGAPEC):
        for problem in ("2", "1"):
            item = curve(table, variant=variant, scheme="decentralized", problem=problem)
            item = replace(item, label=f"{variant.label}, problem {problem}")
            if problem == "1":
                item = replace(item, marker="", width=1.0)
            curves.append(item)
    finish(axes, table, draw_curves(axes, curves), of="samples")
    axes.set_title("(b) Decentralized, problems 1 and 2")
