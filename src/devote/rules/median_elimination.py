"""Median Elimination: each epoch halves the arms after a fixed number of fresh pulls.

Paper: section 3.1, a fixed design, L = log2 K and f(l) = 2^-l.
Differs from print: L is rounded up to whole epochs, each of which drops exactly half of the arms.
"""

import math
from collections.abc import MutableSequence

from devote.rules.algorithm import Algorithm
from devote.rules.state import (
    COUNT,
    NEXT,
    Rule,
    State,
    add,
    drop,
    in_turn,
    least_pulled,
    mean,
)

EPOCH, ENOUGH, N_INTS = 2, 3, 4
"""Words of ``State.ints``: the epoch; its budget, 0 before it was asked for."""

TIE_BREAKER = 0
MOST = 2**31 - 1


def budget(rule: Rule, epoch: int) -> int:
    """Fresh pulls of each survivor in an epoch, ``ceil(4/eps_l^2 * ln(3/eta_l))``.

    ``eps_1 = eps/4``, ``eta_1 = eta/2``; then ``eps *= 3/4``, ``eta /= 2``.
    """
    epsilon = rule.epsilon / 4.0
    eta = rule.eta / 2.0
    for _ in range(epoch):
        epsilon *= 0.75
        eta /= 2.0
    return math.ceil(4.0 / (epsilon * epsilon) * math.log(3.0 / eta))


def choose(rule: Rule, state: State, u: float) -> int:
    """Round robin; the uniform is kept to break ties at the end of the epoch."""
    state.floats[TIE_BREAKER] = u
    return in_turn(state)


def drop_worst(state: State) -> int:
    """Drop the remaining arm with the lowest mean, a random one of those that tie.

    The uniform number picks one of the ties; what is left of it is uniform again and serves
    the next call.
    """
    lowest = math.inf
    n_tied = 0
    for k in range(len(state.alive)):
        if state.alive[k]:
            value = mean(state, k)
            if value < lowest:
                lowest = value
                n_tied = 1
            elif value == lowest:
                n_tied += 1
    scaled = state.floats[TIE_BREAKER] * n_tied
    pick = int(scaled)
    state.floats[TIE_BREAKER] = scaled - pick
    for k in range(len(state.alive)):
        if state.alive[k] and mean(state, k) == lowest:
            if pick == 0:
                drop(state, k)
                return k
            pick -= 1
    return -1


def observe(rule: Rule, state: State, arm: int, reward: float, out: MutableSequence[int]) -> int:
    """At the end of an epoch drop the worst half, rounded down, and start the next afresh.

    Differs from print: exactly half go; dropping what lies below the median never ends when
    rewards tie.
    """
    add(state, arm, reward)
    state.ints[NEXT] = arm + 1
    if state.pulls[arm] < state.ints[ENOUGH]:
        return 0
    enough = budget(rule, state.ints[EPOCH])
    state.ints[ENOUGH] = min(enough, MOST)
    if state.pulls[least_pulled(state)] < enough:
        return 0
    n_out = state.ints[COUNT] // 2
    for i in range(n_out):
        out[i] = drop_worst(state)
    for k in range(len(state.alive)):
        state.pulls[k] = 0
        state.sums[k] = 0.0
    state.ints[EPOCH] += 1
    state.ints[NEXT] = 0
    state.ints[ENOUGH] = 0
    return n_out


ALGORITHM = Algorithm(
    name="median_elimination",
    summary="halves the arms each epoch after a fixed number of fresh pulls",
    source="Even-Dar, Mannor and Mansour 2002; paper, section 3.1, L = log2 K, f(l) = 2^-l",
    n_ints=lambda n_arms: N_INTS,
    n_floats=1,
    choose=choose,
    observe=observe,
)
