"""Decentralized Elimination in the compiled loop.

The rules themselves (what is shared, how a player merges) are kernels; here is only the
bookkeeping that lets the loop see the end of a run without looking at every player each time.

Paper: Algorithm 2, with errata 1-5 and 14.
"""

from typing import Any

from devote.kernels import RESET, State, jitable, merge, shared_set, start
from devote.kernels.tables import (
    ACTIVE,
    AGREED,
    BROADCASTS,
    CONFLICTS,
    DECIDED,
    ELIMINATION,
    HOLDING,
    N_SHARED,
    OWN,
    RESETS,
    STALLED,
    TERM,
    TIME,
    Setup,
    Tables,
    count_holders,
    holds_answer,
    note,
)
from devote.protocol.scheme import Engine, RunStatus

VERSION = OWN
SETTLED = OWN + 1

SEEN = ACTIVE + 1
SEEN_TERM = ACTIVE + 2
AGAINST = ACTIVE + 3
"""How many of the shared arms a player has voted against."""

VOTE = ELIMINATION + 1
RESET_EVENT = ELIMINATION + 2


@jitable
def wake(
    setup: Setup,
    tables: Tables,
    counters: Any,
    alive: Any,
    state: State,
    player: int,
    noise: float,
) -> None:
    """Read what has changed since the player was last active.

    Paper: Algorithm 2, lines 3-11.
    """
    if tables.own[player, SEEN] == counters[VERSION]:
        return
    held = holds_answer(tables, alive, player)
    tables.own[player, SEEN] = counters[VERSION]
    if tables.own[player, SEEN_TERM] != counters[TERM]:
        tables.own[player, SEEN_TERM] = counters[TERM]
        start(state)
    counters[CONFLICTS] += merge(state, tables.shared)
    if counters[N_SHARED] == 1 and not held:
        counters[HOLDING] += 1


@jitable
def learn(
    setup: Setup,
    tables: Tables,
    counters: Any,
    alive: Any,
    state: State,
    player: int,
    n_out: int,
) -> None:
    """Vote against what was eliminated, or open the next term.

    Paper: Algorithm 2, lines 14-20.
    """
    if n_out == RESET:
        open_term(setup, tables, counters, player)
        tables.own[player, SEEN] = counters[VERSION]
        return
    sent = 0
    for j in range(n_out):
        sent += cast(setup, tables, counters, player, tables.out[j])
    if sent > 0:
        update_shared(setup, tables, counters, player, alive)


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
        tables.own[player, AGAINST] += 1
        if tables.own[player, AGAINST] == counters[N_SHARED] - 1:
            counters[SETTLED] += 1
    note(setup, tables, counters, VOTE, player, arm)
    return 1


@jitable
def update_shared(setup: Setup, tables: Tables, counters: Any, player: int, alive: Any) -> None:
    """Derive the shared set from the tally, and what follows when it has changed.

    Paper: Algorithm 2, lines 4-7.
    """
    for k in range(len(tables.tally)):
        tables.before[k] = tables.shared[k]
    counters[N_SHARED] = shared_set(tables.tally, setup.scheme[0], tables.shared)
    changed = 0
    for k in range(len(tables.tally)):
        if tables.before[k] and not tables.shared[k]:
            note(setup, tables, counters, ELIMINATION, player, k)
            changed = 1
    if changed:
        counters[VERSION] += 1
        recount(setup, tables, counters)
        if counters[N_SHARED] == 1:
            count_holders(setup, tables, counters, alive)
    if counters[DECIDED] == 0 and (counters[N_SHARED] == 1 or counters[SETTLED] >= setup.n_players):
        counters[DECIDED] = counters[TIME] + 1


@jitable
def recount(setup: Setup, tables: Tables, counters: Any) -> None:
    """Count, for every player, the shared arms it has voted against.

    A player who has at most one left is settled: it sends no more votes (erratum 5).
    """
    settled = 0
    for n in range(setup.n_players):
        against = 0
        for k in range(len(tables.tally)):
            if tables.shared[k] and tables.voted[n, k]:
                against += 1
        tables.own[n, AGAINST] = against
        if against + 1 >= counters[N_SHARED]:
            settled += 1
    counters[SETTLED] = settled


@jitable
def open_term(setup: Setup, tables: Tables, counters: Any, player: int) -> None:
    """A reset: votes so far no longer count.

    Paper: section 4, DSER4; erratum 14.
    """
    counters[RESETS] += 1
    counters[TERM] += 1
    counters[BROADCASTS] += 1
    counters[VERSION] += 1
    counters[DECIDED] = 0
    counters[N_SHARED] = len(tables.tally)
    for k in range(len(tables.tally)):
        tables.tally[k] = 0
        tables.shared[k] = 1
        for n in range(setup.n_players):
            tables.voted[n, k] = 0
    tables.own[player, SEEN_TERM] = counters[TERM]
    recount(setup, tables, counters)
    note(setup, tables, counters, RESET_EVENT, player, -1)


@jitable
def ended(setup: Setup, counters: Any, n_learners: int) -> int:
    """AGREED, STALLED or 0.

    Paper: Algorithm 2, line 22; erratum 5.
    """
    if counters[N_SHARED] == 1:
        return AGREED if counters[HOLDING] == setup.n_players else 0
    return STALLED if counters[SETTLED] >= setup.n_players else 0


def outcome(
    setup: Setup, learners: State, tables: Tables, counters: Any
) -> tuple[RunStatus, tuple[int, ...]]:
    """How a run stands; the arms still shared, the fewest votes first."""
    alive: Any = learners.alive
    counters[HOLDING] = ((alive > 0) == (tables.shared > 0)).all(axis=1).sum()
    status: dict[int, RunStatus] = {0: "unfinished", AGREED: "agreed", STALLED: "stalled"}
    counts = tables.tally.tolist()
    shared = [k for k, kept in enumerate(tables.shared.tolist()) if kept]
    winners = tuple(sorted(shared, key=lambda k: (counts[k], k)))
    return status[ended(setup, counters, setup.n_players)], winners


ENGINE = Engine(
    wake=wake,
    learn=learn,
    ended=ended,
    outcome=outcome,
    words=AGAINST + 1,
    events=("elimination", "vote", "reset"),
)
