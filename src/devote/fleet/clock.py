"""The two clocks of a device, and how long to wait before trying again.

Ages are measured on the monotonic clock, so a wall clock that jumps changes nothing while the
process runs. Only a pull that was pending across a restart has its age told by the wall clock,
because nothing else survives one; an age that would be negative counts as none.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Clock:
    """Where a device takes the time from: seconds since 1970, and seconds that never jump."""

    wall: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic


@dataclass(slots=True)
class Backoff:
    """Waiting times that double up to a cap, each drawn evenly from nothing up to that time.

    The full range, not a part of it: a server that comes back must not meet all devices at once.

    >>> backoff = Backoff(base=1.0, cap=5.0)
    >>> [backoff.next(u=0.5) for _ in range(4)]
    [0.5, 1.0, 2.0, 2.5]
    """

    base: float = 0.5
    cap: float = 60.0
    _tries: int = field(default=0, init=False)

    def next(self, u: float) -> float:
        """How long to wait before the next try, from the uniform number ``u``."""
        longest = min(self.cap, self.base * 2.0 ** min(self._tries, 32))
        self._tries += 1
        return u * longest

    def reset(self) -> None:
        """Begin again: something has worked."""
        self._tries = 0
