"""LUCB: play the empirical best and its strongest rival until their bounds part.

Paper: section 3.1, explore-then-commit, L = 1 and f(l) = 1.
Differs from print: it stops once the gap is lower than epsilon, not higher (erratum 16).
A call plays one arm, so that the pair of a round is two calls, and whether to stop is tested after
each.
"""

import math

from devote.rules.rivals import TOTAL, explore_then_commit, note, radius
from devote.rules.state import Rule, State, best_mean, mean

K1 = 1.25


def exploration(rule: Rule, t: int) -> float:
    """The numerator of the squared radius after t pulls, ``ln(1.25 K t^4 / eta) / 2``."""
    pulls = float(t)
    return math.log(K1 * rule.n_arms * pulls * pulls * pulls * pulls / rule.eta) / 2.0


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


ALGORITHM = explore_then_commit(
    compare,
    name="lucb",
    summary="plays the leader and its strongest rival until their Hoeffding bounds part",
    source="Kalyanakrishnan, Tewari, Auer and Stone 2012; paper, section 3.1, L = 1",
)
