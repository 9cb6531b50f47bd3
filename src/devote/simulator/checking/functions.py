"""A subroutine's functions as text: what they take, what they call, what cannot be compiled."""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

from devote.rules import Algorithm
from devote.rules.registry import AlgorithmError
from devote.simulator.checking.faults import fault


def check_functions(algorithm: Algorithm) -> None:
    """Both functions take what they are given, and all they call can be compiled."""
    for function, takes in ((algorithm.choose, 3), (algorithm.observe, 5)):
        if not isinstance(function, FunctionType):
            raise AlgorithmError(f"{function!r} is not a plain function.\nWrite it with def.")
        given = function.__code__.co_argcount
        if given != takes:
            names = "rule, state, u" if takes == 3 else "rule, state, arm, reward, out"
            raise fault(
                function,
                f"{function.__name__} takes {given} arguments, not {takes}.",
                f"Write def {function.__name__}({names}).",
            )
    words = algorithm.n_ints(3)
    if not isinstance(words, int) or words < 1:
        raise fault(
            algorithm.observe,
            f"n_ints gives {words!r} words for 3 arms.",
            "Give at least 1: word 0 of ints is the number of remaining arms.",
        )
    for function in _reached(algorithm):
        _check_powers(function)


def _reached(algorithm: Algorithm) -> Iterator[FunctionType]:
    """The two functions and all plain functions that they call."""
    waiting: list[Any] = [algorithm.choose, algorithm.observe]
    seen = set()
    while waiting:
        function = waiting.pop(0)
        if function in seen:
            continue
        seen.add(function)
        yield function
        inner = dict(inspect.getclosurevars(function).nonlocals)
        names = function.__code__.co_names
        inner |= {name: function.__globals__.get(name) for name in names}
        for value in list(inner.values()):
            if isinstance(value, ModuleType):
                inner |= {f".{name}": getattr(value, name, None) for name in names}
        waiting += [value for value in inner.values() if isinstance(value, FunctionType)]


def _check_powers(function: FunctionType) -> None:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError):
        raise fault(
            function,
            f"the text of {function.__name__} cannot be read.",
            "Save the rule in a file, or in a cell of a notebook.",
        ) from None
    for node in ast.walk(tree):
        if isinstance(node, ast.Pow):
            continue
        if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Pow):
            raise fault(
                function,
                f"{function.__name__} uses **, which compilers round in ways of their own.",
                "Multiply, or use math.sqrt or math.exp.",
                function.__code__.co_firstlineno + node.lineno - 1,
            )
