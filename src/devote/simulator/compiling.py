"""From plain functions to machine code, without a change to the functions.

A loop is a plain function that names others. ``Linker`` copies it and every function that it
reaches; in the copies, names stand for compiled functions, and placeholders for those of the run's
rule and scheme. Nothing is registered anywhere: a function that is defined anew, reloaded or edited
in place is simply another one the next time.

The key of a copy is a digest of the code objects and constants of all that it reaches. Machine code
is kept by this key, in memory and, by numba, on disk: what runs is what the functions say now.
"""

import hashlib
import re
from collections.abc import Callable, Iterator
from dis import get_instructions
from functools import lru_cache
from pathlib import Path
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from devote.rules import Algorithm
from devote.simulator import loop as event
from devote.simulator import part as placeholders
from devote.simulator import passes
from devote.simulator.errors import RuleFault
from devote.simulator.part import Part

OPTIONS = {
    # No counts of references to arrays, which the caller holds: they cost more than the pulls.
    "_nrt": False,
    "no_cfunc_wrapper": True,
    "error_model": "numpy",
}

CONSTANTS = (bool, int, float, str, tuple, np.generic, np.ndarray)
LIBRARIES = ("math", "numpy", "numba", "numba_cuda")
PACKAGE = str(Path(__file__).parents[1])

Function = Callable[..., Any]

_wrapped: dict[tuple[Function, str], Any] = {}
"""What functions were wrapped into, by the key of their code: loops have many in common."""

_loops: dict[str, Function] = {}
"""Compiled loops by the key of their code."""


class Linker:
    """Copies of functions, each compiled by ``wrap``, with ``given`` in place of placeholders.

    >>> def double(x): return 2 * x
    >>> def twice(x): return double(double(x))
    >>> copy, key = Linker(lambda function: function).link(twice)
    >>> copy(3), len(key)
    (12, 24)
    """

    def __init__(self, wrap: Function, given: dict[Function, Function] | None = None) -> None:
        self.wrap = wrap
        self.given = given or {}
        self.reached: dict[Function, tuple[Any, str]] = {}
        """The compiled form and the key of each function that linked ones call."""
        self._open: set[Function] = set()

    def link(self, function: Function) -> tuple[Function, str]:
        """A copy whose names mean compiled functions, not wrapped itself; and its key."""
        assert isinstance(function, FunctionType)
        code = function.__code__
        signature = function.__defaults__, function.__kwdefaults__, function.__annotations__
        parts = [_text_of(code), str(_is_ours(code)), repr(signature)]
        names, dotted = names_of(code)
        # numba looks up the module of a copy when it reads machine code from disk.
        namespace: dict[str, Any] = {"__builtins__": __builtins__, "__name__": __name__}
        for name in names:
            if name in function.__globals__:
                namespace[name] = self._value(name, function.__globals__[name], dotted, parts)
        cells = tuple(
            CellType(self._value(name, cell.cell_contents, dotted, parts))
            for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True)
        )
        copy = FunctionType(code, namespace, function.__name__, function.__defaults__, cells)
        copy.__kwdefaults__ = function.__kwdefaults__
        return copy, hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]

    def _value(self, name: str, value: Any, dotted: frozenset[str], parts: list[str]) -> Any:
        """What a name stands for in a copy; what that depends on is added to ``parts``."""
        if isinstance(value, FunctionType):
            found, key = self._wrap(self.given.get(value, value))
            parts.append(f"{name}: {key}")
            return found
        if isinstance(value, ModuleType) and value.__name__.split(".")[0] not in LIBRARIES:
            module = ModuleType(value.__name__)
            for attribute in sorted(dotted & vars(value).keys()):
                setattr(
                    module,
                    attribute,
                    self._value(attribute, getattr(value, attribute), dotted, parts),
                )
            return module
        if isinstance(value, CONSTANTS):
            parts.append(f"{name} = {value.tolist() if isinstance(value, np.ndarray) else value!r}")
        return value

    def _wrap(self, function: Function) -> tuple[Any, str]:
        """The compiled form of a function that another one calls, and its key."""
        if function not in self.reached:
            if function in self._open:
                raise RuleFault(
                    f"{function.__qualname__} calls itself, which is not compiled.\nUse a loop."
                )
            self._open.add(function)
            copy, key = self.link(function)
            if (self.wrap, key) not in _wrapped:
                _wrapped[self.wrap, key] = self.wrap(copy)
            self.reached[function] = _wrapped[self.wrap, key], key
        return self.reached[function]


