"""All six algorithms on problem 3, and on problem 1, the same arms without the drift."""

from devote.studies.plan import Planned, grid
from devote.studies.problem_1.sweep import shared_learners
from devote.studies.settings import Settings
from devote.studies.variants import SUBROUTINES


def plan(settings: Settings) -> list[Planned]:
    """What the figure and the claims about problem 3 read."""
    crowd = grid(settings, problems=["1", "3"], variants=SUBROUTINES.values())
    return crowd + shared_learners(settings, "3")
