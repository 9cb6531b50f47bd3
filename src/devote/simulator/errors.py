"""What can be wrong with a sweep or its results."""

from devote.checks import Checks
from devote.errors import DevoteError


class ResultError(DevoteError, ValueError):
    """A file of results that cannot be used."""


class SweepError(DevoteError, ValueError):
    """A sweep that cannot be run as asked, or that lost the processes it ran on."""


class NeverEnds(SweepError):
    """A trial without a horizon that has gone on past every known rule's need."""


class SweepInterrupted(KeyboardInterrupt):
    """Ctrl-C in a sweep or simulation; the text says what is kept and how to go on."""


check = Checks(SweepError)


class RuleFault(SweepError):
    """A subroutine returned what no subroutine may."""


def rule_fault(algorithm: str) -> RuleFault:
    """The error for a subroutine that returned what no subroutine may."""
    return RuleFault(
        f"{algorithm} returned an arm or a number of eliminated arms that is not there.\n"
        f"Find it with devote.check_algorithm({algorithm!r})."
    )
