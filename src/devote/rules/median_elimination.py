"""Median Elimination: each epoch halves the arms after a fixed number of fresh pulls.

Paper: section 3.1, a fixed design, L = log2 K and f(l) = 2^-l.
Differs from print: L is rounded up to whole epochs, each of which drops exactly half of the arms.
"""

import math

from devote.rules.algorithm import Algorithm
from devote.rules.state import COUNT, Out, Rule, State, add, eliminate, least_pulled, mean
from devote.rules.uniforms import below

EPOCH = 1
TIE_BREAKER = 0
"""Word of ``State.floats``: the uniform number of the last pull."""


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
    return least_pulled(state)


def worst(state: State) -> int:
    """The remaining arm with the lowest mean, a random one of those that tie."""
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
    place, state.floats[TIE_BREAKER] = below(n_tied, state.floats[TIE_BREAKER])
    arm = -1
    for k in range(len(state.alive)):
        if state.alive[k] and mean(state, k) == lowest:
            if place == 0:
                arm = k
            place -= 1
    return arm


def observe(rule: Rule, state: State, arm: int, reward: float, out: Out) -> int:
    """At the end of an epoch drop the worst half, rounded down, and start the next afresh.

    Differs from print: exactly half go; dropping what lies below the median never ends when
    rewards tie.
    """
    add(state, arm, reward)
    if state.pulls[least_pulled(state)] < budget(rule, state.ints[EPOCH]):
        return 0
    n_out = 0
    for _ in range(state.ints[COUNT] // 2):
        n_out = eliminate(state, worst(state), out, n_out)
    for k in range(len(state.alive)):
        state.pulls[k] = 0
        state.sums[k] = 0.0
    state.ints[EPOCH] += 1
    return n_out


ALGORITHM = Algorithm(
    name="median_elimination",
    summary="halves the arms each epoch after a fixed number of fresh pulls",
    source="Even-Dar, Mannor and Mansour 2002; paper, section 3.1, L = log2 K, f(l) = 2^-l",
    n_ints=lambda n_arms: EPOCH + 1,
    n_floats=1,
    choose=choose,
    observe=observe,
)
