"""What the event loop works on: one record for the group, one per player, and a few arrays.

Fields that every scheme has are listed here; a scheme's part (``parts``) adds its own. In compiled
code ``group.time`` is a field of a record, and writing to it writes to the array behind it.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

AGREED = 1
STALLED = 2
FAULT = 3
"""Values of ``group.ended``; 0 while the run goes on. FAULT: the rule did what no rule may."""

ELIMINATION, ABOUT_ARM, OTHER = range(3)
"""Kinds of events: an elimination, a message about an arm, any other message."""

GROUP = (
    "time",  # pulls so far
    "broadcasts",
    "resets",
    "suboptimal",
    "ended",
    "decided",  # pulls until the group had its answer; 0 while it has none
    "pending",  # whether messages of this pull make a decision, which is not applied yet
    "n_events",  # rows of ``events`` in use
    "term",
    "version",  # counts the decisions that players learn of when they wake
    "n_shared",
    "holding",  # once one arm is shared: players whose only remaining arm it is
    "done",  # learners with one arm left, where nobody sends anything
    "touched",  # see ``loop.touch``
)
PLAYER = (
    "active",
    "first_vote",
    "conflicts",
    "term",
    "seen",  # the version of the group's decisions that the player knows
    "role",
    "against",
)


def record_type(names: Sequence[str], kind: type[np.signedinteger[Any]]) -> np.dtype[Any]:
    """A record of whole numbers."""
    return np.dtype([(name, kind) for name in names], align=True)


class Setup(NamedTuple):
    """Constants of a run.

    ``endless``: it goes on to its horizon. ``even``: all players wake equally often. ``steady``:
    rewards and which arms are good are the same for all players and at all times. ``noisy``: the
    scheme draws noise. ``alone``: nobody sends anything. ``one_learner``: all players share one.
    ``can_stall``: all may have voted without an answer. ``tracing`` and ``counting`` say what is
    kept.

    ``env`` holds the rewards, ``rule`` and ``scheme`` the constants of the subroutine and of the
    scheme. ``good[row * n_arms + arm]``: the arm is epsilon-optimal at first for that group of
    players. Who wakes is drawn by ``threshold`` and ``alias``, or after mean gaps of ``spans``.
    """

    n_players: int
    n_arms: int
    epsilon: float
    endless: int
    even: int
    steady: int
    noisy: int
    alone: int
    one_learner: int
    can_stall: int
    tracing: int
    counting: int
    env: Any
    rule: Any
    scheme: Any
    good: Any
    threshold: Any
    alias: Any
    spans: Any


class Tables(NamedTuple):
    """The arrays of a run; the first two are arrays of records.

    ``voted[player, arm]`` marks who has sent a vote against what; where a scheme keeps a log of
    messages, it is ``voted[place, arm]``, the content of each message about an arm. ``tally[slot]``
    counts messages: a slot is an arm, or one of two more, whose meaning is the scheme's.
    ``by_arm`` has numbers of the scheme's own for each arm, ``shared`` marks the arms still open
    to all. ``before`` and ``out`` are buffers.
    ``by_group`` counts suboptimal pulls and messages of each group of players, if counting.
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
    by_group: Any


class EventView(NamedTuple):
    """What a scheme's functions read and write during a pull of player ``place``.

    The first three are as in ``passes.View``, so that the same functions serve both engines.
    """

    trial: Any
    shared: Any
    out: Any
    setup: Setup
    tables: Tables
    place: int


def note(view: EventView, kind: int, arm: int) -> None:
    """Write an event to the trace, if there is one."""
    group = view.trial
    if view.setup.tracing:
        row = view.tables.events[group.n_events]
        row[0] = group.time
        row[1] = kind
        row[2] = view.place
        row[3] = arm
        row[4] = group.term
        group.n_events += 1


def holds_shared(alive: Any, shared: Any) -> int:
    """1 if the remaining arms of a player are exactly the shared ones, else 0."""
    for k in range(len(shared)):
        if (alive[k] > 0) != (shared[k] > 0):
            return 0
    return 1
