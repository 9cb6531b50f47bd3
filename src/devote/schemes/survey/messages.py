"""An answer is one noisy bit about what one play of an arm paid."""

from dataclasses import dataclass

from devote.protocol.messages import ARM, Number, message
from devote.protocol.wire import WHOLE

MAX_ANSWERS = 2**16 - 1


@message(
    "answer",
    question=("number",),
    arm=ARM,
    bit=Number(0, 1),
    number=Number(1, MAX_ANSWERS),
    seen=Number(0, WHOLE),
)
@dataclass(frozen=True, slots=True)
class Answer:
    """``voter`` played ``arm``; ``bit`` is what that paid, through ``rules.randomizer``.

    ``number`` counts a voter's answers from 1; a voter gives one for each number, for good.
    ``seen`` is the snapshot of the public tally from whose asked arms ``arm`` was drawn.
    """

    experiment: str
    arm: int
    bit: int
    number: int
    seen: int
    voter: str
