"""What the compiled simulator needs of a scheme: a part per scheme, by the scheme's name.

A scheme without a part is simulated by player objects, which is slower. One's own scheme has one
after ``register_part``.
"""

from devote.protocol import Scheme
from devote.simulator.part import Part as Part
from devote.simulator.parts.decentralized import PART as DECENTRALIZED
from devote.simulator.parts.isolated import PART as ISOLATED
from devote.simulator.parts.jury import PART as JURY
from devote.simulator.parts.pooled import PART as POOLED
from devote.simulator.parts.segments import PART as SEGMENTS
from devote.simulator.parts.survey import PART as SURVEY

PARTS: dict[str, Part] = {
    "decentralized": DECENTRALIZED,
    "jury": JURY,
    "survey": SURVEY,
    "isolated": ISOLATED,
    "pooled": POOLED,
}


def register_part(scheme: str, part: Part) -> None:
    """Give a scheme of one's own its part of the compiled simulator."""
    PARTS[scheme] = part


def part_of(scheme: Scheme) -> Part | None:
    """The part of a scheme; None where there is none."""
    return SEGMENTS if scheme.sending.segments else PARTS.get(scheme.name)
