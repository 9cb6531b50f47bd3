"""Decentralized Median Elimination against successive elimination and UGapEc.

Paper: the figure "Decentralized Median Elimination", panels (a) and (b).
"""

from devote.studies.claim import CLEARLY, Case, Range, Row, judged
from devote.studies.drawing import style
from devote.studies.drawing.curves import LOWER_BOUND, curve, draw_counts
from devote.studies.drawing.style import Figure
from devote.studies.study import Plan, Settings, Study, Table, grid
from devote.studies.variants import (
    FORM,
    MEDIAN_ELIMINATION,
    RADIUS_FORMS,
    SER3,
    SUBROUTINES,
    SUCCESSIVE_ELIMINATION,
    UGAPEC,
    Variant,
)

WAY = "decentralized"
PROBLEMS = ("1", "2")
OTHER = "with Successive Elimination for SER3"


def scenarios(settings: Settings) -> Plan:
    """Decentralized Median Elimination, and what it is compared with, on problems 1 and 2."""
    variants = (*SUBROUTINES.values(), SUCCESSIVE_ELIMINATION, MEDIAN_ELIMINATION)
    return grid(settings, PROBLEMS, variants=variants, schemes=[WAY])


def figure(table: Table) -> Figure:
    """Samples of four decentralized algorithms: panel (a) problem 1, panel (b) problem 2."""
    drawn, axes = style.panels(2)
    variants = (MEDIAN_ELIMINATION, SUCCESSIVE_ELIMINATION, UGAPEC, SER3)
    for letter, problem, panel in zip("ab", PROBLEMS, axes, strict=True):
        curves = [curve(table, v, scheme=WAY, problem=problem, label=v.label) for v in variants]
        draw_counts(panel, table, curves, bound=problem)
        panel.set_title(f"({letter}) Problem {problem}: samples until all are done")
    style.footnote(
        drawn,
        f"All under Decentralized Elimination. Points: means of {table.trials} trials. "
        f"{style.BARS} SER3 with radius “{FORM}”.",
        LOWER_BOUND,
    )
    return drawn


def claims(table: Table) -> list[Row]:
    """What sections 5.2 and 6 say about the choice of subroutine."""

    def cases(worse: Variant, better: Variant, least: float, reading: str = "") -> list[Case]:
        return [
            Case(
                f"problem {problem}, {better.form or better.label}",
                table.compared((worse, WAY, problem), (better, WAY, problem)),
                Range(low=least),
                better.form,
                reading,
            )
            for problem in PROBLEMS
        ]

    outperformed = (
        *cases(MEDIAN_ELIMINATION, SUCCESSIVE_ELIMINATION, CLEARLY),
        *cases(MEDIAN_ELIMINATION, UGAPEC, CLEARLY),
    )
    suits = (
        *(case for ser3 in RADIUS_FORMS.values() for case in cases(UGAPEC, ser3, 1.0)),
        *cases(UGAPEC, SUCCESSIVE_ELIMINATION, 1.0, OTHER),
    )
    return [
        judged("median-elimination-outperformed", outperformed, clearly=CLEARLY),
        judged("successive-elimination-suits", suits),
    ]


STUDIES = (Study("median-elimination", scenarios, figure, claims),)
