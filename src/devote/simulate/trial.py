"""What one run of one scheme came to."""

from dataclasses import dataclass, field
from typing import NamedTuple

from devote.protocol import RunStatus

__all__ = ["NEVER", "STATUSES", "Event", "RunStatus", "Trial"]

STATUSES: tuple[RunStatus, ...] = ("agreed", "stalled", "unfinished")

NEVER = -1
"""In ``first_vote``: this player has not voted. In ``samples_to_decision``: there was none."""


class Event(NamedTuple):
    """Something that happened at pull ``time`` (from 0): a message, or a shared elimination.

    ``kind`` is the kind of message or ``elimination``; ``arm`` is -1 where there is none;
    ``player`` is whoever caused it.
    """

    time: int
    kind: str
    player: int
    arm: int
    term: int


@dataclass(frozen=True)
class Trial:
    """One run: what it cost and how it ended.

    ``samples`` counts until everybody holds the answer, ``samples_to_decision`` until the group
    has it. ``winners`` are the arms still standing, the likeliest first. ``stalled`` means that
    it ended with several. ``epsilon_optimal`` judges the first of them,
    ``holds_epsilon_optimal`` all of them, see ``Goodness``. ``deliveries`` counts a broadcast once per receiver;
    ``suboptimal_plays`` counts pulls of arms that were not epsilon-optimal for whoever pulled
    them, when they did; ``first_vote`` is each player's number of pulls at its first message
    about an arm.

    Paper: section 5, what its figures count.
    Differs from print: broadcasts and deliveries are both counted, for every scheme alike; the
    paper counts deliveries for 0-privacy and broadcasts for the rest (erratum 9).
    """

    samples: int
    samples_to_decision: int
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
