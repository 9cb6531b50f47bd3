"""The jury in the compiled loop."""

from typing import Any

from devote.kernels import COUNT, State, jitable, merge, tables
from devote.kernels.randomizer import blur
from devote.kernels.state import next_alive
from devote.kernels.tables import Arena, count_holders, holds_answer, note_eliminations, say
from devote.protocol.engine import Clocks, Engine

SEATED, PICKS = tables.OWN, tables.OWN + 1
ROLE, KNOWS = tables.ACTIVE + 1, tables.ACTIVE + 2
CLAIM, PICK = tables.ELIMINATION + 1, tables.ELIMINATION + 2

NOBODY, JUROR, HEARD = range(3)
"""The roles of a player; HEARD is a juror who has picked."""

SEATS, SEAT_AFTER, NEEDED, VOTE_AFTER, TRUTHS = range(5)
"""Places of the scheme's constants; ``VOTE_AFTER`` holds 0 without privacy."""


@jitable
def wake(arena: Arena, state: State, player: int, noise: float) -> None:
    """Hear the verdict, or claim a seat, or pick."""
    if arena.counters[tables.N_SHARED] == 1:
        if not arena.own[player, KNOWS]:
            arena.own[player, KNOWS] = 1
            held = holds_answer(arena, player)
            arena.counters[tables.CONFLICTS] += merge(state, arena.shared)
            arena.counters[tables.HOLDING] += 1 - held
        return
    n_arms = len(arena.tally)
    role = arena.own[player, ROLE]
    if role == NOBODY:
        if (
            arena.counters[SEATED] < arena.scheme[SEATS]
            and arena.own[player, tables.ACTIVE] >= arena.scheme[SEAT_AFTER]
        ):
            arena.own[player, ROLE] = JUROR
            arena.counters[SEATED] += 1
            if arena.counters[SEATED] == arena.scheme[SEATS]:
                arena.counters[tables.VERSION] += 1
            say(arena, CLAIM, player, -1)
    elif role == JUROR:
        if arena.scheme[VOTE_AFTER] == 0:
            if state.ints[COUNT] == 1:
                pick(arena, player, next_alive(state, 0))
        elif arena.own[player, tables.ACTIVE] >= arena.scheme[VOTE_AFTER]:
            arm = int(noise * n_arms)
            if state.ints[COUNT] == 1:
                arm = blur(next_alive(state, 0), noise, arena.scheme[TRUTHS], n_arms)
            pick(arena, player, arm)


@jitable
def learn(arena: Arena, state: State, player: int, n_out: int) -> None:
    """A juror that is down to one arm picks it, or holds the verdict that it has just given."""
    if picks_now(arena, state, player, n_out):
        pick(arena, player, next_alive(state, 0))
    elif arena.counters[tables.N_SHARED] == 1 and not arena.own[player, KNOWS]:
        arena.counters[tables.HOLDING] += holds_answer(arena, player)


@jitable
def picks_now(arena: Arena, state: State, player: int, n_out: int) -> bool:
    """Whether a player that has just learned something is a juror who is done with it."""
    return bool(
        arena.scheme[VOTE_AFTER] == 0
        and state.ints[COUNT] == 1
        and arena.own[player, ROLE] == JUROR
        and arena.counters[tables.N_SHARED] > 1
    )


@jitable
def pick(arena: Arena, player: int, arm: int) -> None:
    """Count a pick, and the verdict if it is the one that was missing."""
    arena.own[player, ROLE] = HEARD
    arena.tally[arm] += 1
    arena.counters[PICKS] += 1
    say(arena, PICK, player, arm)
    if arena.tally[arm] >= arena.scheme[NEEDED]:
        for k in range(len(arena.tally)):
            arena.shared[k] = k == arm
        note_eliminations(arena, player)
        arena.counters[tables.N_SHARED] = 1
        arena.counters[tables.VERSION] += 1
        count_holders(arena)
    if arena.counters[tables.N_SHARED] == 1 or arena.counters[PICKS] == arena.scheme[SEATS]:
        arena.counters[tables.DECIDED] = arena.counters[tables.TIME] + 1


@jitable
def ended(arena: Arena) -> int:
    """AGREED once everybody holds the verdict, STALLED without one after all picks, or 0."""
    all_picked = arena.counters[PICKS] == arena.scheme[SEATS]
    return tables.ending(arena, all_picked * tables.STALLED)


def ranks(arena: Arena, code: Any) -> tuple[Any, Any]:
    """The verdict; before it all arms, most picks first; after a stall those with picks."""
    named = (arena.tally > 0) | (code != tables.STALLED)
    return -arena.tally, arena.shared * named


@jitable
def speaks(arena: Arena, state: State, player: int) -> bool:
    """Whether a player that wakes now may claim a seat or pick before it plays."""
    if arena.counters[tables.N_SHARED] == 1:
        return False
    active, role = arena.own[player, tables.ACTIVE], arena.own[player, ROLE]
    if role == NOBODY:
        free = arena.counters[SEATED] < arena.scheme[SEATS]
        return bool(free and active >= arena.scheme[SEAT_AFTER])
    if role == HEARD:
        return False
    if arena.scheme[VOTE_AFTER] == 0:
        return bool(state.ints[COUNT] == 1)
    return bool(active >= arena.scheme[VOTE_AFTER])


@jitable
def rests(arena: Arena, state: State, player: int) -> bool:
    """Whether a player only plays its one arm until it hears the verdict, or has heard it."""
    if state.ints[COUNT] > 1:
        return False
    if arena.counters[tables.N_SHARED] == 1:
        return bool(arena.own[player, KNOWS])
    role = arena.own[player, ROLE]
    full = arena.counters[SEATED] == arena.scheme[SEATS]
    return bool(role == HEARD or (role == NOBODY and full))


@jitable
def take_stock(arena: Arena, player: int) -> None:
    """After the verdict: does the player hold it already?"""
    if arena.counters[tables.N_SHARED] == 1:
        arena.counters[tables.HOLDING] += holds_answer(arena, player)


@jitable
def due(arena: Arena) -> int:
    """How many seats are free, or picks are lacking to the arm with the most, or to the last."""
    fewest = arena.scheme[SEATS] - arena.counters[PICKS]
    if arena.counters[tables.VERSION] == 0:  # it has not been said that all seats are taken
        fewest = min(fewest, arena.scheme[SEATS] - arena.counters[SEATED])
    for k in range(len(arena.tally)):
        fewest = min(fewest, arena.scheme[NEEDED] - arena.tally[k])
    return int(max(0, fewest))


EVENTS = ("elimination", "claim", "pick")
CLOCKS = Clocks(rests=rests, speaks=speaks, tells=picks_now, take_stock=take_stock, due=due)
ENGINE = Engine(ended, ranks, wake, learn, words=KNOWS + 1, events=EVENTS, clocks=CLOCKS)
