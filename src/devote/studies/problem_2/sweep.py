"""All six algorithms on problem 2, and on problem 1, with which the paper compares it."""

from devote.studies.settings import Settings
from devote.studies.single_learners import shared_learners
from devote.studies.study import Planned, grid
from devote.studies.variants import SUBROUTINES


def scenarios(settings: Settings) -> list[Planned]:
    """What the figure and the claims about problem 2 read."""
    crowd = grid(settings, problems=["1", "2"], variants=SUBROUTINES.values())
    return crowd + shared_learners(settings, "2")
