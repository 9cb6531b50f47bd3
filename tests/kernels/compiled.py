"""Kernels in loops that tests compile: registered as they ship, and on buffers of the same types.

So a worker that has compiled a kernel for the engine does not compile it once more.
"""

import numpy as np

from devote.kernels import State, start
from devote.simulate.engine.compiling import _register_kernels as register_kernels

__all__ = ["array_state", "register_kernels"]


def array_state(algorithm, n_arms):
    """The second rows of arrays, as the compiled loop lays players out."""

    def row(length, dtype):
        return np.zeros((3, length), dtype)[1]

    state = State(
        alive=row(n_arms, np.int8),
        pulls=row(n_arms, np.int32),
        sums=row(n_arms, np.float64),
        ints=row(algorithm.n_ints(n_arms), np.int32),
        floats=row(algorithm.n_floats, np.float64),
    )
    start(state)
    return state
