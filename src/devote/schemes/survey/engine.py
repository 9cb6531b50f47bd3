"""The survey in the compiled loop: one learner, and players who answer it through their noise."""

from typing import Any

from devote.kernels import State, jitable, tables
from devote.kernels.randomizer import blur_reward
from devote.kernels.tables import Arena, note_eliminations, say
from devote.protocol.engine import Engine, Subroutine
from devote.schemes.survey.rules import leader, uniform

LEADER = tables.OWN
STEP = tables.OWN + 1
WANTED = tables.OWN + 2
"""The arm that the learner waits for, and 1; 0 while it has not been asked."""
N_ASKED = tables.OWN + 3
"""How many arms the learner asks about; 0 until that has been looked up."""

GIVEN, KNOWS = tables.ACTIVE + 1, tables.ACTIVE + 2
ONES, USED, ASKED = range(3)
ANSWERS, TRUTHS, FIRST, SECOND = range(4)
ANSWER = tables.ELIMINATION + 1

USED_UP = 3
"""All answers are given, and there is no decision."""


@jitable
def wake(arena: Arena, state: State, player: int, noise: float) -> None:
    """Hear of the decision."""
    if arena.counters[tables.N_SHARED] == 1 and not arena.own[player, KNOWS]:
        arena.own[player, KNOWS] = 1
        arena.counters[tables.HOLDING] += 1


@jitable
def is_asked(arena: Arena, player: int) -> bool:
    """Whether a player answers with this play."""
    is_open = arena.counters[tables.N_SHARED] > 1
    return bool(is_open and arena.own[player, GIVEN] < arena.scheme[ANSWERS])


@jitable
def choose(subroutine: Subroutine, arena: Arena, state: State, player: int, u: float) -> int:
    """An arm that is asked about, drawn uniformly; after its answers, the one that leads."""
    if not is_asked(arena, player):
        return int(arena.counters[LEADER])
    if arena.counters[N_ASKED] == 0:
        renew_asked(subroutine, arena, state)
    place = int(u * arena.counters[N_ASKED])
    for k in range(len(arena.shared)):
        if arena.by_arm[k, ASKED]:
            if place == 0:
                return k
            place -= 1
    return -1


@jitable
def observe(
    sub: Subroutine, arena: Arena, state: State, player: int, arm: int, reward: float, noise: float
) -> int:
    """Answer, and feed the learner."""
    if not is_asked(arena, player):
        return 0
    bit = blur_reward(reward, noise, arena.scheme[TRUTHS])
    arena.own[player, GIVEN] += 1
    say(arena, ANSWER, player, arm)
    arena.voted[arena.tally[arm], arm] = bit
    arena.tally[arm] += 1
    arena.by_arm[arm, ONES] += bit
    n_shared = arena.counters[tables.N_SHARED]
    if arena.by_arm[arm, ASKED]:
        feed(sub, arena, state)
    else:
        arena.by_arm[arm, USED] += 1
    if arena.counters[tables.N_SHARED] < n_shared:
        note_eliminations(arena, player)
    arena.counters[LEADER] = leader(arena.tally, arena.by_arm[:, ONES], arena.shared)
    if arena.counters[tables.N_SHARED] == 1:
        arena.counters[tables.DECIDED] = arena.counters[tables.TIME] + 1
    return 0


@jitable
def feed(subroutine: Subroutine, arena: Arena, state: State) -> None:
    """Hand the learner the answers it asks for, as long as they are there."""
    rule, ask, learn_from = subroutine[:3]
    while arena.counters[tables.N_SHARED] > 1:
        if arena.counters[WANTED] == 0:
            u = uniform(arena.scheme[FIRST], arena.scheme[SECOND], arena.counters[STEP])
            arena.counters[WANTED] = ask(rule, state, u) + 1
            arena.counters[STEP] += 1
        arm = arena.counters[WANTED] - 1
        place = arena.by_arm[arm, USED]
        if place == arena.tally[arm]:
            return
        arena.by_arm[arm, USED] += 1
        arena.counters[WANTED] = 0
        bit = float(arena.voted[place, arm])
        n_out = learn_from(rule, state, arm, bit, arena.out)
        for j in range(n_out):
            arena.shared[arena.out[j]] = 0
        arena.counters[tables.N_SHARED] -= n_out
        renew_asked(subroutine, arena, state)


@jitable
def renew_asked(subroutine: Subroutine, arena: Arena, state: State) -> None:
    """Look up which arms the learner asks about, and empty the queues of those that have gone."""
    rule, asks = subroutine[0], subroutine[3]
    n_asked = 0
    for k in range(len(arena.tally)):
        if asks(rule, state, k):
            arena.by_arm[k, ASKED] = 1
            n_asked += 1
        elif arena.by_arm[k, ASKED]:
            arena.by_arm[k, ASKED] = 0
            arena.by_arm[k, USED] = arena.tally[k]
    arena.counters[N_ASKED] = n_asked


@jitable
def ended(arena: Arena) -> int:
    """AGREED once everybody has heard of the decision, USED_UP without one after all answers."""
    all_given = arena.counters[tables.BROADCASTS] >= arena.n_players * arena.scheme[ANSWERS]
    return tables.ending(arena, all_given * USED_UP)


def ranks(arena: Arena, code: Any) -> tuple[Any, Any]:
    """The arms still asked about, the highest estimate first, those without answers last."""
    unheard = arena.tally == 0
    return unheard - arena.by_arm[:, ONES] / (arena.tally + unheard), arena.shared


ENGINE = Engine(
    wake=wake,
    ended=ended,
    ranks=ranks,
    words=KNOWS + 1,
    events=("elimination", "answer"),
    one_learner=True,
    apart=True,
    choose=choose,
    observe=observe,
    arm_words=ASKED + 1,
    keeps_log=True,
)
