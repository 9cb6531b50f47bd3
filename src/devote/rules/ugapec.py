"""UGapEc: play the less known of the two arms that decide, until their gap is closed.

Paper: section 3.1, explore-then-commit, L = 1 and f(l) = 1.
Differs from print: it stops once the gap is lower than epsilon, not higher (erratum 16).
"""

import math

from devote.rules.rivals import LEADER, RIVAL, TOTAL, explore_then_commit, note, radius
from devote.rules.state import Rule, State, mean

C = 0.5


def exploration(rule: Rule, t: int) -> float:
    """The numerator of the squared radius after t pulls, ``c ln(4 K t^3 / eta)``."""
    pulls = float(t)
    return C * math.log(4.0 * rule.n_arms * pulls * pulls * pulls / rule.eta)


def compare(rule: Rule, state: State) -> float:
    """Find J, the least ``B_k = max U_i - L_k`` over i != k, and u, its highest rival; B_J."""
    beta = exploration(rule, state.ints[TOTAL])
    first, second = -1, -1  # the arms with the highest U
    first_bound, second_bound = -math.inf, -math.inf
    for k in range(len(state.alive)):
        if state.alive[k]:
            bound = mean(state, k) + radius(beta, state.pulls[k])
            if bound > first_bound:
                second, second_bound = first, first_bound
                first, first_bound = k, bound
            elif bound > second_bound:
                second, second_bound = k, bound
    leader = -1
    least = math.inf
    for k in range(len(state.alive)):
        if state.alive[k]:
            threat = second_bound if k == first else first_bound
            gap = threat - (mean(state, k) - radius(beta, state.pulls[k]))
            if gap < least:
                leader, least = k, gap
    note(state, leader, second if leader == first else first)
    return least


def less_known(state: State) -> int:
    """Whichever of J and u has the wider radius, J on a tie."""
    leader, rival = state.ints[LEADER], state.ints[RIVAL]
    return leader if state.pulls[leader] <= state.pulls[rival] else rival


ALGORITHM = explore_then_commit(
    compare,
    play=less_known,
    name="ugapec",
    summary="plays the less known of the two deciding arms until their gap is below epsilon",
    source="Gabillon, Ghavamzadeh and Lazaric 2012; paper, section 3.1, L = 1",
)
