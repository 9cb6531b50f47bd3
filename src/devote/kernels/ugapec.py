"""UGapEc: play the less known of the two arms that decide, until their gap is closed.

Paper: section 3.1, explore-then-commit, L = 1 and f(l) = 1.
Differs from print: it stops once the gap is lower than epsilon, not higher (erratum 16).
"""

import math
from collections.abc import MutableSequence

from devote.kernels.algorithm import Algorithm
from devote.kernels.jitable import jitable
from devote.kernels.rivals import LEADER, N_INTS, RIVAL, TOTAL, count, forced, note, outdated
from devote.kernels.state import Rule, State, keep_only, mean

C = 0.5


@jitable
def exploration(rule: Rule, t: int) -> float:
    """The numerator of the squared radius after t pulls, ``c ln(4 K t^3 / eta)``."""
    pulls = float(t)
    return C * math.log(4.0 * rule.n_arms * pulls * pulls * pulls / rule.eta)


@jitable
def radius(beta: float, pulls: int) -> float:
    """``sqrt(c ln(4 K t^3 / eta) / N_k)``."""
    return math.sqrt(beta / pulls)


@jitable
def compare(rule: Rule, state: State) -> float:
    """Find J, the least ``B_k = max U_i - L_k`` over i != k, and u, its highest rival; B_J."""
    beta = exploration(rule, state.ints[TOTAL])
    top = -1
    runner_up = -1
    top_bound = -math.inf
    runner_up_bound = -math.inf
    for k in range(len(state.alive)):
        if state.alive[k]:
            bound = mean(state, k) + radius(beta, state.pulls[k])
            if bound > top_bound:
                runner_up = top
                runner_up_bound = top_bound
                top = k
                top_bound = bound
            elif bound > runner_up_bound:
                runner_up = k
                runner_up_bound = bound
    leader = -1
    rival = -1
    least = math.inf
    for k in range(len(state.alive)):
        if state.alive[k]:
            threat = top_bound
            if k == top:
                threat = runner_up_bound
            gap = threat - (mean(state, k) - radius(beta, state.pulls[k]))
            if gap < least:
                least = gap
                leader = k
                rival = runner_up if k == top else top
    note(state, leader, rival)
    return least


@jitable
def choose(rule: Rule, state: State, u: float) -> int:
    """Each arm once; then whichever of J and u has the wider radius, J on a tie."""
    arm = forced(state)
    if arm >= 0:
        return arm
    if outdated(state):
        compare(rule, state)
    leader = state.ints[LEADER]
    rival = state.ints[RIVAL]
    if state.pulls[leader] <= state.pulls[rival]:
        return leader
    return rival


@jitable
def observe(rule: Rule, state: State, arm: int, reward: float, out: MutableSequence[int]) -> int:
    """Stop when ``B_J < eps`` and keep J; tested after every pull."""
    if count(state, arm, reward) and compare(rule, state) < rule.epsilon:
        return keep_only(state, state.ints[LEADER], out)
    return 0


ALGORITHM = Algorithm(
    name="ugapec",
    summary="plays the less known of the two deciding arms until their gap is below epsilon",
    source="Gabillon, Ghavamzadeh and Lazaric 2012; paper, section 3.1, L = 1",
    choose=choose,
    observe=observe,
    n_ints=lambda n_arms: N_INTS,
)
