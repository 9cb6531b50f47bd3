"""The arrays of a compiled run: which word of which table means what.

The loop and the schemes' parts of it share these. Words from ``OWN`` on, and a player's words
after ``ACTIVE``, are the scheme's to name.
"""

from typing import Any, NamedTuple

from devote.kernels.jitable import jitable

TIME = 0
BROADCASTS = 1
CONFLICTS = 2
RESETS = 3
SUBOPTIMAL = 4
ENDED = 5
DECIDED = 6
"""Samples until the group had its answer; 0 while it has none."""
N_EVENTS = 7
TERM = 8
N_SHARED = 9
HOLDING = 10
VERSION = 11
"""How often what all players act on has changed: a decision that they hear of when they wake."""
OWN = 12
N_COUNTERS = 16

AGREED = 1
STALLED = 2

ACTIVE = 0
"""Word of ``Tables.own`` that counts a player's activations."""

ELIMINATION = 0
"""The event that every scheme has; its own follow."""


class Arena(NamedTuple):
    """What a compiled run shares: its constants, its arrays and each player's own words.

    ``epsilon`` is what the experiment asks for. ``even``: all players wake equally often.
    ``vast``: their memory is larger than a cache. ``steady``: what is suboptimal never changes,
    and ``good`` says it. ``recording``: ``arm_pulls`` and ``player_pulls`` count who played what.
    ``scheme`` has the scheme's own constants. ``alive`` has every learner's remaining arms,
    ``tally`` counts messages per arm, ``by_arm`` has words of the scheme's own for each arm,
    ``shared`` marks the arms still open to all, ``voted`` who has spoken of which arm, or what
    each message about an arm said. ``before`` and ``out`` are room to work in.
    """

    n_players: int
    epsilon: float
    endless: int
    even: int
    vast: int
    steady: int
    tracing: int
    recording: int
    scheme: tuple[int, ...]
    counters: Any
    alive: Any
    own: Any
    voted: Any
    first_vote: Any
    tally: Any
    by_arm: Any
    shared: Any
    before: Any
    out: Any
    good: Any
    events: Any
    arm_pulls: Any
    player_pulls: Any


@jitable
def note(arena: Arena, kind: int, player: int, arm: int) -> None:
    """Write an event to the trace, if there is one."""
    if arena.tracing:
        i = arena.counters[N_EVENTS]
        arena.events[i, 0] = arena.counters[TIME]
        arena.events[i, 1] = kind
        arena.events[i, 2] = player
        arena.events[i, 3] = arm
        arena.events[i, 4] = arena.counters[TERM]
        arena.counters[N_EVENTS] += 1


@jitable
def holds_answer(arena: Arena, player: int) -> int:
    """Whether a player's remaining arms are exactly the shared ones."""
    for k in range(len(arena.shared)):
        if (arena.alive[player, k] > 0) != (arena.shared[k] > 0):
            return 0
    return 1


@jitable
def count_holders(arena: Arena) -> None:
    """Count the players in the tables who already hold just the one shared arm."""
    arena.counters[HOLDING] = 0
    for n in range(len(arena.alive)):
        arena.counters[HOLDING] += holds_answer(arena, n)


@jitable
def say(arena: Arena, kind: int, player: int, arm: int) -> None:
    """Count a message, and note it; ``first_vote`` keeps when a player first spoke of an arm."""
    arena.counters[BROADCASTS] += 1
    if arm >= 0 and arena.first_vote[player] < 0:
        arena.first_vote[player] = arena.own[player, ACTIVE]
    note(arena, kind, player, arm)


@jitable
def note_eliminations(arena: Arena, player: int) -> int:
    """Note the arms that were shared ``before`` and no longer are; returns how many."""
    lost = 0
    for k in range(len(arena.shared)):
        if arena.before[k] and not arena.shared[k]:
            note(arena, ELIMINATION, player, k)
            lost += 1
        arena.before[k] = arena.shared[k]
    return lost


@jitable
def ending(arena: Arena, without_answer: int) -> int:
    """AGREED once everybody holds the one shared arm; while several are, what is given."""
    is_one = (arena.counters[N_SHARED] == 1) * 1
    all_hold = (arena.counters[HOLDING] == arena.n_players) * 1
    code: int = is_one * all_hold * AGREED + (1 - is_one) * without_answer
    return code
