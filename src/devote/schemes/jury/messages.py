"""A claim asks for a seat in the jury, a pick says which arm a juror ended with."""

from dataclasses import dataclass

from devote.protocol.messages import ARM, message


@message("claim")
@dataclass(frozen=True, slots=True)
class Claim:
    """``voter`` asks for a seat; the first J claims on the board have one."""

    experiment: str
    voter: str


@message("pick", question=(), arm=ARM)
@dataclass(frozen=True, slots=True)
class Pick:
    """``voter``, a juror, says that it ended with ``arm``; with ``privacy`` that may be a lie."""

    experiment: str
    arm: int
    voter: str
