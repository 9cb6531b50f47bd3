"""What cannot be posed as a problem, and the checks that say so."""

from typing import Any

from devote.checks import Checks
from devote.errors import DevoteError


class ProblemError(DevoteError, ValueError):
    """A problem that cannot be posed: the message gives the value, the rule and the remedy."""


check = Checks(ProblemError)


def player_count(value: Any) -> int:
    """A number of players, at least 1."""
    return check.whole("n_players", value, least=1, remedy="With no player nobody ever wakes.")
