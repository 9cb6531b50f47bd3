"""Decentralized Elimination in the compiled loop.

The rules themselves (what is shared, how a player merges) are kernels; here is only the
bookkeeping that lets the loop see the end of a run without looking at every player each time.

Paper: Algorithm 2, with errata 1-5 and 14.
"""

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
    Arena,
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
def wake(arena: Arena, state: State, player: int, noise: float) -> None:
    """Read what has changed since the player was last active.

    Paper: Algorithm 2, lines 3-11.
    """
    if arena.own[player, SEEN] == arena.counters[VERSION]:
        return
    held = holds_answer(arena, player)
    arena.own[player, SEEN] = arena.counters[VERSION]
    if arena.own[player, SEEN_TERM] != arena.counters[TERM]:
        arena.own[player, SEEN_TERM] = arena.counters[TERM]
        start(state)
    arena.counters[CONFLICTS] += merge(state, arena.shared)
    if arena.counters[N_SHARED] == 1 and not held:
        arena.counters[HOLDING] += 1


@jitable
def learn(arena: Arena, state: State, player: int, n_out: int) -> None:
    """Vote against what was eliminated, or open the next term.

    Paper: Algorithm 2, lines 14-20.
    """
    if n_out == RESET:
        open_term(arena, player)
        arena.own[player, SEEN] = arena.counters[VERSION]
        return
    sent = 0
    for j in range(n_out):
        sent += cast(arena, player, arena.out[j])
    if sent > 0:
        update_shared(arena, player)


@jitable
def cast(arena: Arena, player: int, arm: int) -> int:
    """Send one vote, unless it has been sent before; returns 1 if it was sent now.

    Paper: Algorithm 2, line 18.
    """
    if arena.voted[player, arm]:
        return 0
    arena.voted[player, arm] = 1
    arena.tally[arm] += 1
    arena.counters[BROADCASTS] += 1
    if arena.first_vote[player] < 0:
        arena.first_vote[player] = arena.own[player, ACTIVE]
    if arena.shared[arm]:
        arena.own[player, AGAINST] += 1
        if arena.own[player, AGAINST] == arena.counters[N_SHARED] - 1:
            arena.counters[SETTLED] += 1
    note(arena, VOTE, player, arm)
    return 1


@jitable
def update_shared(arena: Arena, player: int) -> None:
    """Derive the shared set from the tally, and what follows when it has changed.

    Paper: Algorithm 2, lines 4-7.
    """
    for k in range(len(arena.tally)):
        arena.before[k] = arena.shared[k]
    arena.counters[N_SHARED] = shared_set(arena.tally, arena.scheme[0], arena.shared)
    changed = 0
    for k in range(len(arena.tally)):
        if arena.before[k] and not arena.shared[k]:
            note(arena, ELIMINATION, player, k)
            changed = 1
    if changed:
        arena.counters[VERSION] += 1
        recount(arena)
        if arena.counters[N_SHARED] == 1:
            count_holders(arena)
    if arena.counters[DECIDED] == 0 and (
        arena.counters[N_SHARED] == 1 or arena.counters[SETTLED] >= arena.n_players
    ):
        arena.counters[DECIDED] = arena.counters[TIME] + 1


@jitable
def recount(arena: Arena) -> None:
    """Count, for every player, the shared arms it has voted against.

    A player who has at most one left is settled: it sends no more votes (erratum 5).
    """
    settled = 0
    for n in range(arena.n_players):
        against = 0
        for k in range(len(arena.tally)):
            if arena.shared[k] and arena.voted[n, k]:
                against += 1
        arena.own[n, AGAINST] = against
        if against + 1 >= arena.counters[N_SHARED]:
            settled += 1
    arena.counters[SETTLED] = settled


@jitable
def open_term(arena: Arena, player: int) -> None:
    """A reset: votes so far no longer count.

    Paper: section 4, DSER4; erratum 14.
    """
    arena.counters[RESETS] += 1
    arena.counters[TERM] += 1
    arena.counters[BROADCASTS] += 1
    arena.counters[VERSION] += 1
    arena.counters[DECIDED] = 0
    arena.counters[N_SHARED] = len(arena.tally)
    for k in range(len(arena.tally)):
        arena.tally[k] = 0
        arena.shared[k] = 1
        for n in range(arena.n_players):
            arena.voted[n, k] = 0
    arena.own[player, SEEN_TERM] = arena.counters[TERM]
    recount(arena)
    note(arena, RESET_EVENT, player, -1)


@jitable
def ended(arena: Arena) -> int:
    """AGREED, STALLED or 0.

    Paper: Algorithm 2, line 22; erratum 5.
    """
    if arena.counters[N_SHARED] == 1:
        return AGREED if arena.counters[HOLDING] == arena.n_players else 0
    return STALLED if arena.counters[SETTLED] >= arena.n_players else 0


def winners(arena: Arena, status: RunStatus) -> tuple[int, ...]:
    """The arms still shared, the fewest votes first."""
    counts = arena.tally.tolist()
    shared = [k for k, kept in enumerate(arena.shared.tolist()) if kept]
    return tuple(sorted(shared, key=lambda k: (counts[k], k)))


ENGINE = Engine(
    wake=wake,
    learn=learn,
    ended=ended,
    winners=winners,
    words=AGAINST + 1,
    events=("elimination", "vote", "reset"),
)
