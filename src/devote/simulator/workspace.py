"""What a compiled run works on: one record for the group, one per player, and a few arrays.

Fields that every scheme has are listed here; a scheme's part (``parts``) adds its own. In compiled
code ``group.time`` is a field of a record, and writing to it writes to the array behind it.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

AGREED = 1
STALLED = 2
FAULT = 3
"""What ``group.ended`` says; 0 while the run goes on. FAULT: the rule did what no rule may."""

ELIMINATION = 0
"""The event that every scheme has; its own follow."""

NEVER = -1
"""``first_vote`` of a player who has sent no message about an arm."""

GROUP = (
    "time",  # pulls so far
    "broadcasts",
    "conflicts",
    "resets",
    "suboptimal",
    "ended",
    "decided",  # pulls until the group had its answer; 0 while it has none
    "n_events",  # rows of ``events`` in use
    "term",
    "n_shared",
    "holding",  # players whose remaining arms are exactly the shared ones
    "touched",  # see ``loop.touch``
    "version",  # counts the decisions that players learn of when they wake
)
PLAYER = ("active", "first_vote")


def group_type(own: Sequence[str]) -> np.dtype[Any]:
    """The record of a group, with a scheme's own fields."""
    return np.dtype([(name, np.int64) for name in (*GROUP, *own)], align=True)


def player_type(own: Sequence[str]) -> np.dtype[Any]:
    """The record of a player, with a scheme's own fields."""
    return np.dtype([(name, np.int32) for name in (*PLAYER, *own)], align=True)


class Setup(NamedTuple):
    """Constants of a run.

    ``even``: all players wake equally often. ``steady``: which arms are suboptimal is the same for
    all players and at all times. The last two say what is recorded.
    """

    n_players: int
    epsilon: float
    endless: int
    even: int
    steady: int
    tracing: int
    counting: int


class Game(NamedTuple):
    """What is played: the rewards, the subroutine's constants, who wakes, the scheme's constants.

    ``good[k]`` is 1 where arm k is epsilon-optimal for the first player at first.
    """

    env: Any
    rule: Any
    threshold: Any
    alias: Any
    good: Any
    scheme: Any


class Tables(NamedTuple):
    """The arrays of a run; the first two are arrays of records.

    ``voted[player, arm]`` marks who has sent a vote against what; where a scheme keeps a log of
    messages, it is ``voted[place, arm]``, what each message about an arm said. ``tally`` counts
    messages per arm, ``by_arm`` has numbers of the scheme's own for each arm, ``shared`` marks
    the arms still open to all. ``before`` and ``out`` are buffers.
    """

    groups: Any
    players: Any
    voted: Any
    tally: Any
    by_arm: Any
    shared: Any
    before: Any
    out: Any
    events: Any
    arm_pulls: Any
    player_pulls: Any


class Workspace(NamedTuple):
    """What the scheme's part of a loop reads and writes; see ``Tables`` and ``Setup``."""

    group: Any
    players: Any
    alive: Any
    voted: Any
    tally: Any
    by_arm: Any
    shared: Any
    before: Any
    out: Any
    events: Any
    scheme: Any
    n_players: int
    tracing: int


def note(work: Workspace, kind: int, player: int, arm: int) -> None:
    """Write an event to the trace, if there is one."""
    if work.tracing:
        i = work.group.n_events
        work.events[i, 0] = work.group.time
        work.events[i, 1] = kind
        work.events[i, 2] = player
        work.events[i, 3] = arm
        work.events[i, 4] = work.group.term
        work.group.n_events += 1


def send(work: Workspace, kind: int, player: int, arm: int) -> None:
    """Count a broadcast; ``first_vote`` keeps when a player first sent one about an arm."""
    work.group.broadcasts += 1
    sender = work.players[player]
    if arm >= 0 and sender.first_vote < 0:
        sender.first_vote = sender.active
    note(work, kind, player, arm)


def holds_shared(alive: Any, shared: Any) -> int:
    """1 if the remaining arms of a player are exactly the shared ones, else 0."""
    for k in range(len(shared)):
        if (alive[k] > 0) != (shared[k] > 0):
            return 0
    return 1


def count_holders(work: Workspace) -> None:
    """Count the players whose remaining arms are exactly the shared ones."""
    work.group.holding = 0
    for n in range(len(work.alive)):
        work.group.holding += holds_shared(work.alive[n], work.shared)


def note_eliminations(work: Workspace, player: int) -> int:
    """Note the arms that were shared ``before`` and no longer are; returns how many."""
    lost = 0
    for k in range(len(work.shared)):
        if work.before[k] and not work.shared[k]:
            note(work, ELIMINATION, player, k)
            lost += 1
        work.before[k] = work.shared[k]
    return lost
