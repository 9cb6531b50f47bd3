"""Mixture Elimination: Successive Elimination with one bound on the difference of two arms.

The bound comes from a normal mixture and holds at all rounds at once, so that no error is spent
on each round apart; and it is on the difference of two means, not on each mean. Epsilon only
decides when to stop, so that no arm is eliminated in favour of one that is eliminated later.

Paper: not in it; a successive elimination in the sense of section 3.1. ``docs/proofs.md``.
"""

import math

from devote.rules.algorithm import round_robin
from devote.rules.state import (
    COUNT,
    NEXT,
    Out,
    Rule,
    State,
    best_sum,
    drop_behind,
    ends_round,
    keep_only,
)

RHO = 0
"""Position of the option. A larger one makes the bound looser early and tighter late."""


def bound(rule: Rule, tau: int) -> float:
    """The bound on a difference of sums after tau rounds, ``tau * b(tau)``.

    ``b(tau) = sqrt((1 + rho/tau)/tau * ln(sqrt(1 + tau/rho) (K-1)/eta))``.
    """
    rho = rule.options[RHO]
    rivals = (rule.n_arms - 1) / rule.eta
    return math.sqrt(0.5 * (tau + rho) * math.log((1.0 + tau / rho) * rivals * rivals))


def judge(rule: Rule, state: State, tau: int, out: Out) -> int:
    """After round tau stop if every ``lead + eps >= b``; else drop each ``lead >= b``.

    Survivors have all been pulled tau times, so sums are compared with sums.
    """
    best = best_sum(state)
    highest, second, lowest = state.sums[best], -math.inf, math.inf
    for k in range(len(state.alive)):
        if state.alive[k] and k != best:
            second = max(second, state.sums[k])
            lowest = min(lowest, state.sums[k])
    reach = bound(rule, tau)
    if highest - second + tau * rule.epsilon >= reach:
        return keep_only(state, best, out)
    if highest - lowest < reach:
        return 0
    return drop_behind(state, best, reach, out)


def observe(rule: Rule, state: State, arm: int, reward: float, out: Out) -> int:
    """Judge each round at its end.

    Others may have ended a round, by taking out the arms that it still lacked. Then it is judged
    at the next pull, before the reward of that pull counts.
    """
    n_out = 0
    # Play has gone back to the first arms although a later one was to be next.
    if arm < state.ints[NEXT] and state.ints[COUNT] > 1:
        n_out = judge(rule, state, state.pulls[arm], out)
    if not ends_round(state, arm, reward):
        return n_out
    state.ints[NEXT] = 0
    return judge(rule, state, state.pulls[arm], out)


ALGORITHM = round_robin(
    name="mixture_elimination",
    summary="a pull of each survivor per round; one bound on differences that holds for ever",
    source="Robbins 1970; Howard, Ramdas, McAuliffe and Sekhon 2021; docs/proofs.md",
    options={"rho": 5.0},
    observe=observe,
)
