"""What sections 5.2 and 6 say about the choice of subroutine."""

from devote.studies.claim import Claim
from devote.studies.measuring import CLEARLY, compared
from devote.studies.median_elimination.sweep import PROBLEMS
from devote.studies.settings import Settings
from devote.studies.table import Table
from devote.studies.variants import (
    MEDIAN_ELIMINATION,
    RADIUS_FORMS,
    SUCCESSIVE_ELIMINATION,
    UGAPEC,
    Variant,
)
from devote.studies.verdicts import Case, Range

WAY = "decentralized"
OTHER = "with Successive Elimination for SER3"


def claims(table: Table, settings: Settings) -> list[Claim]:
    """The rows."""
    rivals = (SUCCESSIVE_ELIMINATION, UGAPEC)
    return [
        Claim(
            name="median-elimination-outperformed",
            quote="in practice [Median Elimination] is clearly outperformed by Successive "
            "Elimination or UGapEc on both problems",
            where="section 5.2",
            measured="samples of Decentralized Median Elimination / samples of the other",
            asked=f"above {CLEARLY}",
            cases=tuple(
                case
                for rival in rivals
                for case in _cases(table, settings, MEDIAN_ELIMINATION, rival, CLEARLY)
            ),
            across="problem and subroutine",
        ),
        Claim(
            name="successive-elimination-suits",
            quote="successive elimination algorithms are better suited for the decentralized "
            "exploration problem than explore-then-commit algorithms",
            where="section 6",
            measured="samples of Decentralized UGapEc / samples of SER3, the pair of the paper's "
            "experiments",
            asked="above 1",
            cases=tuple(
                case
                for variant in RADIUS_FORMS.values()
                for case in _cases(table, settings, UGAPEC, variant, 1.0)
            )
            + _cases(table, settings, UGAPEC, SUCCESSIVE_ELIMINATION, 1.0, OTHER),
            across="problem",
        ),
    ]


def _cases(
    table: Table,
    settings: Settings,
    worse: Variant,
    better: Variant,
    least: float,
    reading: str = "",
) -> tuple[Case, ...]:
    return tuple(
        Case(
            f"problem {problem}, {better.form or better.label}",
            compared(settings.players, table, (worse, WAY, problem), (better, WAY, problem)),
            Range(low=least),
            better.form,
            reading,
        )
        for problem in PROBLEMS
    )
