"""What a device shows of itself: how fresh its view is, and exactly what has left it.

Nothing here tells of a reward, how often an arm was played, or what it paid on average.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from devote.boards.board import BoardUnavailable, TallySnapshot
from devote.protocol import Message, Status

REFUSED = (
    "The board refuses a message of this device; it is kept and offered again.\n"
    "Check that the device is enrolled in the experiment."
)
FORGED = "The board holds messages that are not valid.\nThey are ignored; tell its operator."

FIRST_BAR, LONGEST_BAR = 15.0, 3600.0
"""Seconds until a board that takes nothing is asked again, the first time and at most."""

EVERY = 15.0
"""Seconds between two rounds where no server sets a pace."""

LONGEST = 86_400.0
"""A server can ask for at most so many: a broken one must not silence devices for good."""


@dataclass
class Health:
    """How the device and its board get on, and what stands in the way: None if nothing.

    ``store`` is about the last step, ``sync`` about the last round with the board, ``forged``
    about all that was read, ``rejected`` about a board that takes nothing from this device.

    The server asks for a pace of ``every`` seconds, for ``streams`` or none, and, when something
    has failed, for so many seconds of ``quiet``.

    >>> health = Health(lambda: 7.0)
    >>> health.offline()
    >>> health.offline_since, health.synced_ago
    (7.0, None)
    """

    now: Callable[[], float]
    offline_since: float | None = None
    store: str | None = None
    sync: str | None = None
    forged: str | None = None
    rejected: str | None = None
    every: float = EVERY
    streams: bool = True
    quiet: float = 0.0
    _synced_at: float | None = None
    _bars: int = 0
    _rejected_until: float = 0.0

    @property
    def synced_ago(self) -> float | None:
        """Seconds since the board was last read to its end, or None if it never was."""
        return None if self._synced_at is None else max(0.0, self.now() - self._synced_at)

    def synced(self) -> None:
        """The board has been read to its end."""
        self._synced_at = self.now()
        self.offline_since = None

    def offline(self, error: BaseException | None = None) -> None:
        """The board could not be reached, or not read."""
        if self.offline_since is None:
            self.offline_since = self.now()
        if isinstance(error, BoardUnavailable):
            self.quiet = error.retry_after

    def note(self, tally: TallySnapshot) -> None:
        """Take in what the server asks for, which comes with a tally."""
        self.every = EVERY if tally.pace is None else min(float(tally.pace), LONGEST)
        self.streams, self.quiet = tally.streams, 0.0

    @property
    def may_post(self) -> bool:
        """Whether it is time to try to post; a board that takes nothing is asked ever more rarely.

        A closed experiment would else be asked by its whole fleet, round after round.
        """
        return self.rejected is None or self.now() >= self._rejected_until

    def bar(self, reason: str) -> None:
        """The board takes nothing from this device just now."""
        wait = min(LONGEST_BAR, FIRST_BAR * 2.0 ** min(self._bars, 32))
        self.rejected = reason
        self._bars += 1
        self._rejected_until = self.now() + wait

    def unbar(self) -> None:
        """The board takes messages, or is to be asked at once whether it does."""
        self.rejected, self._bars = None, 0


@dataclass(frozen=True, slots=True)
class DeviceStatus:
    """A device at one moment.

    Until the first join has worked (``joined``) nothing is known of the experiment but its name.
    ``state``, ``shared`` and ``answer`` follow from the messages read so far. Until the first
    full read of the board (``complete``) the state is open and all arms are shared. ``answer``
    has the likeliest arm first. ``remaining`` are the arms this device has not eliminated.
    ``sent`` and ``waiting`` are all that has left the device or will, besides its request to be
    enrolled. A message that a restored board has lost is among both: it has left, and waits to be
    offered again. Where answers are held back, ``reply_in`` is how many seconds it is until the
    next one leaves; it is not among those that wait until then, so that nothing here tells whether
    there was a reward. Ages are in seconds and times in seconds since 1970.

    Paper: ``remaining`` and ``shared`` are K^n(l^n) and K(l).
    """

    experiment: str
    voter: str = ""
    answer: tuple[int, ...] = ()
    shared: tuple[int, ...] = ()
    remaining: tuple[int, ...] = ()
    sent: tuple[Message, ...] = ()
    waiting: tuple[Message, ...] = ()
    state: Status = "open"
    complete: bool = False
    synced_ago: float | None = None
    offline_since: float | None = None
    degraded: tuple[str, ...] = ()
    reply_in: float | None = None
    joined: bool = False

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
        joined = "" if self.joined else "not joined yet, "
        lines = [
            f"{self.experiment}: {joined}{self.state}, {self.freshness}",
            f"messages sent {len(self.sent)}, waiting {len(self.waiting)}",
        ]
        lines += [f"degraded: {reason.splitlines()[0]}" for reason in self.degraded]
        return "\n".join(lines)
