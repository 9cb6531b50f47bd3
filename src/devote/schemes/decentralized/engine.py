"""Decentralized Elimination in the compiled loop.

The rules themselves (what is shared, how a player merges) are kernels; here is only the
bookkeeping that lets the loop see the end of a run without looking at every player each time.

Paper: Algorithm 2, with errata 1-5 and 14.
"""

from typing import Any

from devote.kernels import COUNT, RESET, State, jitable, merge, shared_set, start, tables
from devote.kernels.tables import (
    VERSION,
    Arena,
    count_holders,
    holds_answer,
    note_eliminations,
    say,
)
from devote.protocol.engine import Clocks, Engine

SETTLED = tables.OWN

SEEN = tables.ACTIVE + 1
SEEN_TERM = tables.ACTIVE + 2
AGAINST = tables.ACTIVE + 3
"""How many of the shared arms a player has voted against."""

VOTE = tables.ELIMINATION + 1
RESET_EVENT = tables.ELIMINATION + 2


@jitable
def wake(arena: Arena, state: State, player: int, noise: float) -> None:
    """Read what has changed since the player was last active.

    Paper: Algorithm 2, lines 3-11.
    """
    if arena.own[player, SEEN] == arena.counters[VERSION]:
        return
    held = holds_answer(arena, player)
    arena.own[player, SEEN] = arena.counters[VERSION]
    if arena.own[player, SEEN_TERM] != arena.counters[tables.TERM]:
        arena.own[player, SEEN_TERM] = arena.counters[tables.TERM]
        start(state)
    arena.counters[tables.CONFLICTS] += merge(state, arena.shared)
    if arena.counters[tables.N_SHARED] == 1 and not held:
        arena.counters[tables.HOLDING] += 1


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
    if arena.shared[arm]:
        arena.own[player, AGAINST] += 1
        if arena.own[player, AGAINST] == arena.counters[tables.N_SHARED] - 1:
            arena.counters[SETTLED] += 1
    say(arena, VOTE, player, arm)
    return 1


@jitable
def update_shared(arena: Arena, player: int) -> None:
    """Derive the shared set from the tally, and what follows when it has changed.

    Paper: Algorithm 2, lines 4-7.
    """
    arena.counters[tables.N_SHARED] = shared_set(arena.tally, arena.scheme[0], arena.shared)
    if note_eliminations(arena, player) > 0:
        arena.counters[VERSION] += 1
        recount(arena)
        if arena.counters[tables.N_SHARED] == 1:
            count_holders(arena)
    if arena.counters[tables.DECIDED] == 0 and (
        arena.counters[tables.N_SHARED] == 1 or arena.counters[SETTLED] >= arena.n_players
    ):
        arena.counters[tables.DECIDED] = arena.counters[tables.TIME] + 1


@jitable
def recount(arena: Arena) -> None:
    """Count, for every player in the tables, the shared arms it has voted against."""
    arena.counters[SETTLED] = 0
    for n in range(len(arena.own)):
        settle(arena, n)


@jitable
def settle(arena: Arena, player: int) -> None:
    """Count the shared arms that a player has voted against.

    A player who has at most one left is settled: it sends no more votes (erratum 5).
    """
    against = 0
    for k in range(len(arena.tally)):
        if arena.shared[k] and arena.voted[player, k]:
            against += 1
    arena.own[player, AGAINST] = against
    if against + 1 >= arena.counters[tables.N_SHARED]:
        arena.counters[SETTLED] += 1


@jitable
def open_term(arena: Arena, player: int) -> None:
    """A reset: votes so far no longer count.

    Paper: section 4, DSER4; erratum 14.
    """
    arena.counters[tables.RESETS] += 1
    arena.counters[tables.TERM] += 1
    arena.counters[VERSION] += 1
    arena.counters[tables.DECIDED] = 0
    arena.counters[tables.N_SHARED] = len(arena.tally)
    for k in range(len(arena.tally)):
        arena.tally[k] = 0
        arena.shared[k] = arena.before[k] = 1
        for n in range(len(arena.voted)):
            arena.voted[n, k] = 0
    arena.own[player, SEEN_TERM] = arena.counters[tables.TERM]
    recount(arena)
    say(arena, RESET_EVENT, player, -1)


@jitable
def ended(arena: Arena) -> int:
    """AGREED, STALLED or 0.

    Paper: Algorithm 2, line 22; erratum 5.
    """
    is_settled = arena.counters[SETTLED] >= arena.n_players
    return tables.ending(arena, is_settled * tables.STALLED)


def ranks(arena: Arena, code: Any) -> tuple[Any, Any]:
    """The arms still shared, the fewest votes first."""
    return arena.tally, arena.shared


@jitable
def take_stock(arena: Arena, player: int) -> None:
    """After a decision: is the player settled, does it hold the answer?"""
    settle(arena, player)
    if arena.counters[tables.N_SHARED] == 1:
        arena.counters[tables.HOLDING] += holds_answer(arena, player)


@jitable
def rests(arena: Arena, state: State, player: int) -> bool:
    """Whether a player only plays its one arm until it hears something new."""
    return bool(state.ints[COUNT] == 1 and arena.own[player, SEEN] == arena.counters[VERSION])


@jitable
def due(arena: Arena) -> int:
    """How many votes are missing against the arm that lacks the fewest; 0 once one arm is left.

    It is as many as players are not settled, if those are fewer.
    """
    if arena.counters[tables.N_SHARED] == 1:
        return 0
    fewest = min(arena.scheme[0], arena.n_players - arena.counters[SETTLED])
    for k in range(len(arena.tally)):
        if arena.shared[k]:
            fewest = min(fewest, arena.scheme[0] - arena.tally[k])
    return int(max(0, fewest))


EVENTS = ("elimination", "vote", "reset")
CLOCKS = Clocks(
    rests=rests,
    take_stock=take_stock,
    due=due,
    counts=(tables.HOLDING, SETTLED),
    hears_once=True,
)
ENGINE = Engine(ended, ranks, wake, learn, words=AGAINST + 1, events=EVENTS, clocks=CLOCKS)
