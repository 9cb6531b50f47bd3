"""Drawing the next player to wake: one uniform, constant time, any distribution.

Walker's alias method, with Vose's construction: N equal cells, each shared by at most two
players.
"""

import math
from collections.abc import Sequence

from devote.kernels.jitable import jitable
from devote.problems.activity import normalise


def alias_table(weights: Sequence[float]) -> tuple[list[float], list[int]]:
    """Cut each of N cells between its own player and one other, its alias.

    Player i owns the part of cell i below ``threshold[i]``, player ``alias[i]`` the rest. The
    same weights always give the same table, and equal weights whole cells.

    >>> alias_table([1, 1, 1])
    ([1.0, 1.0, 1.0], [0, 1, 2])
    >>> alias_table([1, 3])
    ([0.5, 1.0], [1, 1])
    """
    shares = normalise(weights)
    n = len(shares)
    total = math.fsum(shares)
    # n equal shares add up, rounded once, to share * n rounded once: their cells are exactly 1.
    cells = [share * n / total for share in shares]
    threshold = [1.0] * n
    alias = list(range(n))
    poor = [i for i in range(n) if cells[i] < 1.0]
    rich = [i for i in range(n) if cells[i] >= 1.0]
    while poor and rich:
        small, large = poor.pop(), rich[-1]
        threshold[small] = cells[small]
        alias[small] = large
        cells[large] = (cells[large] + cells[small]) - 1.0
        if cells[large] < 1.0:
            poor.append(rich.pop())
    # Whoever is left over owns a whole cell up to rounding.
    return threshold, alias


@jitable
def pick(threshold: Sequence[float], alias: Sequence[int], u: float) -> int:
    """The player that a uniform u in [0, 1) wakes; ``int(u * N)`` when all are equal.

    Paper: Algorithm 1, line 2, "a player is sampled".
    """
    # u <= 1 - 2^-53, so that u * N stays below N after rounding, for every N.
    x = u * len(threshold)
    cell = int(x)
    other = alias[cell]
    return cell if x - cell < threshold[cell] else other
