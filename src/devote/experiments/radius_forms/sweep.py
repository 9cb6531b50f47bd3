"""SER3 in both forms and UGapEc, on the paper's three problems."""

from devote.experiments.plan import Planned, grid
from devote.experiments.settings import Settings
from devote.experiments.variants import SUBROUTINES

PROBLEMS = ("1", "2", "3")


def plan(settings: Settings) -> list[Planned]:
    """What the figure reads."""
    return grid(settings, problems=PROBLEMS, variants=SUBROUTINES.values())
