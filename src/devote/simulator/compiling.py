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
from contextlib import contextmanager
from dis import get_instructions
from functools import cache, lru_cache
from pathlib import Path
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from devote.rules import Algorithm
from devote.simulator import loop as event
from devote.simulator import passes
from devote.simulator.errors import RuleFault
from devote.simulator.parts import Part

OPTIONS = {
    # No counts of references to arrays, which the caller holds: they cost more than the pulls.
    "_nrt": False,
    "no_cfunc_wrapper": True,
    "error_model": "numpy",
}

CONSTANTS = (bool, int, float, str, tuple, np.generic, np.ndarray)
LIBRARIES = ("math", "numpy", "numba", "numba_cuda")

Function = Callable[..., Any]


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
        self._linked: dict[Function, tuple[Any, str]] = {}
        self._open: set[Function] = set()

    def link(self, function: Function) -> tuple[Function, str]:
        """A copy whose names mean compiled functions, not wrapped itself; and its key."""
        assert isinstance(function, FunctionType)
        code = function.__code__
        parts = [_text_of(code), str(_is_ours(function))]
        names, dotted = names_of(code)
        namespace: dict[str, Any] = {"__builtins__": __builtins__, "__name__": function.__module__}
        for name in names:
            if name in function.__globals__:
                namespace[name] = self._value(name, function.__globals__[name], dotted, parts)
        cells = tuple(
            CellType(self._value(name, cell.cell_contents, dotted, parts))
            for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True)
        )
        copy = FunctionType(code, namespace, function.__name__, function.__defaults__, cells)
        copy.__kwdefaults__ = function.__kwdefaults__
        copy.__qualname__ = function.__qualname__
        # numba's cache refers to the types of arguments by their modules.
        says = function.__defaults__, function.__kwdefaults__, function.__annotations__
        parts.append(repr(says))
        return copy, hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]

    def _value(self, name: str, value: Any, dotted: frozenset[str], parts: list[str]) -> Any:
        """What a name stands for in a copy; what that depends on is added to ``parts``."""
        if isinstance(value, FunctionType):
            wrapped, key = self._wrapped(self.given.get(value, value))
            parts.append(f"{name}: {key}")
            return wrapped
        if isinstance(value, ModuleType) and value.__name__.split(".")[0] not in LIBRARIES:
            module = ModuleType(value.__name__)
            for attribute in sorted(dotted & vars(value).keys()):
                found = self._value(attribute, getattr(value, attribute), dotted, parts)
                setattr(module, attribute, found)
            return module
        if isinstance(value, CONSTANTS):
            plain = value.tolist() if isinstance(value, np.ndarray) else value
            parts.append(f"{name} = {plain!r}")
        return value

    def _wrapped(self, function: Function) -> tuple[Any, str]:
        """The compiled form of a function that another one calls, and its key."""
        if function not in self._linked:
            if function in self._open:
                raise RuleFault(
                    f"{function.__qualname__} calls itself, which is not compiled.\nUse a loop."
                )
            self._open.add(function)
            copy, key = self.link(function)
            # Loops have many functions in common: each is compiled once in a process.
            self._linked[function] = _known.setdefault((self.wrap, key), self.wrap(copy)), key
        return self._linked[function]


_known: dict[tuple[Function, str], Any] = {}
"""Compiled functions by their key."""


def _text_of(code: CodeType) -> str:
    """All that decides on what code does, without where it is written and its docstring."""
    constants = code.co_consts[1 if code.co_consts and _is_doc(code) else 0 :]
    inner = [_text_of(one) if isinstance(one, CodeType) else repr(one) for one in constants]
    return repr((code.co_code, code.co_names, code.co_varnames, code.co_freevars, inner))


def _is_ours(function: Function) -> bool:
    """Whether a function is of this package, none of which makes arrays."""
    return function.__module__.startswith("devote.")


def _is_doc(code: CodeType) -> bool:
    """Whether the first constant may be a docstring, which changes nothing."""
    return isinstance(code.co_consts[0], str)


