"""Successive Elimination: one pull of each survivor per round, drop what is clearly worse.

Paper: section 3.1, L = K and f(l) = 1/K.
Differs from print: the paper gives no radius, this one is its authors'; and with epsilon above 0
it stops once the radius is at most epsilon/2.
"""

import math

from devote.rules.algorithm import round_robin
from devote.rules.state import Out, Rule, State, best_mean, eliminate, ends_round, keep_only, mean

C = 4.01
"""The constant of the radius; its authors ask for more than 4."""


def radius(rule: Rule, t: int) -> float:
    """The radius after t rounds, ``sqrt(ln(c K t^2 / eta) / t)``."""
    rounds = float(t)
    return math.sqrt(math.log(C * rule.n_arms * rounds * rounds / rule.eta) / rounds)


def observe(rule: Rule, state: State, arm: int, reward: float, out: Out) -> int:
    """At the end of a round drop arms two radii below the best; stop once radius <= eps/2."""
    if not ends_round(state, arm, reward):
        return 0
    t = state.pulls[arm]
    a = radius(rule, t)
    best = best_mean(state)
    if a <= rule.epsilon / 2.0:
        return keep_only(state, best, out)
    threshold = mean(state, best) - 2.0 * a
    n_out = 0
    for k in range(len(state.alive)):
        if state.alive[k] and k != best and mean(state, k) <= threshold:
            n_out = eliminate(state, k, out, n_out)
    return n_out


ALGORITHM = round_robin(
    name="successive_elimination",
    summary="a pull of each survivor per round; drops arms two radii below the best",
    source="Even-Dar, Mannor and Mansour 2002; paper, section 3.1, L = K, f(l) = 1/K",
    observe=observe,
)
