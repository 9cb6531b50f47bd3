"""What the caption says."""

from devote.studies.claim import Claim
from devote.studies.estimates import exact
from devote.studies.gaps import mean_gaps
from devote.studies.mean_gap.sweep import GAPS, REMAINING
from devote.studies.settings import Settings
from devote.studies.table import Table
from devote.studies.verdicts import Case, Range


def claims(table: Table, settings: Settings) -> list[Claim]:
    """The row."""
    means = mean_gaps(GAPS, REMAINING)
    return [
        Claim(
            name="mean-gap-positive",
            quote="Assumption 4 holds: the mean gap stays positive.",
            where="section 4, first figure 'Mean gap versus time', caption",
            measured="mean gap of a sequence of our own (the paper prints no numbers)",
            asked="above 0 at all times",
            cases=(
                Case(
                    "computed",
                    tuple(exact(float(mean), f"time {i}") for i, mean in enumerate(means, 1)),
                    Range(low=1e-6),
                ),
            ),
            along="time",
            note="The sequence was chosen to do what the caption says.",
            over_players=False,
            uncounted="true by construction",
        )
    ]
