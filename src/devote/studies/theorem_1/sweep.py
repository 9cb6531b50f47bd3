"""The worst subroutine under both votes, two tied arms, and a player alone."""

from devote.studies.plan import Planned
from devote.studies.settings import Settings
from devote.problems import Problem, get_problem
from devote.protocol import ExperimentSpec
from devote.simulate.cell import Cell

ETA, DELTA = 0.9, 0.05
ROUNDS = 50
"""Times the trials asked for: failures are rare, and these runs are short."""

WORST = ExperimentSpec(arms=2, algorithm="worst_case", eta=ETA, delta=DELTA)
JURY = WORST.with_(eta=0.25)
"""A jury of 3, whose .016 a thousand runs tell from .05; at eta = .9 it is .047."""

TWO_ARMS = Problem("worst-case", (0.9, 0.1))
TIED = Problem("tied", (0.7, 0.7, *[0.1] * 8))
SPEC = ExperimentSpec(arms=10, eta=ETA, delta=DELTA)

# Isolated players get delta / N: alone, and with delta = eta, that is eta. No quorum is used.
ALONE = Cell(SPEC.with_(delta=ETA, quorum=1), get_problem("1"), 1, "isolated")


def worst(protocol: str, n_players: int) -> Cell:
    """Subroutines that fail with probability exactly eta."""
    return Cell(WORST, TWO_ARMS, n_players, protocol)


def worst_jury(n_players: int) -> Cell:
    """The same under a small jury."""
    return Cell(JURY, TWO_ARMS, n_players, "jury")


def tied(n_players: int) -> Cell:
    """Two best arms, as in an A/A test."""
    return Cell(SPEC, TIED, n_players)


def plan(settings: Settings) -> list[Planned]:
    """What the claims read."""
    trials = ROUNDS * settings.trials
    players = [n for n in settings.players if n >= WORST.jury_size]
    return [
        *(Planned(worst("decentralized", n), trials) for n in settings.players),
        *(Planned(worst("jury", n), trials) for n in players),
        *(Planned(worst_jury(n), trials) for n in settings.players),
        *(Planned(tied(n), settings.trials) for n in settings.players),
        Planned(ALONE, trials),
    ]
