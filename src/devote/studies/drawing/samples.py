"""The panel that problems 1 to 3 share: samples of the six algorithms."""

from matplotlib.axes import Axes

from devote.studies.drawing import style
from devote.studies.drawing.curves import (
    LOWER_BOUND,
    curve,
    draw_curves,
    draw_lower_bound,
    finish,
    level,
)
from devote.studies.estimates import mean
from devote.studies.single_learners import ALONE_FACTOR, zero_privacy
from devote.studies.table import Table
from devote.studies.variants import FORM, SER3, UGAPEC


def made_of(table: Table, *, bound: bool = True) -> str:
    """What the points, bars and lines of the six algorithms are."""
    least = f" {LOWER_BOUND}" if bound else ""
    return (
        f"Points: means of {table.trials} trials. {style.BARS} SER3 with radius “{FORM}”.\n"
        "0-privacy does not depend on N: "
        f"one line, {ALONE_FACTOR * table.trials:,} trials.{least}"
    )


def draw_samples(axes: Axes, table: Table, *, problem: str) -> None:
    """The six algorithms on one problem, and the lower bound where arms do not change."""
    curves = [
        curve(table, variant=variant, scheme=scheme, problem=problem)
        for scheme in ("decentralized", "isolated")
        for variant in (SER3, UGAPEC)
    ]
    for variant in (SER3, UGAPEC):
        pooled = mean(table[zero_privacy(variant, problem)].samples)
        name = f"0-privacy {variant.label}"
        curves.append(level(table, pooled, label=name, variant=variant))
    labels = draw_curves(axes, curves)
    if problem != "3":
        labels.append(draw_lower_bound(axes, table, problem))
    finish(axes, table, labels, of="samples")
    axes.set_title(f"(a) Problem {problem}: samples until all are done")
