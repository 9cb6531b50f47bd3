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
    decentralized = ["decentralized"]
    quick = grid(
        settings,
        problems=PROBLEMS,
        variants=(*SUBROUTINES.values(), SUCCESSIVE_ELIMINATION),
        protocols=decentralized,
    )
    return quick + grid(
        settings,
        problems=PROBLEMS,
        variants=[MEDIAN_ELIMINATION],
        protocols=decentralized,
        trials=median_trials(settings),
    )


def median_trials(settings: Settings) -> int:
    """A quarter of the trials, two at least, for Median Elimination.

    Each of its players needs 120,651 pulls, whatever the rewards: a trial with 1,024 players
    takes 120 million of them, and differs from the next by less than one per cent.
    """
    return max(2, settings.trials // 4)
