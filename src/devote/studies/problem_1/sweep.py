"""All six algorithms on problem 1, SER3 in both forms; and single learners many times over."""

from devote.studies.plan import Planned, grid
from devote.studies.settings import Settings
from devote.studies.variants import DELTA, RADIUS_FORMS, SUBROUTINES, UGAPEC, Variant
from devote.problems import get_problem
from devote.simulate.cell import Cell

ALONE_FACTOR = 50
"""A single learner is cheap and its spread is the question: this many times the trials."""


def plan(settings: Settings) -> list[Planned]:
    """What the figure and the claims about problem 1 read."""
    variants = (*RADIUS_FORMS.values(), UGAPEC)
    crowd = grid(settings, problems=["1"], variants=variants)
    single = [alone(variant, n) for n in extremes(settings) for variant in variants]
    many = [Planned(cell, ALONE_FACTOR * settings.trials) for cell in single]
    return crowd + shared_learners(settings, "1") + many


def shared_learners(settings: Settings, problem: str) -> list[Planned]:
    """The 0-privacy baseline on one problem, with every subroutine."""
    cells = [zero_privacy(variant, problem) for variant in SUBROUTINES.values()]
    return [Planned(cell, ALONE_FACTOR * settings.trials) for cell in cells]


def extremes(settings: Settings) -> list[int]:
    """The smallest and the largest number of players."""
    return sorted({settings.players[0], settings.players[-1]})


def zero_privacy(variant: Variant, problem: str = "1") -> Cell:
    """The one learner that all players of the 0-privacy baseline share: N does not matter.

    Nor does who wakes: problem 2 has the arms of problem 1, and so the same learner.
    """
    arms = "1" if problem == "2" else problem
    return Cell(variant.spec(), get_problem(arms), 1, "pooled", None)


def alone(variant: Variant, n_players: int) -> Cell:
    """One of N players of the 1-privacy baseline, by itself.

    Paper: section 5.1, a subroutine run with (epsilon, delta/N).
    """
    return Cell(variant.spec(delta=DELTA / n_players), get_problem("1"), 1, "isolated", None)
