"""The minimal honest loop: what any simulator of many players has to do for one pull.

Draw a player, look up its next arm, draw a reward, add it to a table of N x K. Nothing is
learned and nobody votes. ``from_blocks`` does the same with uniforms drawn beforehand in blocks
from three Mersenne Twisters, as the engine does, so that the cost of reproducible streams can
be told from the cost of the algorithm.
"""

from typing import Any

import numba
import numpy as np

from devote.simulator.streams import NAMES, Streams

BLOCK = 8192


@numba.njit(cache=True)
def _loop(n_pulls: int, means: Any, next_arm: Any, sums: Any) -> None:
    n_players, n_arms = sums.shape
    for _ in range(n_pulls):
        player = int(np.random.random() * n_players)
        arm = next_arm[player]
        next_arm[player] = arm + 1 if arm + 1 < n_arms else 0
        if np.random.random() < means[arm]:
            sums[player, arm] += 1.0


@numba.njit(cache=True)
def _block(u_wake: Any, u_pay: Any, means: Any, next_arm: Any, sums: Any) -> None:
    n_players, n_arms = sums.shape
    for i in range(len(u_wake)):
        player = int(u_wake[i] * n_players)
        arm = next_arm[player]
        next_arm[player] = arm + 1 if arm + 1 < n_arms else 0
        if u_pay[i] < means[arm]:
            sums[player, arm] += 1.0


def _tables(n_players: int, n_arms: int) -> tuple[Any, Any]:
    return np.zeros(n_players, dtype=np.int64), np.zeros((n_players, n_arms))


def minimal(n_pulls: int, n_players: int, means: Any) -> None:
    """Make that many pulls, drawing inside the loop."""
    _loop(n_pulls, means, *_tables(n_players, len(means)))


def from_blocks(n_pulls: int, n_players: int, means: Any) -> None:
    """Make that many pulls from blocks of uniforms; three are drawn per pull, two are used."""
    tables = _tables(n_players, len(means))
    streams = Streams(NAMES)
    streams.start(0, 0)
    for begin in range(0, n_pulls, BLOCK):
        size = min(BLOCK, n_pulls - begin)
        u_wake, _, u_pay = streams.random(size)
        _block(u_wake, u_pay, means, *tables)
