"""KL-Racing: one pull of each survivor per round, at most one arm goes per round.

Paper: section 3.1, L = K and f(l) = 1/K.
Differs from print: the paper gives no level of the bounds; this one is its authors'.
"""

import math

from devote.rules.algorithm import round_robin
from devote.rules.bernoulli_kl import lower, upper
from devote.rules.state import Out, Rule, State, best_mean, eliminate, ends_round, mean

K1 = 11.1
ALPHA = 1.1


def exploration(rule: Rule, t: int) -> float:
    """The level of the bounds in round t, ``ln(11.1 K t^1.1 / eta)``."""
    return math.log(K1 * rule.n_arms / rule.eta) + ALPHA * math.log(float(t))


def worst_mean(state: State, best: int) -> int:
    """The remaining arm with the lowest mean, other than the best."""
    worst = -1
    for k in range(len(state.alive)):
        if state.alive[k] and k != best and (worst < 0 or mean(state, k) < mean(state, worst)):
            worst = k
    return worst


def observe(rule: Rule, state: State, arm: int, reward: float, out: Out) -> int:
    """At the end of a round drop the worst arm if ``L_best > U_worst - eps``."""
    if not ends_round(state, arm, reward):
        return 0
    best = best_mean(state)
    worst = worst_mean(state, best)
    t = state.pulls[arm]
    level = exploration(rule, t) / t
    if lower(mean(state, best), level) > upper(mean(state, worst), level) - rule.epsilon:
        return eliminate(state, worst, out, 0)
    return 0


ALGORITHM = round_robin(
    name="kl_racing",
    summary="a pull of each survivor per round; drops the worst when its KL bound falls short",
    source="Kaufmann and Kalyanakrishnan 2013; paper, section 3.1, L = K, f(l) = 1/K",
    observe=observe,
)