@lru_cache(maxsize=4096)
def names_of(code: CodeType) -> tuple[tuple[str, ...], frozenset[str]]:
    """The global names in a function's code, and the names after a dot; in functions inside too."""
    steps = list(get_instructions(code))
    named = [str(step.argval) for step in steps if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")]
    dotted = {str(step.argval) for step in steps if step.opname in ("LOAD_ATTR", "LOAD_METHOD")}
    for const in code.co_consts:
        if isinstance(const, CodeType):
            inner, after_dots = names_of(const)
            named += inner
            dotted |= after_dots
    return tuple(dict.fromkeys(named)), frozenset(dotted)


def unchanged(function: Function) -> Function:
    """A function as it is, in plain Python."""
    return function


def inlined(function: Function) -> Function:
    """A function as compiled loops call it."""
    import numba

    compiler: Any = numba.njit  # its stubs do not know all of its options
    options = OPTIONS | {"_nrt": not _is_ours(function)}  # a rule from outside may make arrays
    made: Function = compiler(forceinline=True, no_cpython_wrapper=True, **options)(function)
    return made


def compile_loop(
    function: Function, given: dict[Function, Function], name: str, *, makes_arrays: bool = False
) -> Function:
    """A loop in machine code: compiled at its first call, unless it is kept on disk."""
    linked = _Same(*Linker(inlined, given).link(function))
    return _compiled(linked, re.sub(r"\W", "_", name), makes_arrays)


class _Same:
    """A linked function, equal to all others of the same key."""

    def __init__(self, function: Function, key: str) -> None:
        self.function, self.key = function, key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@cache
def _compiled(linked: _Same, name: str, makes_arrays: bool) -> Function:
    import numba

    # numba keeps an index of machine code per qualified name: the key in it makes each version of
    # the code an entry of its own, and no two processes write the same file with other contents.
    linked.function.__qualname__ = f"{name}_{linked.key}"
    compiler: Any = numba.njit
    options = OPTIONS | {"_nrt": makes_arrays}
    compiled: Any = compiler(cache=True, nogil=True, **options)(linked.function)
    if not hasattr(compiled, "overloads"):  # NUMBA_DISABLE_JIT=1
        return _in_plain_python(compiled)

    def call(*args: Any) -> Any:
        if not compiled.overloads:
            with _locked(Path(compiled.stats.cache_path) / f"{linked.key}.lock"):
                return compiled(*args)
        return compiled(*args)

    return call


def _in_plain_python(function: Function) -> Function:
    """The same function; in Python records need a view of their own to have attributes.

    Products of 64-bit words overflow, which is meant.
    """

    def view(value: Any) -> Any:
        if isinstance(value, np.ndarray) and value.dtype.names:
            return value.view(np.recarray)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*map(view, value))
        return value

    def call(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*map(view, args))

    return call


@contextmanager
def _locked(lock: Path) -> Iterator[None]:
    """Let one process compile while others that need the same code wait for it.

    Does nothing where files cannot be locked: then several compile the same.
    """
    try:
        import fcntl

        lock.parent.mkdir(parents=True, exist_ok=True)
        file = lock.open("a")
    except (ImportError, OSError):
        yield
        return
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def event_loop(algorithm: Algorithm, part: Part) -> Function:
    """The event loop of a rule and a scheme; ``loop.loop`` says what it takes."""
    return compile_loop(event.loop, of_event_loop(algorithm, part), f"event_{algorithm.name}")


def of_event_loop(algorithm: Algorithm, part: Part) -> dict[Function, Function]:
    """What the placeholders of ``loop`` stand for."""
    return {
        event.choose: algorithm.choose,
        event.observe: algorithm.observe,
        event.asks: algorithm.asks,
        event.enter: part.enter,
        event.wake: part.wake,
        event.play: part.choose,
        event.take: part.observe,
        event.learn: part.learn,
        event.reset: part.reset,
        event.needed: part.needed,
        event.apply: part.apply,
        passes.record: event.record,
    }


def code_key(algorithm: Algorithm) -> str:
    """A digest of a rule's code and all it calls: another one may give other results."""
    return "".join(
        Linker(unchanged).link(function)[1][:12]
        for function in (algorithm.choose, algorithm.observe, algorithm.asks)
    )
