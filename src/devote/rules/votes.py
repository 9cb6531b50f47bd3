"""Counting votes: how many eliminate an arm, and which arms are still shared."""

import math
from collections.abc import MutableSequence, Sequence

from devote.rules.state import State, drop, start

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
