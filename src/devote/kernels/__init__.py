"""Arm selection and vote counting: ``math`` and indexing only.

A subroutine is one module with a ``choose`` and an ``observe`` over buffers, and one line in
the list below. The same functions run on a device's lists and in the compiled simulator.
"""

from devote.kernels import (
    kl_lucb,
    kl_racing,
    lucb,
    median_elimination,
    mixture_elimination,
    naive,
    ser3,
    ser4,
    successive_elimination,
    ugapec,
    worst_case,
)
from devote.kernels.algorithm import Algorithm
from devote.kernels.jitable import jitable
from devote.kernels.registry import get_algorithm, register
from devote.kernels.state import COUNT, RESET, Rule, State, drop, start
from devote.kernels.votes import merge, quorum, shared_set

for _module in (
    naive,
    median_elimination,
    successive_elimination,
    kl_racing,
    lucb,
    kl_lucb,
    ugapec,
    ser3,
    ser4,
    mixture_elimination,
    worst_case,
):
    register(_module.ALGORITHM)

__all__ = [
    "COUNT",
    "RESET",
    "Algorithm",
    "Rule",
    "State",
    "drop",
    "get_algorithm",
    "jitable",
    "merge",
    "quorum",
    "register",
    "shared_set",
    "start",
]
