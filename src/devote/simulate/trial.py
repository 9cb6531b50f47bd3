"""What one run of one protocol came to."""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

RunStatus: TypeAlias = Literal["agreed", "stalled", "unfinished"]
STATUSES: tuple[RunStatus, ...] = ("agreed", "stalled", "unfinished")

EVENTS = ("vote", "elimination", "reset", "seat")
NEVER = -1
"""In ``first_vote``: this player has not voted."""


class Event(NamedTuple):
    """Something that happened at pull ``time`` (from 0): a vote, a shared elimination, a reset.

    ``arm`` is -1 for a reset; ``player`` is whoever caused it.
    """

    time: int
    kind: str
    player: int
    arm: int
    term: int


@dataclass(frozen=True)
class Trial:
    """One run: what it cost and how it ended.

    ``winners`` are the arms still standing, the fewest votes first. ``stalled`` means that it
    ended with several. ``epsilon_optimal`` judges the first of them, ``holds_epsilon_optimal`` all
    of them, see ``Goodness``. ``deliveries`` counts a broadcast once per receiver;
    ``suboptimal_plays`` counts pulls of arms that were not epsilon-optimal for whoever pulled
    them, when they did; ``first_vote`` is each player's number of pulls at its first vote.

    Paper: section 5, what its figures count.
    Differs from print: broadcasts and deliveries are both counted, for every protocol alike; the
    paper counts deliveries for 0-privacy and broadcasts for the rest (erratum 9).
    """

    samples: int
    broadcasts: int
    deliveries: int
    status: RunStatus
    winners: tuple[int, ...]
    epsilon_optimal: bool
    holds_epsilon_optimal: bool
    conflicts: int
    resets: int
    suboptimal_plays: int
    first_vote: tuple[int, ...]
    trace: tuple[Event, ...] | None = field(default=None, repr=False)
