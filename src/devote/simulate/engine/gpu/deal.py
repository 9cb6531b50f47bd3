"""The kernel that deals out the pulls of a window where clocks are merged into one (``in_order``).

A team of threads for each trial counts how many pulls each player has, and then gives each of them
its place. ``known`` is as for ``rows``.
"""

from collections.abc import Callable

from numba import cuda, int32, int64

from devote.problems import pick
from devote.simulate.engine.gpu.in_order import WAKE, pulls_before
from devote.simulate.engine.numbers import unit, word_at
from devote.simulate.engine.windows import BEGIN, LIMIT, PHASE, SCAN, SPEAKER

DEALERS = 256
"""Threads that deal the pulls of a trial, at most."""

NEAR = 1024
"""Players of a trial who are counted in shared memory."""


def make_deal(known: int) -> Callable[..., None]:
    """The kernel that lists every player's pulls in a window that begins."""

    def deal(waking, shape, players, trials):  # type: ignore[no-untyped-def]
        parts = cuda.shared.array(DEALERS, int64)
        trial, me, mates = cuda.blockIdx.x, cuda.threadIdx.x, cuda.blockDim.x
        cuda.syncthreads()
        # A window that ends before a speaker has been dealt out already.
        words = trials.words[trial]
        if words[PHASE] != SCAN or words[SPEAKER] >= 0 or known < 0:
            return
        threshold, alias = waking
        even = len(alias) == 1
        n, key = shape.n_players, trials.streams[trial, WAKE]
        first = pulls_before(trials.times[trial, BEGIN])
        n_pulls = pulls_before(trials.times[trial, LIMIT]) - first
        low, dealt = trial * n, players.dealt[trial]
        ends = cuda.shared.array(NEAR, int32)
        if n > NEAR:
            ends = players.ends[low : low + n]
        for i in range(me, n, mates):
            ends[i] = 0
        cuda.syncthreads()
        for j in range(me, n_pulls, mates):
            u = unit(word_at(key, first + j))
            cuda.atomic.add(ends, int(u * n) if even else pick(threshold, alias, u), 1)
        cuda.syncthreads()
        # Each thread adds up some players, then all of them those before their own.
        each = -(-n // mates)
        mine, beyond = min(n, me * each), min(n, (me + 1) * each)
        total = 0
        for i in range(mine, beyond):
            total += ends[i]
        parts[me] = total
        width = 1
        while width < mates:
            cuda.syncthreads()
            before = parts[me - width] if me >= width else 0
            cuda.syncthreads()
            parts[me] += before
            width *= 2
        start = parts[me] - total
        for i in range(mine, beyond):
            count = ends[i]
            ends[i] = start
            start += count
        for j in range(me, me + n_pulls, mates):
            cuda.syncthreads()  # nobody is far ahead, so that they are nearly in order
            if j < n_pulls:
                u = unit(word_at(key, first + j))
                player = int(u * n) if even else pick(threshold, alias, u)
                dealt[cuda.atomic.add(ends, player, 1)] = j
        cuda.syncthreads()
        for i in range(me, n, mates):
            start = ends[i - 1] if i > 0 else 0
            players.ends[low + i] = ends[i]
            for j in range(start + 1, ends[i]):
                pull = dealt[j]
                k = j
                while k > start and dealt[k - 1] > pull:
                    dealt[k] = dealt[k - 1]
                    k -= 1
                dealt[k] = pull

    return deal
