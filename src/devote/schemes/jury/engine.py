"""The jury in the compiled loop."""

from devote.kernels import COUNT, State, jitable, merge
from devote.kernels.randomizer import blur
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
    STALLED,
    TIME,
    Arena,
    count_holders,
    holds_answer,
    note,
)
from devote.protocol.scheme import Engine, RunStatus

SEATED = OWN
PICKS = OWN + 1

ROLE = ACTIVE + 1
KNOWS = ACTIVE + 2

NOBODY = 0
JUROR = 1
HEARD = 2
"""A juror who has picked."""

CLAIM = ELIMINATION + 1
PICK = ELIMINATION + 2

SEATS = 0
SEAT_AFTER = 1
NEEDED = 2
VOTE_AFTER = 3
"""0 without privacy."""
TRUTHS = 4


@jitable
def wake(arena: Arena, state: State, player: int, noise: float) -> None:
    """Hear the verdict, or claim a seat, or pick."""
    if arena.counters[N_SHARED] == 1:
        if not arena.own[player, KNOWS]:
            arena.own[player, KNOWS] = 1
            held = holds_answer(arena, player)
            arena.counters[CONFLICTS] += merge(state, arena.shared)
            arena.counters[HOLDING] += 1 - held
        return
    n_arms = len(arena.tally)
    role = arena.own[player, ROLE]
    if role == NOBODY:
        if (
            arena.counters[SEATED] < arena.scheme[SEATS]
            and arena.own[player, ACTIVE] >= arena.scheme[SEAT_AFTER]
        ):
            arena.own[player, ROLE] = JUROR
            arena.counters[SEATED] += 1
            arena.counters[BROADCASTS] += 1
            note(arena, CLAIM, player, -1)
    elif role == JUROR:
        if arena.scheme[VOTE_AFTER] == 0:
            if state.ints[COUNT] == 1:
                pick(arena, player, only_arm(state))
        elif arena.own[player, ACTIVE] >= arena.scheme[VOTE_AFTER]:
            arm = int(noise * n_arms)
            if state.ints[COUNT] == 1:
                arm = blur(only_arm(state), noise, arena.scheme[TRUTHS], n_arms)
            pick(arena, player, arm)


@jitable
def learn(arena: Arena, state: State, player: int, n_out: int) -> None:
    """A juror that is down to one arm picks it."""
    if (
        arena.scheme[VOTE_AFTER] == 0
        and state.ints[COUNT] == 1
        and arena.own[player, ROLE] == JUROR
        and arena.counters[N_SHARED] > 1
    ):
        pick(arena, player, only_arm(state))


@jitable
def only_arm(state: State) -> int:
    """The one arm left."""
    for k in range(len(state.alive)):
        if state.alive[k]:
            return k
    return -1


@jitable
def pick(arena: Arena, player: int, arm: int) -> None:
    """Count a pick, and the verdict if it is the one that was missing."""
    arena.own[player, ROLE] = HEARD
    arena.tally[arm] += 1
    arena.counters[PICKS] += 1
    arena.counters[BROADCASTS] += 1
    if arena.first_vote[player] < 0:
        arena.first_vote[player] = arena.own[player, ACTIVE]
    note(arena, PICK, player, arm)
    if arena.tally[arm] >= arena.scheme[NEEDED]:
        for k in range(len(arena.tally)):
            if k != arm:
                arena.shared[k] = 0
                note(arena, ELIMINATION, player, k)
        arena.counters[N_SHARED] = 1
        count_holders(arena)
    if arena.counters[N_SHARED] == 1 or arena.counters[PICKS] == arena.scheme[SEATS]:
        arena.counters[DECIDED] = arena.counters[TIME] + 1


@jitable
def ended(arena: Arena) -> int:
    """AGREED once everybody holds the verdict, STALLED without one after all picks, or 0."""
    if arena.counters[N_SHARED] == 1:
        return AGREED if arena.counters[HOLDING] == arena.n_players else 0
    return STALLED if arena.counters[PICKS] == arena.scheme[SEATS] else 0


def winners(arena: Arena, status: RunStatus) -> tuple[int, ...]:
    """The verdict, or the arms, most picks first; after a stall those with picks."""
    counts = arena.tally.tolist()
    shared = [k for k, kept in enumerate(arena.shared.tolist()) if kept]
    ranked = sorted(shared, key=lambda k: (-counts[k], k))
    return tuple(k for k in ranked if counts[k] or status != "stalled")


ENGINE = Engine(
    wake=wake,
    learn=learn,
    ended=ended,
    winners=winners,
    words=KNOWS + 1,
    events=("elimination", "claim", "pick"),
)
