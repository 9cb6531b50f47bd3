"""KL-LUCB: LUCB with bounds from the Bernoulli Kullback-Leibler divergence.

Paper: section 3.1, explore-then-commit, L = 1 and f(l) = 1.
Differs from print: it stops once the gap is lower than epsilon, not higher (erratum 16).
A call plays one arm, so that the pair of a round is two calls, and whether to stop is tested after
each.
"""

import math

from devote.rules.bernoulli_kl import divergence, lower, upper
from devote.rules.rivals import TOTAL, explore_then_commit, note
from devote.rules.state import Rule, State, best_mean, mean

K1 = 405.5
ALPHA = 1.1
TIE = 1e-9
"""Bounds this close are computed, and compared exactly."""


def exploration(rule: Rule, t: int) -> float:
    """The level of the bounds after t pulls, ``ln a + ln ln a``, ``a = 405.5 K t^1.1 / eta``."""
    log_a = math.log(K1 * rule.n_arms / rule.eta) + ALPHA * math.log(float(t))
    return log_a + math.log(log_a)


def compare(rule: Rule, state: State) -> float:
    """Find the empirical best h and the highest upper bound l of the rest; ``U_l - L_h``.

    An arm's upper bound is above the highest so far only if its divergence to that one is below its
    own level, which is quicker to see than where the bound is.
    """
    beta = exploration(rule, state.ints[TOTAL])
    leader = best_mean(state)
    rival = -1
    highest = 0.0
    for k in range(len(state.alive)):
        if state.alive[k] and k != leader:
            p, level = mean(state, k), beta / state.pulls[k]
            if rival < 0 or p > highest or divergence(p, highest) <= level + TIE:
                bound = upper(p, level)
                if rival < 0 or bound > highest:
                    highest = bound
                    rival = k
    note(state, leader, rival)
    return highest - lower(mean(state, leader), beta / state.pulls[leader])


ALGORITHM = explore_then_commit(
    compare,
    name="kl_lucb",
    summary="LUCB with Kullback-Leibler bounds",
    source="Kaufmann and Kalyanakrishnan 2013; paper, section 3.1, L = 1",
)
