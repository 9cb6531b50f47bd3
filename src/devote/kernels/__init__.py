"""Arm selection and vote counting: ``math`` and indexing only.

A subroutine is one module with a ``choose`` and an ``observe`` over buffers, and one line in
the list below. The same functions run on a device's lists and in the compiled simulator.
"""

from importlib import import_module

from devote.kernels.algorithm import Algorithm as Algorithm
from devote.kernels.jitable import jitable as jitable
from devote.kernels.outside import import_rules as import_rules
from devote.kernels.registry import get_algorithm as get_algorithm
from devote.kernels.registry import register as register
from devote.kernels.state import COUNT as COUNT
from devote.kernels.state import RESET as RESET
from devote.kernels.state import Rule as Rule
from devote.kernels.state import State as State
from devote.kernels.state import drop as drop
from devote.kernels.state import start as start
from devote.kernels.votes import merge as merge
from devote.kernels.votes import shared_set as shared_set

SUBROUTINES = (
    "naive",
    "median_elimination",
    "successive_elimination",
    "kl_racing",
    "lucb",
    "kl_lucb",
    "ugapec",
    "ser3",
    "ser4",
    "mixture_elimination",
    "betting",
    "worst_case",
)

for _name in SUBROUTINES:
    register(import_module(f"devote.kernels.{_name}").ALGORITHM)
