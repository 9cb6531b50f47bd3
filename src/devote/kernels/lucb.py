"""LUCB: play the empirical best and its strongest rival until their bounds part.

Paper: section 3.1, explore-then-commit, L = 1 and f(l) = 1.
Differs from print: it stops once the gap is lower than epsilon, not higher (erratum 16).
A call plays one arm, so that the pair of a round is two calls, and whether to stop is tested after
each.
"""

import math
from collections.abc import MutableSequence

from devote.kernels.algorithm import Algorithm
from devote.kernels.jitable import jitable
from devote.kernels.rivals import (
    LEADER,
    N_INTS,
    TOTAL,
    count,
    due,
    note,
    open_pair,
    outdated,
)
from devote.kernels.state import Rule, State, best_mean, keep_only, mean

K1 = 1.25


@jitable
def exploration(rule: Rule, t: int) -> float:
    """The numerator of the squared radius after t pulls, ``ln(1.25 K t^4 / eta) / 2``."""
    pulls = float(t)
    return math.log(K1 * rule.n_arms * pulls * pulls * pulls * pulls / rule.eta) / 2.0


@jitable
def radius(beta: float, pulls: int) -> float:
    """``sqrt(ln(1.25 K t^4 / eta) / (2 N_k))``."""
    return math.sqrt(beta / pulls)


@jitable
def compare(rule: Rule, state: State) -> float:
    """Find the empirical best h and the highest upper bound l of the rest; ``U_l - L_h``."""
    beta = exploration(rule, state.ints[TOTAL])
    leader = best_mean(state)
    rival = -1
    highest = -math.inf
    for k in range(len(state.alive)):
        if state.alive[k] and k != leader:
            bound = mean(state, k) + radius(beta, state.pulls[k])
            if bound > highest:
                highest = bound
                rival = k
    note(state, leader, rival)
    return highest - (mean(state, leader) - radius(beta, state.pulls[leader]))


@jitable
def choose(rule: Rule, state: State, u: float) -> int:
    """Each arm once; then leader and rival in turn, one per call."""
    arm = due(state)
    if arm >= 0:
        return arm
    if outdated(state):
        compare(rule, state)
    return open_pair(state)


@jitable
def observe(rule: Rule, state: State, arm: int, reward: float, out: MutableSequence[int]) -> int:
    """Stop when ``U_l - L_h < eps`` and keep h; tested after every pull."""
    if count(state, arm, reward) and compare(rule, state) < rule.epsilon:
        return keep_only(state, state.ints[LEADER], out)
    return 0


ALGORITHM = Algorithm(
    name="lucb",
    summary="plays the leader and its strongest rival until their Hoeffding bounds part",
    source="Kalyanakrishnan, Tewari, Auer and Stone 2012; paper, section 3.1, L = 1",
    choose=choose,
    observe=observe,
    n_ints=lambda n_arms: N_INTS,
)
