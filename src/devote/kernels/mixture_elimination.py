"""Mixture Elimination: Successive Elimination with one bound on the difference of two arms.

The bound comes from a normal mixture and holds at all rounds at once, so that no error is spent
on each round apart; and it is on the difference of two means, not on each mean. Epsilon only
decides when to stop, so that no arm is eliminated in favour of one that is eliminated later.

Paper: not in it; a successive elimination in the sense of section 3.1. ``docs/proofs.md``.
"""

import math
from collections.abc import MutableSequence

from devote.kernels.algorithm import Algorithm
from devote.kernels.jitable import jitable
from devote.kernels.state import COUNT, Rule, State, add, drop_behind, keep_only

NEXT = 1
"""Word of ``State.ints``: where to look for the next arm of the round; 0 once it is judged."""

RHO = 0
"""Position of the option. A larger one makes the bound looser early and tighter late."""


@jitable
def bound(rule: Rule, tau: int) -> float:
    """The bound on a difference of sums after tau rounds, ``tau * b(tau)``.

    ``b(tau) = sqrt((1 + rho/tau)/tau * ln(sqrt(1 + tau/rho) (K-1)/eta))``.
    """
    rho = rule.options[RHO]
    log = 0.5 * math.log(1.0 + tau / rho) + math.log((rule.n_arms - 1) / rule.eta)
    return math.sqrt((tau + rho) * log)


@jitable
def next_alive(state: State, begin: int) -> int:
    """The first remaining arm from ``begin`` on; -1 if there is none."""
    for k in range(begin, len(state.alive)):
        if state.alive[k]:
            return k
    return -1


@jitable
def choose(rule: Rule, state: State, u: float) -> int:
    """Round robin, by index."""
    arm = next_alive(state, state.ints[NEXT])
    if arm < 0:
        arm = next_alive(state, 0)
    return arm


@jitable
def judge(rule: Rule, state: State, tau: int, out: MutableSequence[int]) -> int:
    """After round tau stop if every ``lead + eps >= b``; else drop each ``lead >= b``.

    Survivors have all been pulled tau times, so sums are compared with sums.
    """
    best = -1
    highest = second = lowest = 0.0
    for k in range(len(state.alive)):
        value = state.sums[k]
        if state.alive[k]:
            if best < 0:
                best = k
                highest = lowest = value
                second = -math.inf
            elif value > highest:
                best, second, highest = k, highest, value
            else:
                second = max(second, value)
                lowest = min(lowest, value)
    reach = bound(rule, tau)
    if highest - second + tau * rule.epsilon >= reach:
        return keep_only(state, best, out)
    if highest - lowest >= reach:
        return drop_behind(state, best, reach, out)
    return 0


@jitable
def observe(rule: Rule, state: State, arm: int, reward: float, out: MutableSequence[int]) -> int:
    """Judge each round at its end.

    Others may have ended a round, by taking out the arms that it still lacked. Then it is judged
    at the next pull, before the reward of that pull counts.
    """
    n_out = 0
    if arm < state.ints[NEXT] and state.ints[COUNT] > 1:
        n_out = judge(rule, state, state.pulls[arm], out)
    add(state, arm, reward)
    following = next_alive(state, arm + 1)
    state.ints[NEXT] = following if following >= 0 else arm + 1
    if state.ints[COUNT] == 1 or following >= 0:
        return n_out
    state.ints[NEXT] = 0
    return judge(rule, state, state.pulls[arm], out)


ALGORITHM = Algorithm(
    name="mixture_elimination",
    summary="a pull of each survivor per round; one bound on differences that holds for ever",
    source="Robbins 1970; Howard, Ramdas, McAuliffe and Sekhon 2021; docs/proofs.md",
    options={"rho": 5.0},
    n_ints=lambda n_arms: 2,
    choose=choose,
    observe=observe,
)
