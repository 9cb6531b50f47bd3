"""Samples, and messages counted in two ways, against the number of players."""

from collections.abc import Sequence
from dataclasses import replace

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from devote.studies.drawing import style
from devote.studies.drawing.canvas import footnote, panels
from devote.studies.drawing.curves import Curve, curve, draw_curves, finish
from devote.studies.drawing.samples import draw_samples, made_of
from devote.studies.estimates import Estimate, mean
from devote.studies.single_learners import zero_privacy
from devote.studies.table import Table
from devote.studies.variants import SER3, UGAPEC, Variant


def figure(table: Table) -> Figure:
    """Panel (a) samples, panel (b) messages."""
    drawn, (left, right) = panels(2, size=(10.0, 4.4), bottom=0.245)
    draw_samples(left, table, problem="1")
    _draw_messages(right, table)
    footnote(
        drawn,
        [
            made_of(table),
            "(b) As the paper counts: a vote sent to all is one message, a shared sample is "
            "N−1. Grey: votes counted like samples, once per receiver.",
        ],
    )
    return drawn


def _draw_messages(axes: Axes, table: Table) -> None:
    votes = curve(
        table,
        variant=SER3,
        scheme="decentralized",
        problem="1",
        measure=lambda result: result.broadcasts,
    )
    curves = [
        *(_shared_samples(table, variant) for variant in (SER3, UGAPEC)),
        replace(votes, label="Decentralized", colour=style.BLACK),
        replace(
            votes,
            label="Decentralized × (N−1)",
            colour=style.GREY,
            estimates=_per_receiver(table, votes.estimates),
            line="-.",
            marker="",
        ),
    ]
    finish(axes, table, draw_curves(axes, curves), of="messages")
    axes.set_ylim(bottom=30)
    axes.annotate(
        "1-privacy: no messages", (0.03, 0.03), xycoords="axes fraction", color=style.GREY, size=8.5
    )
    axes.set_title("(b) Problem 1: messages")


def _shared_samples(table: Table, variant: Variant) -> Curve:
    """Of 0-privacy: each sample goes to N - 1 others."""
    one = mean(table[zero_privacy(variant)].samples)
    return Curve(
        x=tuple(map(float, table.players)),
        estimates=_per_receiver(table, [one] * len(table.players)),
        label=f"0-privacy {variant.label}",
        colour=style.SUBROUTINES[variant.label],
        line=style.dots(variant.label),
    )


def _per_receiver(table: Table, estimates: Sequence[Estimate]) -> tuple[Estimate, ...]:
    return tuple(
        Estimate((n - 1) * e.value, (n - 1) * e.low, (n - 1) * e.high)
        for n, e in zip(table.players, estimates, strict=True)
    )
