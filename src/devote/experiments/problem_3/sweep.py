"""All six algorithms on problem 3, and on problem 1, the same arms without the drift."""

from devote.experiments.plan import Planned, grid
from devote.experiments.settings import Settings
from devote.experiments.variants import SUBROUTINES


def plan(settings: Settings) -> list[Planned]:
    """What the figure and the claims about problem 3 read."""
    return grid(settings, problems=["1", "3"], variants=SUBROUTINES.values())
