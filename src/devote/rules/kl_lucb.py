"""KL-LUCB: LUCB with bounds from the Bernoulli Kullback-Leibler divergence.

Paper: section 3.1, explore-then-commit, L = 1 and f(l) = 1.
Differs from print: it stops once the gap is lower than epsilon, not higher (erratum 16).
A call plays one arm, so that the pair of a round is two calls, and whether to stop is tested after
each.
"""

import math

from devote.rules.bernoulli_kl import divergence, divergence_at_least, lower, upper
from devote.rules.rivals import RIVAL, SECOND, TOTAL, explore_then_commit, note, outdated
from devote.rules.state import Rule, State, best_mean, mean

K1 = 405.5
ALPHA = 1.1
TIE = 1e-9
"""Arms this close to the highest bound are solved for, and compared exactly."""

HIGHEST = 0
"""Word of ``State.floats``: the rival's upper bound when the pair was found; 0 before."""


def exploration(rule: Rule, t: int) -> float:
    """The level of the bounds after t pulls, ``ln a + ln ln a``, ``a = 405.5 K t^1.1 / eta``."""
    log_a = math.log(K1 * rule.n_arms / rule.eta) + ALPHA * math.log(float(t))
    return log_a + math.log(log_a)


def compare(rule: Rule, state: State) -> float:
    """Find the empirical best h and the highest upper bound l of the rest; ``U_l - L_h``."""
    beta = exploration(rule, state.ints[TOTAL])
    leader = best_mean(state)
    highest = find_pair(state, leader, beta)
    return highest - lower(mean(state, leader), beta / state.pulls[leader])


def stops(rule: Rule, state: State) -> bool:
    """Whether the gap is below epsilon; finds the pair anew, unless a pull of the last is due.

    The leader's lower bound is not solved for: it lies above ``U_l - epsilon`` if the divergence
    to that point exceeds the leader's level. While the rival is due, its bound has only grown, so
    that what it was tells mostly that it is too early to stop.
    """
    beta = exploration(rule, state.ints[TOTAL])
    leader = best_mean(state)
    if state.ints[SECOND] != 0 and not outdated(state) and state.ints[RIVAL] != leader:
        point = state.floats[HIGHEST] - TIE - rule.epsilon
        if not lies_above(mean(state, leader), beta / state.pulls[leader], point):
            return False
    point = find_pair(state, leader, beta) - rule.epsilon
    return lies_above(mean(state, leader), beta / state.pulls[leader], point)


def lies_above(p: float, level: float, point: float) -> bool:
    """Whether the smallest q with ``d(p, q) <= level`` lies above a point."""
    if point >= p:
        return False
    return point < 0.0 or divergence(p, point) > level


def find_pair(state: State, leader: int, beta: float) -> float:
    """Find the leader's rival and note the pair; returns the rival's bound.

    Only the bounds of arms that may be the highest are solved for, the likeliest first.
    """
    rival = likeliest(state, leader, beta)
    highest = upper(mean(state, rival), beta / state.pulls[rival])
    log_q, log_rest = logarithms(highest)
    k = next_threat(state, 0, leader, rival, beta, highest, log_q, log_rest)
    while k < len(state.alive):
        bound = upper(mean(state, k), beta / state.pulls[k])
        if bound > highest or (bound == highest and k < rival):
            highest = bound
            rival = k
            log_q, log_rest = logarithms(highest)
        k = next_threat(state, k + 1, leader, rival, beta, highest, log_q, log_rest)
    note(state, leader, rival)
    state.floats[HIGHEST] = highest
    return highest


def likeliest(state: State, leader: int, beta: float) -> int:
    """The arm whose bound seems the highest after a step of Newton's from the last highest one.

    Of arms that are alike in all numbers it is the first.
    """
    q = state.floats[HIGHEST]
    log_q, log_rest = logarithms(q)
    arm = -1
    furthest = -math.inf
    for k in range(len(state.alive)):
        if state.alive[k] and k != leader:
            p = mean(state, k)
            step = math.inf
            if p < q:
                level = beta / state.pulls[k]
                step = (level - divergence_at_least(p, log_q, log_rest)) / (q - p)
            if arm < 0 or step > furthest:
                arm = k
                furthest = step
    return arm


def next_threat(
    state: State,
    begin: int,
    leader: int,
    rival: int,
    beta: float,
    highest: float,
    log_q: float,
    log_rest: float,
) -> int:
    """The next arm that may beat the rival's bound; the number of arms if none does.

    It does if its mean lies above that bound, and cannot if its divergence to that bound exceeds
    its own level. One that is alike in all numbers has the same bound.
    """
    k = begin
    while k < len(state.alive):
        if state.alive[k] and k != leader and k != rival:
            p = mean(state, k)
            level = beta / state.pulls[k] + TIE
            if p > highest:
                return k
            if divergence_at_least(p, log_q, log_rest) <= level:
                alike = state.pulls[k] == state.pulls[rival] and state.sums[k] == state.sums[rival]
                if not alike and divergence(p, highest) <= level:
                    return k
        k += 1
    return k


def logarithms(q: float) -> tuple[float, float]:
    """``ln q`` and ``ln(1 - q)``; two zeros, which rule no arm out, if one is infinite."""
    if 0.0 < q < 1.0:
        return math.log(q), math.log(1.0 - q)
    return 0.0, 0.0


ALGORITHM = explore_then_commit(
    compare,
    stops,
    n_floats=1,
    name="kl_lucb",
    summary="LUCB with Kullback-Leibler bounds",
    source="Kaufmann and Kalyanakrishnan 2013; paper, section 3.1, L = 1",
)
