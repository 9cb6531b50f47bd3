"""The jury in the compiled loop."""

from typing import Any

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
    Setup,
    Tables,
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
def wake(
    setup: Setup,
    tables: Tables,
    counters: Any,
    alive: Any,
    state: State,
    player: int,
    noise: float,
) -> None:
    """Hear the verdict, or claim a seat, or pick."""
    if counters[N_SHARED] == 1:
        if not tables.own[player, KNOWS]:
            tables.own[player, KNOWS] = 1
            held = holds_answer(tables, alive, player)
            counters[CONFLICTS] += merge(state, tables.shared)
            counters[HOLDING] += 1 - held
        return
    n_arms = len(tables.tally)
    role = tables.own[player, ROLE]
    if role == NOBODY:
        if (
            counters[SEATED] < setup.scheme[SEATS]
            and tables.own[player, ACTIVE] >= setup.scheme[SEAT_AFTER]
        ):
            tables.own[player, ROLE] = JUROR
            counters[SEATED] += 1
            counters[BROADCASTS] += 1
            note(setup, tables, counters, CLAIM, player, -1)
    elif role == JUROR:
        if setup.scheme[VOTE_AFTER] == 0:
            if state.ints[COUNT] == 1:
                pick(setup, tables, counters, alive, player, only_arm(state))
        elif tables.own[player, ACTIVE] >= setup.scheme[VOTE_AFTER]:
            arm = int(noise * n_arms)
            if state.ints[COUNT] == 1:
                arm = blur(only_arm(state), noise, setup.scheme[TRUTHS], n_arms)
            pick(setup, tables, counters, alive, player, arm)


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
    """A juror that is down to one arm picks it."""
    if (
        setup.scheme[VOTE_AFTER] == 0
        and state.ints[COUNT] == 1
        and tables.own[player, ROLE] == JUROR
        and counters[N_SHARED] > 1
    ):
        pick(setup, tables, counters, alive, player, only_arm(state))


@jitable
def only_arm(state: State) -> int:
    """The one arm left."""
    for k in range(len(state.alive)):
        if state.alive[k]:
            return k
    return -1


@jitable
def pick(setup: Setup, tables: Tables, counters: Any, alive: Any, player: int, arm: int) -> None:
    """Count a pick, and the verdict if it is the one that was missing."""
    tables.own[player, ROLE] = HEARD
    tables.tally[arm] += 1
    counters[PICKS] += 1
    counters[BROADCASTS] += 1
    if tables.first_vote[player] < 0:
        tables.first_vote[player] = tables.own[player, ACTIVE]
    note(setup, tables, counters, PICK, player, arm)
    if tables.tally[arm] >= setup.scheme[NEEDED]:
        for k in range(len(tables.tally)):
            if k != arm:
                tables.shared[k] = 0
                note(setup, tables, counters, ELIMINATION, player, k)
        counters[N_SHARED] = 1
        count_holders(setup, tables, counters, alive)
    if counters[N_SHARED] == 1 or counters[PICKS] == setup.scheme[SEATS]:
        counters[DECIDED] = counters[TIME] + 1


@jitable
def ended(setup: Setup, counters: Any, n_learners: int) -> int:
    """AGREED once everybody holds the verdict, STALLED without one after all picks, or 0."""
    if counters[N_SHARED] == 1:
        return AGREED if counters[HOLDING] == setup.n_players else 0
    return STALLED if counters[PICKS] == setup.scheme[SEATS] else 0


def outcome(
    setup: Setup, learners: State, tables: Tables, counters: Any
) -> tuple[RunStatus, tuple[int, ...]]:
    """How a run stands; the verdict, or the arms, most picks first."""
    alive: Any = learners.alive
    counters[HOLDING] = ((alive > 0) == (tables.shared > 0)).all(axis=1).sum()
    status: dict[int, RunStatus] = {0: "unfinished", AGREED: "agreed", STALLED: "stalled"}
    code = ended(setup, counters, setup.n_players)
    counts = tables.tally.tolist()
    shared = [k for k, kept in enumerate(tables.shared.tolist()) if kept]
    winners = sorted(shared, key=lambda k: (-counts[k], k))
    return status[code], tuple(k for k in winners if counts[k] or code != STALLED)


ENGINE = Engine(
    wake=wake,
    learn=learn,
    ended=ended,
    outcome=outcome,
    words=KNOWS + 1,
    events=("elimination", "claim", "pick"),
)
