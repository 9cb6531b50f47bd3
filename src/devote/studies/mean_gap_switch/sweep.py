"""Nothing to simulate: the figure follows from a short sequence of gaps."""

from fractions import Fraction

from devote.studies.plan import Planned
from devote.studies.settings import Settings

GAPS = tuple(Fraction(gap, 10) for gap in (3, 3, 2, 1, 0, -3, -5, -5, -4, -4, -4, -4, -4))
"""The best arm's mean reward minus the other's, at times 1, 2, ...: the other overtakes it."""

REMAINING = (2,) * (len(GAPS) - 1)
"""K_i: both of two arms remain at every step."""


def plan(settings: Settings) -> list[Planned]:
    """No cells."""
    return []
