"""KL-LUCB: LUCB with bounds from the Bernoulli Kullback-Leibler divergence.

Paper: section 3.1, explore-then-commit, L = 1 and f(l) = 1.
Differs from print: it stops once the gap is lower than epsilon, not higher (erratum 16).
A call plays one arm, so that the pair of a round is two calls, and whether to stop is tested after
each.
"""

import math

from devote.kernels.bernoulli_kl import divergence_at_least, lower, upper
from devote.kernels.jitable import jitable
from devote.kernels.rivals import LEADER, RIVAL, TOTAL, explore_then_commit, note, outdated
from devote.kernels.state import Rule, State, best_mean, mean

K1 = 405.5
ALPHA = 1.1
TIE = 1e-9
"""Arms this close to the highest bound are solved for, and compared exactly."""


@jitable
def exploration(rule: Rule, t: int) -> float:
    """The level of the bounds after t pulls, ``ln a + ln ln a``, ``a = 405.5 K t^1.1 / eta``."""
    log_a = math.log(K1 * rule.n_arms / rule.eta) + ALPHA * math.log(float(t))
    return log_a + math.log(log_a)


@jitable
def compare(rule: Rule, state: State) -> float:
    """Find the empirical best h and the highest upper bound l of the rest; ``U_l - L_h``.

    The search begins with the last rival, whose bound mostly is still the highest, or with the last
    leader if the two have changed places. Only the bounds of arms that may beat the highest so far
    are solved for, one after another at the same place: there the threads of a GPU meet.
    """
    beta = exploration(rule, state.ints[TOTAL])
    leader = best_mean(state)
    rival = -1
    highest = -1.0
    first = leader
    if not outdated(state):
        first = state.ints[RIVAL] if state.ints[RIVAL] != leader else state.ints[LEADER]
    if first != leader:
        rival = first
        highest = upper(mean(state, first), beta / state.pulls[first])
    log_q, log_rest = logarithms(highest)
    n_arms = len(state.alive)
    k = next_threat(state, 0, leader, first, beta, highest, log_q, log_rest)
    while k < n_arms:
        bound = upper(mean(state, k), beta / state.pulls[k])
        if bound > highest or (bound == highest and k < rival):
            highest = bound
            rival = k
            log_q, log_rest = logarithms(highest)
        k = next_threat(state, k + 1, leader, first, beta, highest, log_q, log_rest)
    note(state, leader, rival)
    return highest - lower(mean(state, leader), beta / state.pulls[leader])


@jitable
def next_threat(
    state: State,
    begin: int,
    leader: int,
    first: int,
    beta: float,
    highest: float,
    log_q: float,
    log_rest: float,
) -> int:
    """The next arm that may beat the highest bound so far; the number of arms if none does.

    It does if its mean lies above that bound, and cannot if its divergence to that bound exceeds
    its own level.
    """
    for k in range(begin, len(state.alive)):
        if state.alive[k] and k != leader and k != first:
            p = mean(state, k)
            level = beta / state.pulls[k]
            if p > highest or divergence_at_least(p, log_q, log_rest) <= level + TIE:
                return k
    return len(state.alive)


@jitable
def logarithms(q: float) -> tuple[float, float]:
    """``ln q`` and ``ln(1 - q)``; two zeros, which rule no arm out, if one is infinite."""
    if 0.0 < q < 1.0:
        return math.log(q), math.log(1.0 - q)
    return 0.0, 0.0


ALGORITHM = explore_then_commit(
    compare,
    name="kl_lucb",
    summary="LUCB with Kullback-Leibler bounds",
    source="Kaufmann and Kalyanakrishnan 2013; paper, section 3.1, L = 1",
)
