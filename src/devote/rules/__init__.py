"""Arm selection and vote counting: ``math`` and indexing only.

A subroutine is one module with a ``choose`` and an ``observe`` over buffers, and one line in
the list below. The same functions run on a device's lists and in the compiled simulator.
"""

from importlib import import_module

from devote.rules.algorithm import Algorithm as Algorithm
from devote.rules.algorithm import get_algorithm as get_algorithm
from devote.rules.algorithm import register as register
from devote.rules.outside import import_rules as import_rules
from devote.rules.state import COUNT as COUNT
from devote.rules.state import RESET as RESET
from devote.rules.state import Rule as Rule
from devote.rules.state import State as State
from devote.rules.state import drop as drop
from devote.rules.state import start as start
from devote.rules.uniforms import below as below
from devote.rules.uniforms import split as split
from devote.rules.votes import merge as merge
from devote.rules.votes import shared_set as shared_set

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
    register(import_module(f"devote.rules.{_name}").ALGORITHM)
