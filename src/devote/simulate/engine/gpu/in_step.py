"""Pulls that take much work, made by many threads of a warp together.

The threads of a warp wait for each other. So one whose next pull takes far more work than most
(``Algorithm.laborious``) waits until enough others are there too.
"""

from collections.abc import Callable
from typing import Any

from numba import cuda

from devote.kernels import Algorithm, State
from devote.simulate.engine.alone import never_waits
from devote.simulate.engine.gpu.target import device_function, simulated

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
