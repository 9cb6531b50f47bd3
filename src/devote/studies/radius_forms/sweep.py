"""SER3 in both forms and UGapEc, on the paper's three problems."""

from devote.studies.plan import Planned, grid
from devote.studies.problem_1.sweep import shared_learners
from devote.studies.settings import Settings
from devote.studies.variants import SUBROUTINES

PROBLEMS = ("1", "2", "3")


def plan(settings: Settings) -> list[Planned]:
    """What the figure reads."""
    crowd = grid(settings, problems=PROBLEMS, variants=SUBROUTINES.values())
    return crowd + [p for problem in ("1", "3") for p in shared_learners(settings, problem)]
