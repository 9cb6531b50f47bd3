"""What the caption says."""

from devote.studies.claim import Claim
from devote.studies.estimates import Estimate, exact
from devote.studies.gaps import first_switch, mean_gaps
from devote.studies.mean_gap_switch.sweep import GAPS, REMAINING
from devote.studies.settings import Settings
from devote.studies.table import Table
from devote.studies.verdicts import Case, Range


def claims(table: Table, settings: Settings) -> list[Claim]:
    """The row."""
    return [
        Claim(
            name="mean-gap-switch",
            quote="Assumption 4 does not hold: a switch occurs a time 7.",
            where="section 4, second figure 'Mean gap versus time', caption",
            measured="first time at which the mean gap of a sequence of our own (the paper prints "
            "no numbers) is no longer positive",
            asked="7 exactly",
            cases=(Case("computed", _switch(), Range(7, 7)),),
            note="The sequence was chosen to do what the caption says.",
            over_players=False,
            uncounted="true by construction",
        )
    ]


def _switch() -> tuple[Estimate, ...]:
    time = first_switch(mean_gaps(GAPS, REMAINING))
    return () if time is None else (exact(time),)
