"""From kernels to machine code, once per (subroutine, scheme, engine) and cached on disk."""

import hashlib
import inspect
import linecache
import re
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import numpy as np

from devote.kernels import get_algorithm
from devote.kernels.jitable import JITABLE
from devote.protocol.scheme import SCHEMES
from devote.simulate.engine.clocks import make_clocks
from devote.simulate.engine.haste import in_haste
from devote.simulate.engine.loop import make_loop
from devote.simulate.engine.lowering import Compiler, hand_over_constants

RARE = {"moment_after", "place_after"}
"""Kernels outside ``windows`` that a run seldom calls."""

CONSTANTS = (int, float, tuple, np.generic)

_registered: set[Callable[..., object]] = set()


def compiled_loop(algorithm: str, scheme: str, engine: str = "event") -> Callable[..., None]:
    """The loop for a subroutine and a scheme; compiled at its first call, unless cached."""
    # By the functions too: a name may be registered again with others.
    found = get_algorithm(algorithm)
    return _compiled_loop(algorithm, scheme, engine, found.choose, found.observe)


@cache
def _compiled_loop(
    algorithm: str, scheme: str, engine: str, *functions: object
) -> Callable[..., None]:
    import numba

    compiler: Any = numba.njit  # its stubs do not know all of its options
    part = SCHEMES[scheme].engine
    assert part is not None
    parts = get_algorithm(algorithm), part
    make = make_clocks if engine == "clocks" else make_loop
    loop = make(*parts, fingerprint(make(*parts, 0)))
    # Numba keeps one index per qualified name, and two processes that write the same one lose
    # entries: each loop has a name of its own.
    loop.__qualname__ = re.sub(r"\W", "_", f"{engine}_{algorithm}_{scheme}")
    # nogil: the rows of a run on clocks are shared among threads.
    options: Any = {"nogil": True, "no_cfunc_wrapper": True, "pipeline_class": Compiler}
    # References to arrays are not counted, the caller has some: to count them at five slices per
    # pull takes ten times the work itself.
    options["_nrt"] = False
    return _compiled_once(compiler(loop, cache=True, error_model="numpy", **options))


def _compiled_once(loop: Any) -> Callable[..., None]:
    """The loop, which one process compiles while others that need it wait for the file."""
    from numba import typeof

    type_of: Any = typeof

    def call(*args: Any) -> None:
        if not loop.overloads:
            lock = Path(loop.stats.cache_path) / f"{loop.__qualname__}.lock"
            with _alone(lock), in_haste():
                loop.compile(tuple(type_of(argument) for argument in args))
                hand_over_constants()
        loop(*args)

    return call


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Hold a lock that other processes wait for; without one where there cannot be any."""
    try:
        import fcntl

        lock.parent.mkdir(parents=True, exist_ok=True)
        file = lock.open("a")
    except (ImportError, OSError):  # Windows; a folder that is read only
        yield
        return
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _register_kernels() -> None:
    """Tell numba of every function marked as compilable since the last time."""
    from numba.extending import register_jitable

    for function in JITABLE:
        if function not in _registered:
            # What is done once in a window need not be repeated at each place that calls it.
            rare = function.__module__.endswith(".windows") and function.__name__ != "copy"
            rare = rare or function.__name__ in RARE
            # They are called by compiled code alone: no wrapper for C. Ours make no arrays: no
            # counting of references, else one for each table at each call.
            ours = function.__module__.startswith("devote.")
            options: Any = {"forceinline": not rare, "no_cfunc_wrapper": True, "_nrt": not ours}
            options["pipeline_class"] = Compiler
            register_jitable(error_model="numpy", **options)(function)
            _registered.add(function)


def fingerprint(loop: Callable[..., None]) -> int:
    """A digest of the kernels and constants that a loop uses: where one changed, it differs.

    What the loop does not use is left out, so that a process finds what another has compiled
    whatever else it has imported.
    """
    _register_kernels()
    kernels: set[Any] = {loop}
    texts: set[str] = set()
    waiting: list[Any] = [loop]
    while waiting:
        for name, value in _names_in(waiting.pop()):
            if isinstance(value, CONSTANTS):
                texts.add(f"{name} = {value!r}")
                continue
            kernel = getattr(value, "py_func", value)  # a function of a GPU is wrapped already
            if (kernel is not value or kernel in _registered) and kernel not in kernels:
                kernels.add(kernel)
                waiting.append(kernel)
                texts.add(_source(kernel))
    digest = hashlib.sha256("\0".join(sorted(texts)).encode())
    return int.from_bytes(digest.digest()[:7])


@cache
def _source(function: Callable[..., object]) -> str:
    """A function's text up to its last line of code; ``inspect`` would look for its end longer."""
    code = inspect.unwrap(function).__code__
    lines = linecache.getlines(code.co_filename)
    return "".join(lines[code.co_firstlineno - 1 : _last_line(code)]) or inspect.getsource(function)


def _last_line(code: CodeType) -> int:
    inner = [_last_line(const) for const in code.co_consts if isinstance(const, CodeType)]
    return max([line for *_, line in code.co_lines() if line is not None] + inner)


def _names_in(function: Callable[..., Any]) -> list[tuple[str, Any]]:
    """What the names in a function's code mean; those after a dot, in each module it names."""
    names = inspect.getclosurevars(function)
    values = [*names.nonlocals.items(), *names.globals.items()]
    modules = [value for _, value in values if isinstance(value, ModuleType)]
    values += [(n, vars(m)[n]) for m in modules for n in names.unbound if n in vars(m)]
    values = [(n, tuple(v.tolist()) if isinstance(v, np.ndarray) else v) for n, v in values]
    return [(name, value) for name, value in values if isinstance(value, Hashable)]


def sources_digest(algorithms: Iterable[str]) -> str:
    """A digest of the code behind some subroutines: results with another one may differ.

    It covers every kernel of devote, whichever of them a run calls.
    """
    homes = {get_algorithm(name).choose.__module__ for name in algorithms}
    sources = sorted(
        _source(function)
        for function in JITABLE
        if function.__module__.startswith("devote.") or function.__module__ in homes
    )
    sources += [_source(make_loop), _source(make_clocks)]
    return hashlib.sha256("\0".join(sources).encode()).hexdigest()[:16]
