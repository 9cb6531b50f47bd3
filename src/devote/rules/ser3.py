"""SER3: Successive Elimination with the survivors freshly shuffled each round.

Drawing one of the survivors not yet played this round, uniformly, is the same as shuffling
them, and needs one uniform number per pull. They lie in a row; the last one takes the place of the
one drawn.

Paper: section 4, Theorem 3; a successive elimination (section 3.1), L = K and f(l) = 1/K.
"""

import math

from devote.rules.algorithm import Algorithm
from devote.rules.state import COUNT, Out, Rule, State, best_sum, drop_behind
from devote.rules.uniforms import below

TAU, LEFT, SEEN, ROW = range(1, 5)
"""Words of ``State.ints``: the round; how many arms are left to play in it, and how many remained
when that was counted; the first of those arms."""

RADIUS = 0
ACTIVE = 1.0


def radius(rule: Rule, tau: int, n_alive: int) -> float:
    """The radius after tau rounds.

    ``union``: ``sqrt(ln(4 K tau^2 / eta) / (2 tau))``;
    ``active``: ``sqrt(ln(2 |S| tau / eta) / tau)``.

    Differs from print: the paper gives no radius; both are valid Hoeffding bounds.
    """
    rounds = float(tau)
    if rule.options[RADIUS] == ACTIVE:
        return math.sqrt(math.log(2.0 * n_alive * rounds / rule.eta) / rounds)
    return math.sqrt(math.log(4.0 * rule.n_arms * rounds * rounds / rule.eta) / (2.0 * rounds))


def renew_row(state: State) -> None:
    """Take arms that were dropped from outside out of the row; if none is left, begin a round."""
    left = 0
    for i in range(state.ints[LEFT]):
        arm = state.ints[ROW + i]
        if state.alive[arm]:
            state.ints[ROW + left] = arm
            left += 1
    if left == 0:
        state.ints[TAU] += 1
        for k in range(len(state.alive)):
            if state.alive[k]:
                state.ints[ROW + left] = k
                left += 1
    state.ints[LEFT] = left
    state.ints[SEEN] = state.ints[COUNT]


def draw(state: State, u: float) -> tuple[int, float]:
    """A uniformly drawn survivor not yet played this round, and what is left of ``u``."""
    if state.ints[SEEN] != state.ints[COUNT] or state.ints[LEFT] == 0:
        renew_row(state)
    i, rest = below(state.ints[LEFT], u)
    last = state.ints[LEFT] - 1
    arm = state.ints[ROW + i]
    state.ints[ROW + i] = state.ints[ROW + last]
    state.ints[LEFT] = last
    return arm, rest


def choose(rule: Rule, state: State, u: float) -> int:
    """A uniformly drawn survivor not yet played this round."""
    return draw(state, u)[0]


def spread(state: State) -> float:
    """How far apart the highest and the lowest sum of the survivors are."""
    highest, lowest = -math.inf, math.inf
    for k in range(len(state.alive)):
        if state.alive[k]:
            highest = max(highest, state.sums[k])
            lowest = min(lowest, state.sums[k])
    return highest - lowest


def observe(rule: Rule, state: State, arm: int, reward: float, out: Out) -> int:
    """At the end of a round, from ``tau >= ln(K/eta)``, drop ``gap + eps >= 2 radius``.

    Survivors have all been pulled tau times, so sums are compared with sums.

    Paper: Assumption 4 gives ``tau >= log(K/eta)``.
    """
    state.sums[arm] += reward
    tau = int(state.ints[TAU])
    if state.ints[LEFT] > 0 or state.ints[COUNT] == 1 or tau < math.log(rule.n_arms / rule.eta):
        return 0
    gap = tau * (2.0 * radius(rule, tau, state.ints[COUNT]) - rule.epsilon)
    if spread(state) < gap:  # as in most rounds, and quicker to see
        return 0
    return drop_behind(state, best_sum(state), gap, out)


ALGORITHM = Algorithm(
    name="ser3",
    summary="Successive Elimination with the survivors shuffled each round, for drifting rewards",
    source="Allesiardo, Feraud and Maillard 2017; paper, section 4, Theorem 3",
    options={"radius": ("union", "active")},
    n_ints=lambda n_arms: ROW + n_arms,
    choose=choose,
    observe=observe,
)
