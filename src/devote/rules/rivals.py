"""Explore-then-commit rules: a leader, its rival, and when to look again.

Each rule brings its own comparison, which writes the leader and the rival and returns the gap
that decides whether to stop. Between a pull and the next choice nothing but arms dropped from
outside can change, so the pair stays right as long as no arm has gone. (UGapEc's may change
with the drop of a third arm: one that was the threat to the rival.)

Paper: section 3.1, the explore-then-commit algorithms.
Differs from print: they stop once the gap is lower than epsilon, not higher (erratum 16).
"""

import math
from collections.abc import Callable

from devote.rules.algorithm import Algorithm
from devote.rules.state import COUNT, Out, Rule, State, add, keep_only, least_pulled

TOTAL, LEADER, RIVAL, COMPARED, SECOND, N_INTS = range(1, 7)
"""Words of ``State.ints``. COMPARED: how many arms remained when leader and rival were found; 0 as
long as a remaining arm has not been pulled. SECOND: the arm of a pair to play next and 1, or 0."""


def radius(beta: float, pulls: int) -> float:
    """Half the width of an arm's interval, ``sqrt(beta / N_k)``."""
    return math.sqrt(beta / pulls)


def note(state: State, leader: int, rival: int) -> None:
    """Write the outcome of a comparison."""
    state.ints[LEADER] = leader
    state.ints[RIVAL] = rival
    state.ints[COMPARED] = state.ints[COUNT]


def open_pair(state: State) -> int:
    """Play the leader now and the rival next."""
    state.ints[SECOND] = state.ints[RIVAL] + 1
    return state.ints[LEADER]


def explore_then_commit(
    compare: Callable[[Rule, State], float],
    *,
    play: Callable[[State], int] = open_pair,
    name: str,
    summary: str,
    source: str,
) -> Algorithm:
    """The subroutine that stops by this comparison; ``play`` takes an arm of the pair."""

    def choose(rule: Rule, state: State, u: float) -> int:
        """Each arm once, then leader or rival; the second of a pair if it is still there."""
        # Until all have been pulled there is nothing to compare.
        if state.ints[COUNT] == 1 or state.ints[COMPARED] == 0:
            arm = least_pulled(state)
            if state.ints[COUNT] == 1 or state.pulls[arm] == 0:
                return arm
        arm = state.ints[SECOND] - 1
        state.ints[SECOND] = 0
        if arm >= 0 and state.alive[arm]:
            return arm
        if state.ints[COMPARED] != state.ints[COUNT]:  # an arm has gone since
            compare(rule, state)
        return play(state)

    def observe(rule: Rule, state: State, arm: int, reward: float, out: Out) -> int:
        """Stop when the gap is below epsilon and keep the leader; tested after every pull."""
        add(state, arm, reward)
        state.ints[TOTAL] += 1
        if state.ints[COUNT] == 1:
            return 0
        if state.ints[COMPARED] == 0 and state.pulls[least_pulled(state)] == 0:
            return 0
        if compare(rule, state) >= rule.epsilon:
            return 0
        return keep_only(state, state.ints[LEADER], out)

    return Algorithm(name, summary, source, choose, observe, n_ints=lambda n_arms: N_INTS)
