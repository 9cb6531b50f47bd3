"""SER3 with each form of its radius, relative to UGapEc under the same scheme.

The paper prints no radius; two valid ones give different answers to some of its sentences, which
say so in their rows. No sentence is about the radius itself.
"""

from devote.simulator.estimates import ratio
from devote.studies.drawing import style
from devote.studies.drawing.curves import Curve, curve, draw_curves, level, write_labels
from devote.studies.drawing.style import Figure
from devote.studies.study import ALONE_FACTOR, Plan, Settings, Study, Table, grid
from devote.studies.variants import RADIUS_FORMS, SCHEMES, UGAPEC

PROBLEMS = ("1", "2", "3")
TICKS = (0.4, 0.5, 0.6, 0.8, 1.0, 1.2, 1.4)


def scenarios(settings: Settings) -> Plan:
    """SER3 in both forms and UGapEc, on the paper's three problems."""
    return grid(settings, PROBLEMS, shared=["1", "3"])


def figure(table: Table) -> Figure:
    """One panel per problem, on one scale."""
    drawn, panels = style.panels(3, size=(10.0, 4.3), between=0.1, sharey=True)
    for problem, axes in zip(PROBLEMS, panels, strict=True):
        axes.axhline(1.0, color=style.BLACK, linewidth=0.9)
        labels = draw_curves(axes, _curves(table, problem))
        style.players_axis(axes, table.players)
        axes.set_yscale("log", base=2)
        axes.set_yticks(TICKS, [f"{value:g}" for value in TICKS])
        axes.minorticks_off()
        axes.set_ylim(0.34, 1.5)
        axes.set_title(f"Problem {problem}")
        if problem == PROBLEMS[-1]:
            write_labels(axes, labels)
    panels[0].set_ylabel("samples of SER3 / samples of UGapEc")
    style.footnote(
        drawn,
        f"Points: ratios of means over {table.trials} trials (0-privacy, which does not "
        f"depend on N: one line, {ALONE_FACTOR * table.trials:,}). {style.BARS} Below 1 "
        "SER3 needs fewer samples.",
        "The paper, which prints no radius, has 1-privacy above 1 on problems 1 and 2, "
        "below 1 on problem 3, and 0-privacy at 1.",
    )
    return drawn


def _curves(table: Table, problem: str) -> list[Curve]:
    curves = []
    for form, variant in RADIUS_FORMS.items():
        for scheme in ("decentralized", "isolated"):
            relative = table.compared((variant, scheme, problem), (UGAPEC, scheme, problem))
            look = {"estimates": relative, "label": f"{SCHEMES[scheme]}, {form}"}
            curves.append(curve(table, variant, scheme=scheme, problem=problem, **look))
        shared = ratio(
            *(table[v.shared(problem)].samples_until_all_know for v in (variant, UGAPEC))
        )
        curves.append(level(table, shared, label=f"{SCHEMES['pooled']}, {form}", variant=variant))
    return curves


STUDIES = (Study("radius-forms", scenarios, figure),)
