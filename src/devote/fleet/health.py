"""How a device is doing: when it last agreed with the board, and what stands in the way."""

from devote.fleet.clock import Clock

REFUSED = (
    "The board refuses a message of this device; it is kept and offered again.\n"
    "Check that the device is enrolled in the experiment."
)
FORGED = "The board holds messages that are not valid.\nThey are ignored; tell its operator."


class Health:
    """When the board was last read to its end, and the reasons for being degraded.

    >>> health = Health(Clock(wall=lambda: 7.0, monotonic=lambda: 1.0))
    >>> health.offline()
    >>> health.offline_since, health.synced_ago
    (7.0, None)
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._synced_at: float | None = None
        self._reasons: dict[str, str] = {}
        self.offline_since: float | None = None

    @property
    def synced_ago(self) -> float | None:
        """Seconds since the board was last read to its end, or None if it never was."""
        if self._synced_at is None:
            return None
        return max(0.0, self._clock.monotonic() - self._synced_at)

    @property
    def degraded(self) -> tuple[str, ...]:
        """What stands in the way, in words."""
        return tuple(self._reasons.values())

    def synced(self) -> None:
        """The board has been read to its end."""
        self._synced_at = self._clock.monotonic()
        self.offline_since = None

    def offline(self) -> None:
        """The board could not be reached."""
        if self.offline_since is None:
            self.offline_since = self._clock.wall()

    def note(self, what: str, reason: str | None) -> None:
        """Set or clear a reason for being degraded."""
        if reason is None:
            self._reasons.pop(what, None)
        else:
            self._reasons[what] = reason
