"""All six algorithms on problem 1, SER3 in both forms; and single learners many times over."""

from devote.studies.settings import Settings
from devote.studies.single_learners import ALONE_FACTOR, alone, shared_learners
from devote.studies.study import Planned, grid
from devote.studies.variants import RADIUS_FORMS, UGAPEC


def scenarios(settings: Settings) -> list[Planned]:
    """What the figure and the claims about problem 1 read."""
    variants = (*RADIUS_FORMS.values(), UGAPEC)
    single = [
        Planned(alone(variant, n), ALONE_FACTOR * settings.trials)
        for n in extremes(settings.players)
        for variant in variants
    ]
    crowd = grid(settings, problems=["1"], variants=variants)
    return crowd + shared_learners(settings, "1") + single


def extremes(players: tuple[int, ...]) -> list[int]:
    """The smallest and the largest number of players."""
    return sorted({players[0], players[-1]})
