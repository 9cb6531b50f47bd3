"""The survey in the compiled loop: one learner, and players who answer it through their noise."""

from collections.abc import Callable

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
    Arena,
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
def wake(arena: Arena, state: State, player: int, noise: float) -> None:
    """Hear of the decision."""
    if arena.counters[N_SHARED] == 1 and not arena.own[player, KNOWS]:
        arena.own[player, KNOWS] = 1
        arena.counters[HOLDING] += 1


@jitable
def is_asked(arena: Arena, player: int) -> bool:
    """Whether a player answers with this play."""
    return bool(arena.counters[N_SHARED] > 1 and arena.own[player, GIVEN] < arena.scheme[ANSWERS])


@jitable
def choose(
    subroutine: Callable[..., int],
    rule: Rule,
    arena: Arena,
    state: State,
    player: int,
    u: float,
) -> int:
    """An arm that is asked about, drawn uniformly; after its answers, the one that leads."""
    if not is_asked(arena, player):
        return int(arena.counters[LEADER])
    place = int(u * arena.counters[N_SHARED])
    for k in range(len(arena.shared)):
        if arena.shared[k]:
            if place == 0:
                return k
            place -= 1
    return -1


@jitable
def observe(
    ask: Callable[..., int],
    learn_from: Callable[..., int],
    rule: Rule,
    arena: Arena,
    state: State,
    player: int,
    arm: int,
    reward: float,
    noise: float,
) -> int:
    """Answer, and feed the learner."""
    if not is_asked(arena, player):
        return 0
    bit = blur_reward(reward, noise, arena.scheme[TRUTHS])
    arena.own[player, GIVEN] += 1
    arena.counters[BROADCASTS] += 1
    if arena.first_vote[player] < 0:
        arena.first_vote[player] = arena.own[player, ACTIVE]
    note(arena, ANSWER, player, arm)
    arena.voted[arena.tally[arm], arm] = bit
    arena.tally[arm] += 1
    arena.by_arm[arm, ONES] += bit
    n_arms = len(arena.shared)
    for k in range(n_arms):
        arena.before[k] = arena.shared[k]
    feed(ask, learn_from, rule, arena, state)
    for k in range(n_arms):
        if arena.before[k] and not arena.shared[k]:
            note(arena, ELIMINATION, player, k)
    arena.counters[LEADER] = leader(arena.tally, arena.by_arm[:, ONES], arena.shared)
    if arena.counters[N_SHARED] == 1:
        arena.counters[DECIDED] = arena.counters[TIME] + 1
    return 0


@jitable
def feed(
    ask: Callable[..., int],
    learn_from: Callable[..., int],
    rule: Rule,
    arena: Arena,
    state: State,
) -> None:
    """Hand the learner the answers it asks for, as long as they are there."""
    while arena.counters[N_SHARED] > 1:
        if arena.counters[WANTED] == 0:
            u = uniform(arena.scheme[FIRST], arena.scheme[SECOND], arena.counters[STEP])
            arena.counters[WANTED] = ask(rule, state, u) + 1
            arena.counters[STEP] += 1
        arm = arena.counters[WANTED] - 1
        place = arena.by_arm[arm, EATEN]
        if place == arena.tally[arm]:
            return
        arena.by_arm[arm, EATEN] += 1
        arena.counters[WANTED] = 0
        bit = float(arena.voted[place, arm])
        n_out = learn_from(rule, state, arm, bit, arena.out)
        for j in range(n_out):
            arena.shared[arena.out[j]] = 0
        arena.counters[N_SHARED] -= n_out


@jitable
def learn(arena: Arena, state: State, player: int, n_out: int) -> None:
    """The players learn nothing."""


@jitable
def ended(arena: Arena) -> int:
    """AGREED once everybody has heard of the decision, USED_UP without one after all answers."""
    if arena.counters[N_SHARED] == 1:
        return AGREED if arena.counters[HOLDING] == arena.n_players else 0
    return USED_UP if arena.counters[BROADCASTS] >= arena.n_players * arena.scheme[ANSWERS] else 0


def winners(arena: Arena, status: RunStatus) -> tuple[int, ...]:
    """The arms still asked about, the highest estimate first."""
    counts, ones = arena.tally.tolist(), arena.by_arm[:, ONES].tolist()
    shared = [k for k, kept in enumerate(arena.shared.tolist()) if kept]
    return tuple(sorted(shared, key=lambda k: (-ones[k] / counts[k] if counts[k] else 0.5, k)))


ENGINE = Engine(
    wake=wake,
    learn=learn,
    ended=ended,
    winners=winners,
    words=KNOWS + 1,
    events=("elimination", "answer"),
    one_learner=True,
    apart=True,
    choose=choose,
    observe=observe,
    arm_words=EATEN + 1,
    keeps_log=True,
)