def _text_of(code: CodeType) -> str:
    """All that decides on what code does, without where it is written and its docstring."""
    constants = code.co_consts[1:] if isinstance(code.co_consts[0], str) else code.co_consts
    inner = [_text_of(one) if isinstance(one, CodeType) else repr(one) for one in constants]
    return repr((code.co_code, code.co_names, code.co_varnames, code.co_freevars, inner))


def _is_ours(code: CodeType) -> bool:
    """Whether code is of this package, none of which makes arrays where it is called in a loop."""
    return code.co_filename.startswith(PACKAGE)


@lru_cache(maxsize=4096)
def names_of(code: CodeType) -> tuple[tuple[str, ...], frozenset[str]]:
    """The global names in a function's code, and the names after a dot; in functions inside too."""
    codes = list(_codes_in(code))
    steps = [step for one in codes for step in get_instructions(one)]
    named = [str(step.argval) for step in steps if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")]
    return tuple(dict.fromkeys(named)), frozenset(name for one in codes for name in one.co_names)


def _codes_in(code: CodeType) -> Iterator[CodeType]:
    """The code of a function, and of the functions inside."""
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _codes_in(const)


def unchanged(function: Function) -> Function:
    """A function as it is, in plain Python."""
    return function


def inlined(function: Function) -> Function:
    """A function as compiled loops call it."""
    import numba

    compiler: Any = numba.njit  # its stubs do not know all of its options
    # A rule from outside may make arrays, which are counted.
    options = OPTIONS | {"_nrt": not _is_ours(function.__code__)}
    made: Function = compiler(forceinline=True, no_cpython_wrapper=True, **options)(function)
    return made


def compile_loop(
    function: Function, given: dict[Function, Function], name: str, *, makes_arrays: bool = False
) -> Function:
    """A loop as machine code, from memory or numba's cache on disk where it is there already."""
    import numba

    linked, key = Linker(inlined, given).link(function)
    if key not in _loops:
        # numba keeps an index of machine code per qualified name: the key in it makes each version
        # of the code an entry of its own, and no two processes write a file with other contents.
        linked.__qualname__ = re.sub(r"\W", "_", f"{name}_{key}")
        compiler: Any = numba.njit
        options = OPTIONS | {"_nrt": makes_arrays}
        compiled = compiler(cache=True, nogil=True, **options)(linked)
        is_plain = isinstance(compiled, FunctionType)  # NUMBA_DISABLE_JIT=1
        _loops[key] = _in_plain_python(compiled) if is_plain else compiled
    return _loops[key]


def _in_plain_python(function: Function) -> Function:
    """The same function, without warnings: products of 64-bit words overflow, which is meant."""

    def call(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*args)

    return call


def event_loop(algorithm: Algorithm, part: Part) -> Function:
    """The event loop of a rule and a scheme; ``loop.loop`` says what it takes."""
    return compile_loop(event.loop, of_event_loop(algorithm, part), f"event_{algorithm.name}")


def of_event_loop(algorithm: Algorithm, part: Part) -> dict[Function, Function]:
    """What the functions that the event loop names stand for."""
    return {**of_scheme(algorithm, part), passes.record: event.record}


def of_scheme(algorithm: Algorithm, part: Part) -> dict[Function, Function]:
    """What the functions of a subroutine and of a scheme stand for."""
    names = ("enter", "wake", "play", "take", "learn", "reset", "needed", "apply")
    scheme = {getattr(placeholders, name): getattr(part, name) for name in names}
    return {**of_algorithm(algorithm), **scheme}


def of_algorithm(algorithm: Algorithm) -> dict[Function, Function]:
    """What the functions of a subroutine stand for."""
    return {
        placeholders.choose: algorithm.choose,
        placeholders.observe: algorithm.observe,
        placeholders.asks: algorithm.asks,
    }


def code_key(algorithm: Algorithm) -> str:
    """A digest of a rule's code and all it calls: another one may give other results."""
    return "".join(
        Linker(unchanged).link(function)[1][:12]
        for function in (algorithm.choose, algorithm.observe, algorithm.asks)
    )
