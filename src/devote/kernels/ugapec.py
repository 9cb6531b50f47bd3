"""UGapEc: play the less known of the two arms that decide, until their gap is closed.

Paper: section 3.1, explore-then-commit, L = 1 and f(l) = 1.
Differs from print: it stops once the gap is lower than epsilon, not higher (erratum 16).
"""

import math

from devote.kernels.jitable import jitable
from devote.kernels.rivals import LEADER, RIVAL, TOTAL, explore_then_commit, note, radius
from devote.kernels.state import Rule, State, mean

C = 0.5


@jitable
def exploration(rule: Rule, t: int) -> float:
    """The numerator of the squared radius after t pulls, ``c ln(4 K t^3 / eta)``."""
    pulls = float(t)
    return C * math.log(4.0 * rule.n_arms * pulls * pulls * pulls / rule.eta)


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
def less_known(state: State) -> int:
    """Whichever of J and u has the wider radius, J on a tie."""
    leader = state.ints[LEADER]
    rival = state.ints[RIVAL]
    if state.pulls[leader] <= state.pulls[rival]:
        return leader
    return rival


ALGORITHM = explore_then_commit(
    compare,
    less_known,
    name="ugapec",
    summary="plays the less known of the two deciding arms until their gap is below epsilon",
    source="Gabillon, Ghavamzadeh and Lazaric 2012; paper, section 3.1, L = 1",
)
