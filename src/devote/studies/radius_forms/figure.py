"""Samples of SER3 relative to UGapEc under the same protocol, for each radius form."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from devote.studies.drawing import style
from devote.studies.drawing.canvas import footnote, panels
from devote.studies.drawing.curves import Curve, draw_curves, level
from devote.studies.drawing.labels import EndLabel, write_labels
from devote.studies.estimates import ratio
from devote.studies.measuring import compared
from devote.studies.problem_1.sweep import ALONE_FACTOR, zero_privacy
from devote.studies.radius_forms.sweep import PROBLEMS
from devote.studies.settings import Settings
from devote.studies.table import Table
from devote.studies.variants import PROTOCOLS, RADIUS_FORMS, UGAPEC


def draw(table: Table, settings: Settings) -> Figure:
    """One panel per problem, on one scale."""
    figure, axes = panels(3, size=(10.0, 4.3), right=0.835, between=0.1, sharey=True)
    for problem, panel in zip(PROBLEMS, axes, strict=True):
        labels = _draw_problem(panel, table, settings, problem)
        panel.set_title(f"Problem {problem}")
        if problem == PROBLEMS[-1]:
            write_labels(panel, labels)
    axes[0].set_ylabel("samples of SER3 / samples of UGapEc")
    footnote(
        figure,
        [
            f"Points: ratios of means over {settings.trials} trials (0-privacy, which does not "
            f"depend on N: one line, {ALONE_FACTOR * settings.trials:,}). {style.BARS} Below 1 "
            "SER3 needs fewer samples.",
            "The paper, which prints no radius, has 1-privacy above 1 on problems 1 and 2, "
            "below 1 on problem 3, and 0-privacy at 1.",
        ],
    )
    return figure


def _draw_problem(axes: Axes, table: Table, settings: Settings, problem: str) -> list[EndLabel]:
    axes.axhline(1.0, color=style.BLACK, linewidth=0.9)
    labels = draw_curves(axes, _curves(table, settings, problem))
    style.players_axis(axes, settings.players)
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_locator(FixedLocator([0.4, 0.5, 0.6, 0.8, 1.0, 1.2, 1.4]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_ylim(0.34, 1.5)
    return labels


def _curves(table: Table, settings: Settings, problem: str) -> list[Curve]:
    curves = []
    for form, variant in RADIUS_FORMS.items():
        for protocol in ("decentralized", "isolated"):
            pair = ((variant, protocol, problem), (UGAPEC, protocol, problem))
            line, marker = style.LINES[protocol]
            curves.append(
                Curve(
                    x=tuple(map(float, settings.players)),
                    estimates=compared(settings.players, table, *pair),
                    label=f"{PROTOCOLS[protocol]}, {form}",
                    colour=style.SUBROUTINES[variant.label],
                    line=line,
                    marker=marker,
                )
            )
        shared = [table[zero_privacy(v, problem)].samples for v in (variant, UGAPEC)]
        name = f"{PROTOCOLS['pooled']}, {form}"
        curves.append(level(settings, ratio(*shared), label=name, variant=variant))
    return curves
