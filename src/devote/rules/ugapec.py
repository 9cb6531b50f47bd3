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
    """Find J, the least ``B_k = max U_i - L_k`` over i != k, and u, its highest rival; B_J.

    One look at each arm: J is the top arm, whose bound U is the highest, or else the arm with the
    highest L of all others, for which the threat is the top arm.
    """
    beta = exploration(rule, state.ints[TOTAL])
    top, runner_up, other = -1, -1, -1
    top_bound, runner_up_bound = -math.inf, -math.inf
    top_floor, other_floor = -math.inf, -math.inf
    for k in range(len(state.alive)):
        if state.alive[k]:
            value = mean(state, k)
            width = radius(beta, state.pulls[k])
            bound, floor = value + width, value - width
            arm, rest = k, floor  # an arm other than the top one
            if bound > top_bound:
                runner_up, runner_up_bound = top, top_bound
                arm, rest = top, top_floor
                top, top_bound, top_floor = k, bound, floor
            elif bound > runner_up_bound:
                runner_up, runner_up_bound = k, bound
            if rest > other_floor or (rest == other_floor and arm < other):
                other, other_floor = arm, rest
    least = runner_up_bound - top_floor
    gap = top_bound - other_floor
    if gap < least or (gap == least and other < top):
        note(state, other, top)
        return gap
    note(state, top, runner_up)
    return least


def less_known(state: State) -> int:
    """Whichever of J and u has the wider radius, J on a tie."""
    leader = state.ints[LEADER]
    rival = state.ints[RIVAL]
    if state.pulls[leader] <= state.pulls[rival]:
        return leader
    return rival


def stops(rule: Rule, state: State) -> bool:
    """Whether the gap is below epsilon."""
    return compare(rule, state) < rule.epsilon


ALGORITHM = explore_then_commit(
    compare,
    stops,
    play=less_known,
    name="ugapec",
    summary="plays the less known of the two deciding arms until their gap is below epsilon",
    source="Gabillon, Ghavamzadeh and Lazaric 2012; paper, section 3.1, L = 1",
)
