"""The arrays of a compiled run, and what votes, seats and resets do to them.

The rules themselves (what is shared, how a player merges) are kernels; here is only the
bookkeeping that lets the loop see the end of a run without looking at every player each time.
"""

from typing import Any, NamedTuple

from devote.kernels import jitable, shared_set

TIME = 0
BROADCASTS = 1
CONFLICTS = 2
RESETS = 3
SUBOPTIMAL = 4
VERSION = 5
TERM = 6
N_SHARED = 7
SETTLED = 8
HOLDING = 9
DONE = 10
ENDED = 11
SEATED = 12
N_EVENTS = 13
N_COUNTERS = 14

AGREED = 1
STALLED = 2

VOTE = 0
ELIMINATION = 1
RESET_EVENT = 2
SEAT = 3

ACTIVE = 0
SEEN = 1
SEEN_TERM = 2
OPEN = 3
SEATED_AS = 4
N_OWN = 5


class Setup(NamedTuple):
    """The constants of a run that are not the subroutine's.

    ``even``: all players wake equally often. ``vast``: their memory is larger than a cache.
    ``steady``: what is suboptimal never changes, and ``Tables.good`` says it.
    """

    n_players: int
    votes_needed: int
    n_seats: int
    seat_after: int
    endless: int
    even: int
    vast: int
    steady: int
    tracing: int


class Tables(NamedTuple):
    """The shared arrays of a run, and each player's own words beside its learner's.

    ``own[n]`` holds what player n has seen and done: its activations, the version of the shared
    set and the term it knows, how many shared arms it has not voted against, its seat.
    """

    own: Any
    voted: Any
    first_vote: Any
    tally: Any
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
def recount(seats: bool, setup: Setup, tables: Tables, counters: Any) -> None:
    """Count, for every player, the shared arms it may yet vote against.

    A player with at most one is settled: it sends no more votes (erratum 5).
    """
    settled = 0
    for n in range(setup.n_players):
        left = 0
        for k in range(len(tables.tally)):
            if tables.shared[k] and not tables.voted[n, k]:
                left += 1
        tables.own[n, OPEN] = left
        if left <= 1 and (not seats or tables.own[n, SEATED_AS] > 0):
            settled += 1
    counters[SETTLED] = settled


@jitable
def cast(setup: Setup, tables: Tables, counters: Any, player: int, arm: int) -> int:
    """Send one vote, unless it has been sent before; returns 1 if it was sent now.

    Paper: Algorithm 2, line 18.
    """
    if tables.voted[player, arm]:
        return 0
    tables.voted[player, arm] = 1
    tables.tally[arm] += 1
    counters[BROADCASTS] += 1
    if tables.first_vote[player] < 0:
        tables.first_vote[player] = tables.own[player, ACTIVE]
    if tables.shared[arm]:
        tables.own[player, OPEN] -= 1
        if tables.own[player, OPEN] == 1:
            counters[SETTLED] += 1
    note(setup, tables, counters, VOTE, player, arm)
    return 1


@jitable
def update_shared(
    seats: bool, setup: Setup, tables: Tables, counters: Any, player: int, alive: Any
) -> None:
    """Derive the shared set from the tally, and what follows when it has changed.

    With a jury nothing changes before all its seats are taken.

    Paper: Algorithm 2, lines 4-7.
    """
    if counters[SEATED] < setup.n_seats:
        return
    for k in range(len(tables.tally)):
        tables.before[k] = tables.shared[k]
    counters[N_SHARED] = shared_set(tables.tally, setup.votes_needed, tables.shared)
    changed = 0
    for k in range(len(tables.tally)):
        if tables.before[k] and not tables.shared[k]:
            note(setup, tables, counters, ELIMINATION, player, k)
            changed = 1
    if changed:
        counters[VERSION] += 1
        recount(seats, setup, tables, counters)
        if counters[N_SHARED] == 1:
            count_holders(setup, tables, counters, alive)


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


@jitable
def claim_seat(setup: Setup, tables: Tables, counters: Any, player: int) -> int:
    """Take a seat in the jury if one is free and the player has been active often enough.

    Looks at activity alone. Returns 1 if a seat was taken.
    """
    if (
        tables.own[player, SEATED_AS] > 0
        or counters[SEATED] >= setup.n_seats
        or tables.own[player, ACTIVE] < setup.seat_after
    ):
        return 0
    counters[SEATED] += 1
    counters[BROADCASTS] += 1
    tables.own[player, SEATED_AS] = counters[SEATED]
    note(setup, tables, counters, SEAT, player, -1)
    return 1


@jitable
def open_term(seats: bool, setup: Setup, tables: Tables, counters: Any, player: int) -> None:
    """A reset: votes so far no longer count.

    Paper: section 4, DSER4; erratum 14.
    """
    counters[RESETS] += 1
    counters[TERM] += 1
    counters[BROADCASTS] += 1
    counters[VERSION] += 1
    counters[N_SHARED] = len(tables.tally)
    for k in range(len(tables.tally)):
        tables.tally[k] = 0
        tables.shared[k] = 1
        for n in range(setup.n_players):
            tables.voted[n, k] = 0
    tables.own[player, SEEN_TERM] = counters[TERM]
    recount(seats, setup, tables, counters)
    note(setup, tables, counters, RESET_EVENT, player, -1)


@jitable
def ending(seats: bool, setup: Setup, counters: Any) -> int:
    """AGREED, STALLED or 0, for players who vote.

    Paper: Algorithm 2, line 22; erratum 5.
    """
    if counters[N_SHARED] == 1:
        return AGREED if counters[HOLDING] == setup.n_players else 0
    voters = setup.n_seats if seats else setup.n_players
    return STALLED if counters[SETTLED] >= voters else 0
