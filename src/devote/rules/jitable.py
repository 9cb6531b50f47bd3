"""The shim that lets one function run on lists and be compiled by numba.

The core never imports numba. ``@jitable`` only writes the function down; ``devote.simulator``
hands the list to numba when it compiles a loop. Decorated functions use indexing, ``len`` and
``math``, no ``**`` (compilers rewrite powers, and results must be equal to the last bit).
"""

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

JITABLE: list[Callable[..., Any]] = []


def jitable(function: F) -> F:
    """Mark a function of buffers as compilable; it stays a plain Python function."""
    JITABLE.append(function)
    return function
