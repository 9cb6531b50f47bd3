"""An answer is one noisy bit about what one play of an arm paid."""

from dataclasses import dataclass

from devote.protocol.messages import ARM, Number, message

MAX_ANSWERS = 2**16 - 1


@message("answer", question=("number",), arm=ARM, bit=Number(0, 1), number=Number(1, MAX_ANSWERS))
@dataclass(frozen=True, slots=True)
class Answer:
    """``voter`` played ``arm`` and says ``bit`` of it: see ``kernels.randomizer``.

    ``number`` counts a voter's answers from 1; a voter gives one for each number, for good.
    """

    experiment: str
    arm: int
    bit: int
    number: int
    voter: str
