"""SER3 with each form of its radius, relative to UGapEc under the same scheme.

The paper prints no radius; two valid ones give different answers to some of its sentences, which
say so in their rows. No sentence is about the radius itself.
"""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from devote.studies.drawing import style
from devote.studies.drawing.canvas import footnote, panels
from devote.studies.drawing.curves import Curve, draw_curves, level
from devote.studies.drawing.labels import EndLabel, write_labels
from devote.studies.estimates import ratio
from devote.studies.measuring import compared
from devote.studies.settings import Settings
from devote.studies.single_learners import ALONE_FACTOR, shared_learners, zero_privacy
from devote.studies.study import Planned, Study, grid
from devote.studies.table import Table
from devote.studies.variants import RADIUS_FORMS, SCHEMES, SUBROUTINES, UGAPEC

PROBLEMS = ("1", "2", "3")


def scenarios(settings: Settings) -> list[Planned]:
    """SER3 in both forms and UGapEc, on the paper's three problems."""
    crowd = grid(settings, problems=PROBLEMS, variants=SUBROUTINES.values())
    return crowd + [p for problem in ("1", "3") for p in shared_learners(settings, problem)]


def figure(table: Table) -> Figure:
    """One panel per problem, on one scale."""
    drawn, axes = panels(3, size=(10.0, 4.3), right=0.835, between=0.1, sharey=True)
    for problem, panel in zip(PROBLEMS, axes, strict=True):
        labels = _draw_problem(panel, table, problem)
        panel.set_title(f"Problem {problem}")
        if problem == PROBLEMS[-1]:
            write_labels(panel, labels)
    axes[0].set_ylabel("samples of SER3 / samples of UGapEc")
    footnote(
        drawn,
        [
            f"Points: ratios of means over {table.trials} trials (0-privacy, which does not "
            f"depend on N: one line, {ALONE_FACTOR * table.trials:,}). {style.BARS} Below 1 "
            "SER3 needs fewer samples.",
            "The paper, which prints no radius, has 1-privacy above 1 on problems 1 and 2, "
            "below 1 on problem 3, and 0-privacy at 1.",
        ],
    )
    return drawn


def _draw_problem(axes: Axes, table: Table, problem: str) -> list[EndLabel]:
    axes.axhline(1.0, color=style.BLACK, linewidth=0.9)
    labels = draw_curves(axes, _curves(table, problem))
    style.players_axis(axes, table.players)
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_locator(FixedLocator([0.4, 0.5, 0.6, 0.8, 1.0, 1.2, 1.4]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_ylim(0.34, 1.5)
    return labels


def _curves(table: Table, problem: str) -> list[Curve]:
    curves = []
    for form, variant in RADIUS_FORMS.items():
        for scheme in ("decentralized", "isolated"):
            line, marker = style.LINES[scheme]
            curves.append(
                Curve(
                    x=tuple(map(float, table.players)),
                    estimates=compared(
                        table, (variant, scheme, problem), (UGAPEC, scheme, problem)
                    ),
                    label=f"{SCHEMES[scheme]}, {form}",
                    colour=style.SUBROUTINES[variant.label],
                    line=line,
                    marker=marker,
                )
            )
        shared = [table[zero_privacy(v, problem)].samples for v in (variant, UGAPEC)]
        name = f"{SCHEMES['pooled']}, {form}"
        curves.append(level(table, ratio(*shared), label=name, variant=variant))
    return curves


STUDIES = (Study("radius-forms", scenarios, figure),)
