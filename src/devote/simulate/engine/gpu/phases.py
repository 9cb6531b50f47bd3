"""The kernel that takes each trial from phase to phase by itself, a warp for each trial.

Where there are many trials, none need wait for another: launches of ``rows`` and ``merge`` end when
the slowest trial has. The threads of the warp share the players.
"""

from collections.abc import Callable

from numba import cuda, int8

from devote.simulate.engine.gpu.code import Code
from devote.simulate.engine.gpu.deal import make_deal
from devote.simulate.engine.gpu.merge import make_merge
from devote.simulate.engine.gpu.rows import make_row
from devote.simulate.engine.gpu.target import device_function
from devote.simulate.engine.windows import OVER, PHASE


def make_phases(code: Code, threads: int, known: int) -> Callable[..., None]:
    """The kernel that takes trials, each with so many threads, through up to ``most`` phases."""
    row = device_function(make_row(code, threads))
    merge = device_function(make_merge(code, True, threads, known))
    deal = device_function(make_deal(known))
    in_order = code.facts[-1]

    def phases(  # type: ignore[no-untyped-def]
        buffers, rule, spans, setting, shape, players, trials, busy, waking, most
    ):
        trial, me = cuda.blockIdx.x, cuda.threadIdx.x
        goes_on = cuda.local.array(1, int8)
        done = 0
        while done < most and trials.words[trial, PHASE] != OVER:
            cuda.syncthreads()  # everybody has read it before it is changed
            if in_order:
                deal(waking, shape, players, trials)
                cuda.syncthreads()
            for first in range(0, shape.n_players, threads):
                row(buffers, rule, spans, setting, shape, players, trials, trial, first + me)
            cuda.syncthreads()
            merge(buffers, rule, spans, setting, shape, players, trials, goes_on)
            cuda.syncthreads()
            done += 1
        if trials.words[trial, PHASE] != OVER or known < 0:
            busy[0] = 1

    return phases
