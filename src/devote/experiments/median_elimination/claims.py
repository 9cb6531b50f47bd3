"""What sections 5.2 and 6 say about the choice of subroutine."""

from devote.experiments.claim import Claim
from devote.experiments.measuring import CLEARLY, compared
from devote.experiments.median_elimination.sweep import PROBLEMS
from devote.experiments.settings import Settings
from devote.experiments.table import Table
from devote.experiments.variants import (
    MEDIAN_ELIMINATION,
    SER3,
    SER3_ACTIVE,
    SUCCESSIVE_ELIMINATION,
    UGAPEC,
    Variant,
)
from devote.experiments.verdicts import Case, Range

SUCCESSIVE = {
    "Successive Elimination": SUCCESSIVE_ELIMINATION,
    "SER3 union": SER3,
    "SER3 active": SER3_ACTIVE,
}
WAY = "decentralized"


def claims(table: Table, settings: Settings) -> list[Claim]:
    """The rows."""
    rivals = {**SUCCESSIVE, "UGapEc": UGAPEC}
    return [
        Claim(
            name="median-elimination-outperformed",
            quote="in practice [Median Elimination] is clearly outperformed by Successive "
            "Elimination or UGapEc on both problems",
            where="section 5.2",
            measured="samples of Decentralized Median Elimination / samples of the other",
            asked=f"above {CLEARLY}",
            cases=_cases(table, settings, {n: (MEDIAN_ELIMINATION, v) for n, v in rivals.items()}),
            across="problem and subroutine",
        ),
        Claim(
            name="successive-elimination-suits",
            quote="successive elimination algorithms are better suited for the decentralized "
            "exploration problem than explore-then-commit algorithms",
            where="section 6",
            measured="samples of Decentralized UGapEc / samples of the other",
            asked="above 1",
            cases=_cases(table, settings, {n: (UGAPEC, v) for n, v in SUCCESSIVE.items()}, 1.0),
            across="subroutine",
        ),
    ]


def _cases(
    table: Table,
    settings: Settings,
    pairs: dict[str, tuple[Variant, Variant]],
    least: float = CLEARLY,
) -> tuple[Case, ...]:
    return tuple(
        Case(
            f"problem {problem}, {name}",
            compared(table, settings, (worse, WAY, problem), (better, WAY, problem)),
            Range(low=least),
        )
        for problem in PROBLEMS
        for name, (worse, better) in pairs.items()
    )
