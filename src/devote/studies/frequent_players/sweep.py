"""64 players, some of whom make 80 % of the events and have a best arm of their own."""

from devote.studies.plan import Planned
from devote.studies.settings import Settings
from devote.studies.variants import SUBROUTINES, Variant
from devote.problems import Problem, Split, get_problem
from devote.simulate.cell import Cell

N_PLAYERS = 64
SHARE = 0.8
SIZES = (8, 16, 24, 28, 32, 40, 48)
"""How many players are frequent; 28 votes eliminate an arm."""

ROUNDS = 5
"""Times the trials asked for: what happens in 95 of 100 runs does not show in 20."""

FREQUENT_ARM = 0
"""The best arm of the frequent players in problem 5."""


def cell(variant: Variant, frequent: int) -> Cell:
    """Problem 5 with this many frequent players."""
    fraction = frequent / N_PLAYERS
    theirs, others = (means for _, means in get_problem("5").groups)
    problem = Problem(
        f"frequent-{frequent}",
        activity=Split(fraction=fraction, share=SHARE),
        groups=((fraction, theirs), (1.0 - fraction, others)),
    )
    return Cell(variant.spec(), problem, N_PLAYERS, "decentralized")


def plan(settings: Settings) -> list[Planned]:
    """What the figure and the claim read."""
    trials = ROUNDS * settings.trials
    return [Planned(cell(v, size), trials) for v in SUBROUTINES.values() for size in SIZES]
