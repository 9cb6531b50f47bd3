"""What a device says of itself: how fresh its view is, and exactly what has left it.

Nothing here tells of a reward, how often an arm was played, or what it paid on average.
"""

import time
from dataclasses import dataclass

from devote.protocol import Message, Status


@dataclass(frozen=True, slots=True)
class DeviceStatus:
    """A device at one moment.

    ``state``, ``shared`` and ``answer`` follow from the messages read so far. Until the first
    full read of the board (``complete``) the state is open and all arms are shared. ``answer``
    has the likeliest arm first. ``remaining`` are the arms this device has not eliminated.
    ``sent`` and ``waiting`` are all that has left the device or will, besides its request to be
    enrolled. Ages are in seconds and times in seconds since 1970.

    Paper: ``remaining`` and ``shared`` are K^n(l^n) and K(l).
    """

    experiment: str
    voter: str
    state: Status
    answer: tuple[int, ...]
    shared: tuple[int, ...]
    remaining: tuple[int, ...]
    sent: tuple[Message, ...]
    waiting: tuple[Message, ...]
    complete: bool
    synced_ago: float | None
    offline_since: float | None
    degraded: tuple[str, ...]

    @property
    def freshness(self) -> str:
        """How fresh the view of the board is, in words."""
        if self.offline_since is not None:
            since = time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(self.offline_since))
            return f"offline since {since}"
        if self.synced_ago is None:
            return "not synced yet"
        return f"synced {self.synced_ago:.0f} s ago"

    def __str__(self) -> str:
        lines = [
            f"{self.experiment}: {self.state}, {self.freshness}",
            f"messages sent {len(self.sent)}, waiting {len(self.waiting)}",
        ]
        lines += [f"degraded: {reason.splitlines()[0]}" for reason in self.degraded]
        return "\n".join(lines)
