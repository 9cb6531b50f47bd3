"""Naive Elimination: the same number of pulls for every arm, then keep the best.

Paper: section 3.1, a fixed design, L = 1 and f(l) = 1.
"""

import math

from devote.rules.algorithm import round_robin
from devote.rules.state import NEXT, Out, Rule, State, add, best_mean, keep_only, least_pulled


def budget(rule: Rule) -> int:
    """Pulls of each arm, ``ceil(4/eps^2 * ln(2K/eta))``."""
    return math.ceil(4.0 / (rule.epsilon * rule.epsilon) * math.log(2.0 * rule.n_arms / rule.eta))


def observe(rule: Rule, state: State, arm: int, reward: float, out: Out) -> int:
    """Once every remaining arm has its budget, keep the empirical best."""
    add(state, arm, reward)
    state.ints[NEXT] = arm + 1
    if state.pulls[least_pulled(state)] < budget(rule):
        return 0
    return keep_only(state, best_mean(state), out)


ALGORITHM = round_robin(
    name="naive",
    summary="a fixed number of pulls each, then the empirical best",
    source="Even-Dar, Mannor and Mansour 2002; paper, section 3.1, L = 1",
    observe=observe,
)
