"""The two clocks of a device, and how long a pull waits for its reward.

Ages are measured on the monotonic clock, so a wall clock that jumps changes nothing while the
process runs. Only a pull that was pending across a restart has its age told by the wall clock,
because nothing else survives one; an age that would be negative counts as none.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from devote.fleet.errors import DeviceError

OnExpire: TypeAlias = Literal["drop", "zero"]


@dataclass(frozen=True, slots=True)
class Clock:
    """Where a device takes the time from: seconds since 1970, and seconds that never jump."""

    wall: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic


@dataclass(frozen=True, slots=True)
class Expiry:
    """After ``after`` seconds a pull is dropped as if it had not been, or counts as a reward of 0.

    ``zero`` suits rewards that can only be seen to come (a click); ``drop`` suits a reward that
    got lost. Without ``after`` a pull waits for ever. A pull is looked at when the next arm is
    asked for: a late reward that comes before that still counts, one that comes after is refused.

    >>> Expiry(after=30.0, on_expire="zero").is_due(age=31.0)
    True
    """

    after: float | None = None
    on_expire: OnExpire = "drop"

    def __post_init__(self) -> None:
        if self.on_expire not in get_args(OnExpire):
            raise DeviceError(
                f"on_expire={self.on_expire!r} must be 'drop' or 'zero'.\n"
                "'drop' forgets the pull, 'zero' counts it as a reward of 0."
            )
        if self.after is not None and not self.after > 0.0:
            raise DeviceError(
                f"expire_after={self.after!r} must be more than 0 seconds.\n"
                "Leave it out for pulls that wait for ever."
            )

    def check(self, reply_after: float | None) -> None:
        """Refuse to wait for rewards for longer than the scheme does."""
        if self.after is not None and reply_after is not None and self.after > reply_after:
            raise DeviceError(
                f"expire_after={self.after:g} is longer than reply_after={reply_after:g} of this "
                "experiment, after which a reward that has not come counts as 0.\n"
                f"Use at most {reply_after:g} seconds, or leave expire_after out."
            )

    def is_due(self, age: float) -> bool:
        """Whether a pull of this age has expired."""
        return self.after is not None and age >= self.after
