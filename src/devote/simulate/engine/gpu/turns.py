"""Whose turn it is among those who have halted in a window, where a team of threads merges it.

Players are dealt to the threads in the order of time. Each thread tries what its first player will
do, against a copy of the shared tables, and shows when that one is heard of (``fronts``) and when
any of its players is heard of next (``nexts``). Those who come before all that can still happen,
and who together are too few to decide anything, have said what they tried.
"""

import math
from typing import Any

from devote.kernels.jitable import jitable
from devote.simulate.engine.windows import GAP, LIMIT

CROWD = 128
"""Players of a trial who have halted in a window, at most, if it is to be merged."""

FAR, FEW = 1024.0, 32.0
"""Activations after each other that merging a window may take beside loud ones; as many players as
halt in a window that was shortened."""

NEVER_AGAIN = math.inf
"""In place of when a player has halted: it has arrived at the end of the window."""

UNTRIED, SPOILT = -math.inf, -1.0
"""In place of when a thread's players are heard of next: its first one has not been tried; it has,
and would decide."""


@jitable
def less_to_merge(times: Any, n_halted: int, mates: int, first: float) -> float:
    """Where a window should end: earlier, if those who have halted would keep their team long.

    ``first`` is when the first of them has.
    """
    rest = times[LIMIT] - first
    rounds = -(-n_halted // mates)
    if n_halted <= CROWD and rounds * rest <= FAR * times[GAP]:
        return float(times[LIMIT])
    return float(first + rest * min(0.25, FEW / n_halted))


@jitable
def deal_by_time(when: Any, n_halted: int, me: int, mates: int, order: Any) -> None:
    """Put the places of some of those who have halted into the order of time."""
    for j in range(me, n_halted, mates):
        rank = 0
        for one in range(n_halted):
            rank += when[one] < when[j] or (when[one] == when[j] and one < j)
        order[rank] = j


@jitable
def first_of(
    when: Any, n_halted: int, me: int, mates: int, order: Any, dealt: bool
) -> tuple[int, float, float]:
    """The place of a thread's first player, -1 if it has none, its time and the second one's."""
    place, front, following = -1, NEVER_AGAIN, NEVER_AGAIN
    for j in range(me, n_halted, mates):
        one = int(order[j]) if dealt else j
        if when[one] < front:
            place, front, following = one, when[one], front
        else:
            following = min(following, when[one])
    return place, front, following


@jitable
def look_round(fronts: Any, nexts: Any, me: int, mates: int) -> tuple[float, bool, int, bool]:
    """The earliest time of all and whether its player has been tried; how many come before mine.

    Also whether nobody who comes before mine, nor anybody of the same thread, is heard of again
    before that.
    """
    earliest, is_tried = fronts[0], nexts[0] != UNTRIED
    n_before, is_clear = 0, True
    for mate in range(mates):
        if fronts[mate] < earliest:
            earliest, is_tried = fronts[mate], nexts[mate] != UNTRIED
        if fronts[mate] < fronts[me] or (fronts[mate] == fronts[me] and mate < me):
            n_before += 1
            is_clear = is_clear and nexts[mate] > fronts[me]
    return earliest, is_tried, n_before, is_clear


@jitable
def copy_tables(source: Any, target: Any) -> None:
    """Copy what loud activations change beside counters: ``tally, by_arm, shared, before``."""
    for k in range(len(source[0])):
        target[0][k] = source[0][k]
        for j in range(source[1].shape[1]):
            target[1][k, j] = source[1][k, j]
        target[2][k] = source[2][k]
        target[3][k] = source[3][k]


@jitable
def copy_player(source: Any, target: Any) -> None:
    """Copy a player at work: its state, its own words, what it has said, and when first."""
    for k in range(len(source[0].alive)):
        target[0].alive[k] = source[0].alive[k]
        target[0].pulls[k] = source[0].pulls[k]
        target[0].sums[k] = source[0].sums[k]
        target[2][0, k] = source[2][0, k]
    for i in range(len(source[0].ints)):
        target[0].ints[i] = source[0].ints[i]
    for i in range(len(source[0].floats)):
        target[0].floats[i] = source[0].floats[i]
    for i in range(source[1].shape[1]):
        target[1][0, i] = source[1][0, i]
    target[3][0] = source[3][0]
