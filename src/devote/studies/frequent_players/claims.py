"""What section 6 says about users with different best arms."""

from devote.studies.claim import Claim
from devote.studies.estimates import Estimate, proportion
from devote.studies.frequent_players.sweep import (
    FREQUENT_ARM,
    N_PLAYERS,
    ROUNDS,
    SHARE,
    SIZES,
    cell,
)
from devote.studies.settings import Settings
from devote.studies.table import Table
from devote.studies.variants import DELTA, SUBROUTINES, Variant
from devote.studies.verdicts import Case, Range


def claims(table: Table, settings: Settings) -> list[Claim]:
    """The row."""
    quorum = cell(SUBROUTINES["UGapEc"], SIZES[0]).spec.votes_needed
    return [
        Claim(
            name="best-arm-of-the-frequent",
            quote="When Assumption 2 does not hold, Decentralized Elimination finds with high "
            "probability the best arm of the most frequent players.",
            where="section 6",
            measured="runs that end with the best arm of the frequent players, who make "
            f"{100 * SHARE:g} % of the events; {N_PLAYERS} players, "
            f"{ROUNDS * settings.trials} runs",
            asked=f"at least {1 - DELTA}",
            cases=tuple(
                Case(
                    name,
                    tuple(found(table, v, size) for size in SIZES),
                    Range(low=1 - DELTA),
                    v.form,
                )
                for name, v in SUBROUTINES.items()
            ),
            across="subroutine",
            along="number of frequent players",
            note=f"They must be at least the {quorum} who eliminate an arm (erratum 21); fewer "
            "were outvoted by the rest.",
            over_players=False,
        )
    ]


def found(table: Table, variant: Variant, frequent: int) -> Estimate:
    """How often the best arm of this many frequent players is the one left."""
    winners = table[cell(variant, frequent)].winners
    return proportion(arms == (FREQUENT_ARM,) for arms in winners).located(
        f"{frequent} of {N_PLAYERS}"
    )
