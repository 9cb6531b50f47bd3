"""What the threads of a warp do together.

They wait for each other. So players who have as many pulls to make are run side by side. One whose
next pull takes far more work than most (``Algorithm.laborious``) waits until enough others are
there too. And what they have gained is added up before it goes to where others add as well.
"""

from collections.abc import Callable
from typing import Any

from numba import cuda, float64, int32, int64

from devote.kernels import Algorithm, State
from devote.kernels.tables import N_COUNTERS
from devote.simulate.engine.alone import never_waits
from devote.simulate.engine.gpu.target import device_function, simulated

WARP, ALL = 32, 0xFFFFFFFF
"""Threads that go in step, and the mask of all of them."""

LENGTHS = 32
"""How many lengths of stretches are told apart."""

SHORTER = 32 - (LENGTHS - 1).bit_length()
"""A whole number of 32 bits that begins with so many zeros is below ``LENGTHS``."""

PART = 2
"""Laborious pulls are made once one in so many threads of a warp has one."""


def make_waits(algorithm: Algorithm) -> Callable[[State], bool]:
    """What says whether a thread's next pull is to wait for others."""
    laborious: Any = algorithm.laborious
    part = PART
    if laborious is None or simulated():
        return never_waits

    def waits(state):  # type: ignore[no-untyped-def]
        labour = laborious(state)
        here = cuda.activemask()
        waiting = cuda.popc(cuda.ballot_sync(here, labour))
        return labour and part * waiting < cuda.popc(here)

    return device_function(waits)


def make_line_up(threads: int) -> Callable[..., Any]:
    """What gives each thread of a block of so many a player to run: by the length of its stretch.

    It is given the stretch of the thread's player (``alone.stretch_to``), and returns the thread
    whose player this one is to run, and that player's stretch: of length 0 if there is none. In one
    warp there is nothing to be gained.
    """
    if threads <= WARP:
        return device_function(lambda stretch: (cuda.threadIdx.x, stretch))

    def line_up(stretch):  # type: ignore[no-untyped-def]
        lengths = cuda.shared.array(threads, int32)
        cells = cuda.shared.array((threads, 2), int32)
        times = cuda.shared.array(threads, float64)
        line = cuda.shared.array(threads, int32)
        longest = cuda.shared.array(1, int32)
        counts = cuda.shared.array(LENGTHS, int32)
        me = cuda.threadIdx.x
        length, cell, made, t = stretch
        lengths[me], cells[me, 0], cells[me, 1], times[me] = length, cell, made, t
        for j in range(me, LENGTHS, cuda.blockDim.x):
            counts[j] = 0
        longest[0] = 0
        cuda.syncthreads()
        cuda.atomic.max(longest, 0, length)
        cuda.syncthreads()
        kind = rank = 0
        if length > 0:
            kind = (length - 1) >> max(0, SHORTER - cuda.clz(longest[0]))
            rank = cuda.atomic.add(counts, kind, 1)
        n_moving = cuda.syncthreads_count(int32(length > 0))
        if length > 0:
            for j in range(kind):
                rank += counts[j]
            line[rank] = me
        cuda.syncthreads()
        if me >= n_moving:
            return me, (0, cell, made, t)
        other = int(line[me])
        where = int(cells[other, 0]), int(cells[other, 1])
        return other, (int(lengths[other]), *where, times[other])

    return device_function(line_up)


def make_sum_up(threads: int) -> Callable[..., None]:
    """What adds the gains of a block of so many threads to a row of a table.

    ``one``: it is the row of all its threads. The simulator has no warps.
    """
    n_warps = -(-threads // WARP)
    by_warp = not simulated()

    def sum_up(gain, table, row, one):  # type: ignore[no-untyped-def]
        if not one or not by_warp:
            for j in range(N_COUNTERS):
                if gain[j] != 0:
                    cuda.atomic.add(table, (row, j), gain[j])
            return
        parts = cuda.shared.array((n_warps, N_COUNTERS), int64)
        me = cuda.threadIdx.x
        for j in range(N_COUNTERS):
            total = gain[j]
            if cuda.any_sync(ALL, total != 0):
                width = WARP // 2
                while width > 0:
                    total += cuda.shfl_down_sync(ALL, total, width)
                    width //= 2
            if me % WARP == 0:
                parts[me // WARP, j] = total
        cuda.syncthreads()
        for j in range(me, N_COUNTERS, cuda.blockDim.x):
            total = int64(0)
            for warp in range(cuda.blockDim.x // WARP):
                total += parts[warp, j]
            if total != 0:
                cuda.atomic.add(table, (row, j), total)
        cuda.syncthreads()

    return device_function(sum_up)
