"""How often a device talks to its board, and how it waits when that fails.

The server tells the pace, with the tally. A device that meets trouble never asks more often than
that: it waits as long, then ever longer, and at least as long as the server asks for. Every wait is
spread by chance, so that devices that were cut off together do not come back together.
"""

from dataclasses import dataclass

from devote.boards.board import BoardUnavailable, PublicTally

EVERY = 15.0
"""Seconds between two rounds where no server tells a pace."""

LONGEST = 86_400.0
"""A server can ask for at most so many: a broken one must not silence devices for good."""


@dataclass
class Asked:
    """What the server last asked of its devices.

    ``every`` is the pace in seconds, ``streams`` whether a stream may be opened, and ``quiet``
    for how many seconds it wants to be left alone after the last failure.
    """

    every: float = EVERY
    streams: bool = True
    quiet: float = 0.0

    def hear(self, told: PublicTally) -> None:
        """Take in what came with a tally."""
        self.every = EVERY if told.pace is None else min(float(told.pace), LONGEST)
        self.streams = told.streams
        self.quiet = 0.0

    def fail(self, error: BoardUnavailable) -> None:
        """Take in what came with a failure."""
        self.quiet = error.retry_after


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds between rounds while all is well, and the base and cap of waiting when it is not.

    What is left out is the server's to say: ``every`` is its pace, and ``base`` is ``every``.

    >>> [Pace().after_failures(n, Asked(), u=0.5) for n in range(4)]
    [15.0, 30.0, 60.0, 120.0]
    """

    every: float | None = None
    base: float | None = None
    cap: float = 900.0

    def between(self, asked: Asked) -> float:
        """Seconds from round to round, on average."""
        return asked.every if self.every is None else self.every

    def after_round(self, asked: Asked, u: float) -> float:
        """How long to wait after a round that went well: from half the pace to one and a half."""
        return self.between(asked) * (0.5 + u)

    def after_failures(self, tries: int, asked: Asked, u: float) -> float:
        """How long to wait after so many failures before this one."""
        base = self.between(asked) if self.base is None else self.base
        seconds = min(max(self.cap, base), base * 2.0 ** min(tries, 32))
        return max(seconds * (0.5 + u), asked.quiet * (1.0 + u))
