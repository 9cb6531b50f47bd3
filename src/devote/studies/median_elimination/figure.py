"""Samples of four decentralized algorithms, on both problems."""

from dataclasses import replace

from matplotlib.figure import Figure

from devote.studies.drawing import style
from devote.studies.drawing.canvas import footnote, panels
from devote.studies.drawing.curves import (
    LOWER_BOUND,
    curve,
    draw_curves,
    draw_lower_bound,
    finish,
)
from devote.studies.median_elimination.sweep import PROBLEMS
from devote.studies.settings import Settings
from devote.studies.table import Table
from devote.studies.variants import (
    FORM,
    MEDIAN_ELIMINATION,
    SER3,
    SUCCESSIVE_ELIMINATION,
    UGAPEC,
)

VARIANTS = (MEDIAN_ELIMINATION, SUCCESSIVE_ELIMINATION, UGAPEC, SER3)


def draw(table: Table, settings: Settings) -> Figure:
    """Panel (a) problem 1, panel (b) problem 2."""
    figure, axes = panels(2)
    for letter, problem, panel in zip("ab", PROBLEMS, axes, strict=True):
        curves = []
        for variant in VARIANTS:
            item = curve(
                table, settings, variant=variant, protocol="decentralized", problem=problem
            )
            curves.append(replace(item, label=variant.label))
        labels = draw_curves(panel, curves)
        labels.append(draw_lower_bound(panel, settings, problem))
        finish(panel, settings, labels, of="samples")
        panel.set_title(f"({letter}) Problem {problem}: samples until all are done")
    footnote(
        figure,
        [
            f"All under Decentralized Elimination. Points: means of {settings.trials} trials. "
            f"{style.BARS} SER3 with radius “{FORM}”.",
            LOWER_BOUND,
        ],
    )
    return figure
