"""What a formula refuses, and the checks that say so."""

from devote.checks import Checks
from devote.errors import DevoteError


class TheoryError(DevoteError, ValueError):
    """A number for which a formula does not hold."""


check = Checks(TheoryError)
