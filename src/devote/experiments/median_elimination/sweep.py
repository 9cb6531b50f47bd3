"""Decentralized Median Elimination, and what it is compared with, on problems 1 and 2."""

from devote.experiments.plan import Planned, grid
from devote.experiments.settings import Settings
from devote.experiments.variants import (
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
