"""All six algorithms on problem 1, SER3 in both forms; and single players many times over."""

from devote.experiments.plan import Planned, grid
from devote.experiments.settings import Settings
from devote.experiments.variants import DELTA, RADIUS_FORMS, UGAPEC, Variant
from devote.problems import get_problem
from devote.simulate.cell import Cell

ALONE_FACTOR = 20
"""A single player is cheap and its spread is the question: this many times the trials."""


def plan(settings: Settings) -> list[Planned]:
    """What the figure and the claims about problem 1 read."""
    variants = (*RADIUS_FORMS.values(), UGAPEC)
    crowd = grid(settings, problems=["1"], variants=variants)
    single = [
        Planned(alone(variant, n_players), ALONE_FACTOR * settings.trials)
        for variant in variants
        for n_players in settings.players
    ]
    return crowd + single


def alone(variant: Variant, n_players: int) -> Cell:
    """One of N players of the 1-privacy baseline, by itself.

    Paper: section 5.1, a subroutine run with (epsilon, delta/N).
    """
    return Cell(variant.spec(delta=DELTA / n_players), get_problem("1"), 1, "isolated", None)
