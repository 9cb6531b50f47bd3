"""What can be wrong with a sweep or its results."""

from devote.checks import Checks
from devote.errors import DevoteError


class ResultError(DevoteError, ValueError):
    """A file of results that cannot be used."""


class SweepError(DevoteError, ValueError):
    """A sweep that cannot be run as asked, or that lost the processes it ran on."""


check = Checks(SweepError)
