"""Samples, and messages counted in two ways, against the number of players."""

from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from devote.experiments.drawing import style
from devote.experiments.drawing.canvas import footnote, panels
from devote.experiments.drawing.curves import (
    BAND,
    Curve,
    curve,
    draw_curves,
    draw_lower_bound,
    finish,
)
from devote.experiments.settings import Settings
from devote.experiments.table import Table
from devote.experiments.variants import PROTOCOLS, SER3, UGAPEC


def draw(table: Table, settings: Settings) -> Figure:
    """Panel (a) samples, panel (b) messages."""
    figure, (left, right) = panels(2)
    draw_samples(left, table, settings, problem="1")
    left.set_title("(a) Problem 1: samples until all are done")
    _draw_messages(right, table, settings)
    right.set_title("(b) Problem 1: messages")
    footnote(
        figure,
        [
            f"{BAND} {settings.trials} trials. SER3 with radius form “union”.",
            "(b) As the paper counts: a vote broadcast to all is one message, a shared sample is "
            "N−1. Grey: votes counted like samples, once per receiver.",
        ],
    )
    return figure


def draw_samples(axes: Axes, table: Table, settings: Settings, *, problem: str) -> None:
    """The six algorithms and the lower bound on one problem."""
    curves = [
        curve(table, settings, variant=variant, protocol=protocol, problem=problem)
        for protocol in PROTOCOLS
        for variant in (SER3, UGAPEC)
    ]
    labels = draw_curves(axes, curves)
    labels.append(draw_lower_bound(axes, settings))
    finish(axes, settings, labels, of="samples")


def _draw_messages(axes: Axes, table: Table, settings: Settings) -> None:
    curves: list[Curve] = []
    for variant in (SER3, UGAPEC):
        curves.append(
            curve(
                table,
                settings,
                variant=variant,
                protocol="pooled",
                problem="1",
                measure=lambda result: result.deliveries,
            )
        )
    votes = curve(
        table,
        settings,
        variant=SER3,
        protocol="decentralized",
        problem="1",
        measure=lambda result: result.broadcasts,
    )
    times = np.array(settings.players, dtype=np.float64) - 1.0
    curves.append(replace(votes, label="Decentralized", colour=style.BLACK))
    curves.append(
        replace(
            votes,
            label="Decentralized × (N−1)",
            colour=style.GREY,
            trials=votes.trials * times,
            line="-.",
            marker="",
        )
    )
    labels = draw_curves(axes, curves)
    finish(axes, settings, labels, of="messages")
    axes.set_ylim(bottom=30)
    axes.annotate(
        "1-privacy: no messages", (0.03, 0.03), xycoords="axes fraction", color=style.GREY, size=8.5
    )
