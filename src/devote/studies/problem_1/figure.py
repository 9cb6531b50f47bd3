"""Samples, and messages counted in two ways, against the number of players."""

from collections.abc import Sequence
from dataclasses import replace

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from devote.studies.drawing import style
from devote.studies.drawing.canvas import footnote, panels
from devote.studies.drawing.curves import (
    LOWER_BOUND,
    Curve,
    curve,
    draw_curves,
    draw_lower_bound,
    finish,
    level,
)
from devote.studies.estimates import Estimate, mean
from devote.studies.problem_1.sweep import ALONE_FACTOR, zero_privacy
from devote.studies.settings import Settings
from devote.studies.table import Table
from devote.studies.variants import FORM, SER3, UGAPEC, Variant


def draw(table: Table, settings: Settings) -> Figure:
    """Panel (a) samples, panel (b) messages."""
    figure, (left, right) = panels(2, size=(10.0, 4.4), bottom=0.245)
    draw_samples(left, table, settings, problem="1")
    left.set_title("(a) Problem 1: samples until all are done")
    _draw_messages(right, table, settings)
    right.set_title("(b) Problem 1: messages")
    footnote(
        figure,
        [
            made_of(settings),
            "(b) As the paper counts: a vote sent to all is one message, a shared sample is "
            "N−1. Grey: votes counted like samples, once per receiver.",
        ],
    )
    return figure


def made_of(settings: Settings, *, bound: bool = True) -> str:
    """What the points, bars and lines of the six algorithms are."""
    least = f" {LOWER_BOUND}" if bound else ""
    return (
        f"Points: means of {settings.trials} trials. {style.BARS} SER3 with radius “{FORM}”.\n"
        "0-privacy does not depend on N: "
        f"one line, {ALONE_FACTOR * settings.trials:,} trials.{least}"
    )


def draw_samples(axes: Axes, table: Table, settings: Settings, *, problem: str) -> None:
    """The six algorithms on one problem, and the lower bound where arms do not change."""
    curves = [
        curve(table, settings, variant=variant, protocol=protocol, problem=problem)
        for protocol in ("decentralized", "isolated")
        for variant in (SER3, UGAPEC)
    ]
    for variant in (SER3, UGAPEC):
        pooled = mean(table[zero_privacy(variant, problem)].samples)
        name = f"0-privacy {variant.label}"
        curves.append(level(settings, pooled, label=name, variant=variant))
    labels = draw_curves(axes, curves)
    if problem != "3":
        labels.append(draw_lower_bound(axes, settings, problem))
    finish(axes, settings, labels, of="samples")


def _draw_messages(axes: Axes, table: Table, settings: Settings) -> None:
    receivers = [n - 1.0 for n in settings.players]
    curves = [_shared_samples(table, settings, variant) for variant in (SER3, UGAPEC)]
    votes = curve(
        table,
        settings,
        variant=SER3,
        protocol="decentralized",
        problem="1",
        measure=lambda result: result.broadcasts,
    )
    curves.append(replace(votes, label="Decentralized", colour=style.BLACK))
    curves.append(
        replace(
            votes,
            label="Decentralized × (N−1)",
            colour=style.GREY,
            estimates=_times(votes.estimates, receivers),
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


def _shared_samples(table: Table, settings: Settings, variant: Variant) -> Curve:
    """Of 0-privacy: each sample goes to N - 1 others."""
    one = mean(table[zero_privacy(variant)].samples)
    return Curve(
        x=tuple(map(float, settings.players)),
        estimates=_times([one] * len(settings.players), [n - 1.0 for n in settings.players]),
        label=f"0-privacy {variant.label}",
        colour=style.SUBROUTINES[variant.label],
        line=style.dots(variant.label),
    )


def _times(estimates: Sequence[Estimate], by: Sequence[float]) -> tuple[Estimate, ...]:
    return tuple(
        Estimate(factor * e.value, factor * e.low, factor * e.high)
        for e, factor in zip(estimates, by, strict=True)
    )
