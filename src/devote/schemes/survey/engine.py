"""The survey in the compiled loop: one learner, and players who answer it through their noise."""

from collections.abc import Callable
from typing import Any

from devote.kernels import Rule, State, jitable
from devote.kernels.randomizer import blur_reward
from devote.kernels.tables import (
    ACTIVE,
    AGREED,
    BROADCASTS,
    DECIDED,
    ELIMINATION,
    HOLDING,
    N_SHARED,
    OWN,
    TIME,
    Setup,
    Tables,
    note,
)
from devote.protocol.scheme import Engine, RunStatus
from devote.schemes.survey.rules import leader, uniform

LEADER = OWN
STEP = OWN + 1
WANTED = OWN + 2
"""The arm that the learner waits for, and 1; 0 while it has not been asked."""

GIVEN = ACTIVE + 1
KNOWS = ACTIVE + 2

ONES = 0
EATEN = 1

ANSWERS = 0
TRUTHS = 1
FIRST = 2
SECOND = 3

ANSWER = ELIMINATION + 1

USED_UP = 3
"""All answers are given, and there is no decision."""


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
    """Hear of the decision."""
    if counters[N_SHARED] == 1 and not tables.own[player, KNOWS]:
        tables.own[player, KNOWS] = 1
        counters[HOLDING] += 1


@jitable
def is_asked(setup: Setup, tables: Tables, counters: Any, player: int) -> bool:
    """Whether a player answers with this play."""
    return bool(counters[N_SHARED] > 1 and tables.own[player, GIVEN] < setup.scheme[ANSWERS])


@jitable
def choose(
    subroutine: Callable[..., int],
    rule: Rule,
    setup: Setup,
    tables: Tables,
    counters: Any,
    state: State,
    player: int,
    u: float,
) -> int:
    """An arm that is asked about, drawn uniformly; after its answers, the one that leads."""
    if not is_asked(setup, tables, counters, player):
        return int(counters[LEADER])
    place = int(u * counters[N_SHARED])
    for k in range(len(tables.shared)):
        if tables.shared[k]:
            if place == 0:
                return k
            place -= 1
    return -1


@jitable
def observe(
    ask: Callable[..., int],
    learn_from: Callable[..., int],
    rule: Rule,
    setup: Setup,
    tables: Tables,
    counters: Any,
    state: State,
    player: int,
    arm: int,
    reward: float,
    noise: float,
) -> int:
    """Answer, and feed the learner."""
    if not is_asked(setup, tables, counters, player):
        return 0
    bit = blur_reward(reward, noise, setup.scheme[TRUTHS])
    tables.own[player, GIVEN] += 1
    counters[BROADCASTS] += 1
    if tables.first_vote[player] < 0:
        tables.first_vote[player] = tables.own[player, ACTIVE]
    note(setup, tables, counters, ANSWER, player, arm)
    tables.voted[tables.tally[arm], arm] = bit
    tables.tally[arm] += 1
    tables.by_arm[arm, ONES] += bit
    n_arms = len(tables.shared)
    for k in range(n_arms):
        tables.before[k] = tables.shared[k]
    feed(ask, learn_from, rule, setup, tables, counters, state)
    for k in range(n_arms):
        if tables.before[k] and not tables.shared[k]:
            note(setup, tables, counters, ELIMINATION, player, k)
    counters[LEADER] = leader(tables.tally, tables.by_arm[:, ONES], tables.shared)
    if counters[N_SHARED] == 1:
        counters[DECIDED] = counters[TIME] + 1
    return 0


@jitable
def feed(
    ask: Callable[..., int],
    learn_from: Callable[..., int],
    rule: Rule,
    setup: Setup,
    tables: Tables,
    counters: Any,
    state: State,
) -> None:
    """Hand the learner the answers it asks for, as long as they are there."""
    while counters[N_SHARED] > 1:
        if counters[WANTED] == 0:
            u = uniform(setup.scheme[FIRST], setup.scheme[SECOND], counters[STEP])
            counters[WANTED] = ask(rule, state, u) + 1
            counters[STEP] += 1
        arm = counters[WANTED] - 1
        place = tables.by_arm[arm, EATEN]
        if place == tables.tally[arm]:
            return
        tables.by_arm[arm, EATEN] += 1
        counters[WANTED] = 0
        bit = float(tables.voted[place, arm])
        n_out = learn_from(rule, state, arm, bit, tables.out)
        for j in range(n_out):
            tables.shared[tables.out[j]] = 0
        counters[N_SHARED] -= n_out


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
    """The players learn nothing."""


@jitable
def ended(setup: Setup, counters: Any, n_learners: int) -> int:
    """AGREED once everybody has heard of the decision, USED_UP without one after all answers."""
    if counters[N_SHARED] == 1:
        return AGREED if counters[HOLDING] == setup.n_players else 0
    return USED_UP if counters[BROADCASTS] >= setup.n_players * setup.scheme[ANSWERS] else 0


def outcome(
    setup: Setup, learners: State, tables: Tables, counters: Any
) -> tuple[RunStatus, tuple[int, ...]]:
    """How a run stands; the arms still asked about, the highest estimate first."""
    counts, ones = tables.tally.tolist(), tables.by_arm[:, ONES].tolist()
    shared = [k for k, kept in enumerate(tables.shared.tolist()) if kept]
    winners = sorted(shared, key=lambda k: (-ones[k] / counts[k] if counts[k] else 0.5, k))
    is_agreed = ended(setup, counters, 1) == AGREED
    return ("agreed" if is_agreed else "unfinished"), tuple(winners)


ENGINE = Engine(
    wake=wake,
    learn=learn,
    ended=ended,
    outcome=outcome,
    words=KNOWS + 1,
    events=("elimination", "answer"),
    one_learner=True,
    apart=True,
    choose=choose,
    observe=observe,
    arm_words=EATEN + 1,
    keeps_log=True,
)
