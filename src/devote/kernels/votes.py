"""Counting votes: how many eliminate an arm, and which arms are still shared."""

import math
from collections.abc import MutableSequence, Sequence

from devote.kernels.binomial import binomial_tail
from devote.kernels.jitable import jitable
from devote.kernels.state import State, drop, start

INTEGER_TOLERANCE = 1e-12
"""A ratio this close to an integer, relatively, is that integer (erratum 6)."""


def quorum(delta: float, eta: float, rule: str = "paper") -> int:
    """Votes that eliminate an arm: ``log(delta) / log(eta)``, rounded down or up.

    ``paper`` rounds down, ``ceil`` rounds up and so really meets ``delta`` when N = M.

    Paper: Algorithm 2, line 6; Theorem 1.
    Differs from print: a ratio within 1e-12 of an integer counts as that integer (erratum 6).

    >>> quorum(0.05, 0.9), quorum(0.05, 0.9, "ceil"), quorum(0.9**3, 0.9)
    (28, 29, 3)
    """
    ratio = math.log(delta) / math.log(eta)
    nearest = round(ratio)
    if abs(ratio - nearest) <= INTEGER_TOLERANCE * max(1.0, ratio):
        return nearest
    return math.floor(ratio) if rule == "paper" else math.ceil(ratio)


def jury_size(delta: float, eta: float, *, absent: int = 0, n_arms: int = 2) -> int:
    """The least jury J that errs with probability at most delta, ``absent`` of whom may be missing.

    With nobody absent an arm goes when all J vote against it, and J is
    ``ceil(log(delta) / log(eta))``. When J - v votes do, losing g of the K arms takes at least
    J - g v jurors who failed; g is at most K - 1, so J is the least with
    ``P(Bin(J, eta) >= J - (K - 1) v) <= delta``.

    Paper: Theorem 1, for the fixed group that its proof needs (erratum 7).

    >>> jury_size(0.05, 0.9), jury_size(0.05, 0.9, absent=1, n_arms=2)
    (29, 46)
    """
    if absent == 0:
        return quorum(delta, eta, "ceil")
    may_hold = (n_arms - 1) * absent
    low, high = may_hold, 2 * may_hold + 2
    while jury_failure(high, eta, may_hold) > delta:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if jury_failure(middle, eta, may_hold) > delta:
            low = middle
        else:
            high = middle
    return high


def jury_failure(size: int, eta: float, may_hold: int = 0) -> float:
    """P(at most ``may_hold`` of ``size`` jurors are right) if each is wrong with eta.

    It falls as the jury grows.
    """
    return binomial_tail(size - may_hold, size, eta)


@jitable
def shared_set(tally: Sequence[int], quorum: int, shared: MutableSequence[int]) -> int:
    """Mark the arms still shared, given the number of distinct voters against each.

    Out go the arms with at least ``quorum`` voters; were that all of them, the one with the
    fewest votes stays, the lowest index on a tie. Returns the number of shared arms.

    Paper: Algorithm 2, lines 4-7.
    Differs from print: a pure function of the set of votes, never empty (errata 2 and 3).
    """
    size = 0
    fewest = 0
    for k in range(len(tally)):
        shared[k] = 0
        if tally[k] < quorum:
            shared[k] = 1
            size += 1
        if tally[k] < tally[fewest]:
            fewest = k
    if size == 0:
        shared[fewest] = 1
        size = 1
    return size


@jitable
def merge(state: State, shared: Sequence[int]) -> int:
    """Take the arms that are no longer shared out of a player's remaining set.

    A player who would be left with nothing adopts the shared set and starts over on it; that
    is a conflict. Returns 1 on a conflict, else 0.

    Paper: Algorithm 2, lines 8 and 11.
    Differs from print: nobody is left with nothing (erratum 4).
    """
    conflict = 1
    for k in range(len(shared)):
        if state.alive[k] and shared[k]:
            conflict = 0
    if conflict:
        start(state)
    for k in range(len(shared)):
        if state.alive[k] and not shared[k]:
            drop(state, k)
    return conflict
