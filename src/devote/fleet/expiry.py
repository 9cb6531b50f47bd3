"""What becomes of a pull whose reward never comes."""

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from devote.fleet.errors import DeviceError

OnExpire: TypeAlias = Literal["drop", "zero"]


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

    def is_due(self, age: float) -> bool:
        """Whether a pull of this age has expired."""
        return self.after is not None and age >= self.after
