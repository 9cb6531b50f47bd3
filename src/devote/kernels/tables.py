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
OWN = 11
N_COUNTERS = 16

AGREED = 1
STALLED = 2

ACTIVE = 0
"""Word of ``Tables.own`` that counts a player's activations."""

ELIMINATION = 0
"""The event that every scheme has; its own follow."""


class Setup(NamedTuple):
    """The constants of a run that are not the subroutine's.

    ``epsilon`` is what the experiment asks for. ``even``: all players wake equally often.
    ``vast``: their memory is larger than a cache.
    ``steady``: what is suboptimal never changes, and ``Tables.good`` says it. ``scheme`` has the
    scheme's own constants.
    """

    n_players: int
    epsilon: float
    endless: int
    even: int
    vast: int
    steady: int
    tracing: int
    scheme: tuple[int, ...]


class Tables(NamedTuple):
    """The shared arrays of a run, and each player's own words beside its learner's.

    ``tally`` counts messages per arm, ``shared`` marks the arms still open to all, ``voted`` who
    has spoken of which arm, or what each message about an arm said. ``by_arm`` has words of the
    scheme's own for each arm. ``before`` and ``out`` are room to work in.
    """

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


@jitable
def note(setup: Setup, tables: Tables, counters: Any, kind: int, player: int, arm: int) -> None:
    """Write an event to the trace, if there is one."""
    if setup.tracing:
        i = counters[N_EVENTS]
        tables.events[i, 0] = counters[TIME]
        tables.events[i, 1] = kind
        tables.events[i, 2] = player
        tables.events[i, 3] = arm
        tables.events[i, 4] = counters[TERM]
        counters[N_EVENTS] += 1


@jitable
def holds_answer(tables: Tables, alive: Any, player: int) -> int:
    """Whether a player's remaining arms are exactly the shared ones."""
    for k in range(len(tables.shared)):
        if (alive[player, k] > 0) != (tables.shared[k] > 0):
            return 0
    return 1


@jitable
def count_holders(setup: Setup, tables: Tables, counters: Any, alive: Any) -> None:
    """Count the players who already hold just the one shared arm."""
    counters[HOLDING] = 0
    for n in range(setup.n_players):
        counters[HOLDING] += holds_answer(tables, alive, n)
