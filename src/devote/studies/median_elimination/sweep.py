"""Decentralized Median Elimination, and what it is compared with, on problems 1 and 2."""

from devote.studies.plan import Planned, grid
from devote.studies.settings import Settings
from devote.studies.variants import (
    MEDIAN_ELIMINATION,
    SUBROUTINES,
    SUCCESSIVE_ELIMINATION,
)

PROBLEMS = ("1", "2")


def plan(settings: Settings) -> list[Planned]:
    """What the figure and the claims read."""
    return grid(
        settings,
        problems=PROBLEMS,
        variants=(*SUBROUTINES.values(), SUCCESSIVE_ELIMINATION, MEDIAN_ELIMINATION),
        protocols=["decentralized"],
    )
