"""What one run of one scheme came to."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from devote.protocol import RunStatus

__all__ = ["NEVER", "STATUSES", "Event", "Point", "Record", "RunStatus", "Trial", "checkpoints"]

STATUSES: tuple[RunStatus, ...] = ("agreed", "stalled", "unfinished")

NEVER = -1
"""In ``first_vote``: this player has not voted. In ``samples``: there was no decision."""


PER_DOUBLING = 8
"""Checkpoints of a recorded trial, each time its number of pulls doubles."""


def checkpoints() -> Iterator[int]:
    """After how many pulls a recorded trial is looked at: a curve of a billion has 240 points.

    >>> from itertools import islice
    >>> list(islice(checkpoints(), 12))
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
    >>> [at for at, _ in zip(checkpoints(), range(40))][-3:]
    [117, 128, 140]
    """
    last = 0
    for i in count():
        # In whole numbers where it matters: a power of two is exact.
        at = round(2.0 ** (i / PER_DOUBLING))
        if at > last:
            last = at
            yield at


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


class Point(NamedTuple):
    """How a trial stood after ``samples`` pulls.

    ``arms_left`` are the arms open to all; where players do not vote, those that somebody holds.
    """

    samples: int
    suboptimal_plays: int
    broadcasts: int
    arms_left: int


class Record(NamedTuple):
    """What is kept of a trial on request: points of its curves, the last one its end, and pulls.

    ``groups`` has the same points of each group of players, empty where there are none: the plays
    and messages of its members, and, where they are of segments, the arms open to them.
    """

    points: tuple[Point, ...]
    pulls_per_arm: tuple[int, ...]
    pulls_per_player: tuple[int, ...]
    groups: tuple[tuple[Point, ...], ...] = ()


@dataclass(frozen=True)
class Trial:
    """One run: what it cost and how it ended.

    ``samples`` counts pulls until the group has its answer, -1 if it never had one;
    ``samples_until_all_know`` until every player has it, which is what the paper counts, or until
    the horizon. ``winners`` are the arms still standing, the likeliest first. ``stalled`` means
    that it ended with several. ``epsilon_optimal`` judges the first of them,
    ``holds_epsilon_optimal`` all of them, see ``Goodness``. ``deliveries`` counts a broadcast
    once per receiver; ``suboptimal_plays`` counts pulls of arms that were not epsilon-optimal
    for whoever pulled them, when they did; ``first_vote`` is each player's number of pulls at
    its first message about an arm. ``player_answers`` has each player's own answer where players
    send nothing, -1 for who has none, and is empty where they share the answer of the group.

    Paper: section 5, what its figures count.
    Differs from print: broadcasts and deliveries are both counted, for every scheme alike; the
    paper counts deliveries for 0-privacy and broadcasts for the rest (erratum 9).
    """

    samples: int
    samples_until_all_know: int
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
    player_answers: tuple[int, ...] = ()
    trace: tuple[Event, ...] | None = field(default=None, repr=False)
    record: Record | None = field(default=None, repr=False)
