"""Secrets of a user: pairs of lives that no message may tell apart better than is promised.

Differential privacy compares what leaves a device in two worlds that differ in what its user does
with what it is shown, and in nothing else. Here are the pairs that an audit tries. In each world a
click pays 1; without one nothing ever comes, which is how an app hears of no click.
"""

from dataclasses import dataclass

SOON = 1.0
"""Seconds from a choice to a click that comes at once."""

LATE = 0.8
"""How much of the time that a choice waits a late click lets pass."""


@dataclass(frozen=True)
class World:
    """Which arms a user clicks, None for all; and how soon, in parts of a choice's time.

    >>> World("clicks all", after=0.0).click(3, window=60.0)
    1.0
    >>> World("clicks arm 0", (0,)).click(3, window=60.0)
    """

    name: str
    arms: tuple[int, ...] | None = None
    after: float = 0.0

    def click(self, arm: int, window: float) -> float | None:
        """Seconds until a click on this arm, None if there is none."""
        if self.arms is not None and arm not in self.arms:
            return None
        return max(SOON, self.after * window)


@dataclass(frozen=True)
class Secret:
    """Two worlds that an adversary tries to tell apart."""

    name: str
    worlds: tuple[World, World]


NEVER = World("never clicks", ())
ALWAYS = World("clicks at once")
LATER = World("clicks late", after=LATE)
FIRST = World("clicks arm 0", (0,))
SECOND = World("clicks arm 1", (1,))

SECRETS = (
    Secret("does it click", (ALWAYS, NEVER)),
    Secret("how soon", (ALWAYS, LATER)),
    Secret("which arm", (FIRST, SECOND)),
    Secret("one arm or all", (FIRST, ALWAYS)),
)
"""What a device's messages might tell of its user."""
