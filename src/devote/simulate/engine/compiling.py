"""From kernels to machine code, once per (subroutine, scheme) and cached on disk."""

import hashlib
import inspect
from collections.abc import Callable, Iterable
from functools import cache

from devote.kernels import get_algorithm
from devote.kernels.jitable import JITABLE
from devote.protocol.scheme import SCHEMES
from devote.simulate.engine.clocks import make_clocks
from devote.simulate.engine.loop import make_loop

_registered: set[Callable[..., object]] = set()


@cache
def compiled_loop(algorithm: str, scheme: str, engine: str = "event") -> Callable[..., None]:
    """The loop for a subroutine and a scheme; compiled at its first call, unless cached."""
    import numba

    _register_kernels()
    part = SCHEMES[scheme].engine
    assert part is not None
    make = make_clocks if engine == "clocks" else make_loop
    loop = make(get_algorithm(algorithm), part, fingerprint())
    # nogil: the rows of a run on clocks are shared among threads.
    compiled: Callable[..., None] = numba.njit(loop, cache=True, error_model="numpy", nogil=True)
    return compiled


def _register_kernels() -> None:
    """Tell numba of every function marked as compilable since the last time."""
    from numba.extending import register_jitable

    for function in JITABLE:
        if function not in _registered:
            # What is done once in a window need not be repeated at each place that calls it.
            rare = function.__module__.endswith(".windows") and function.__name__ != "copy"
            register_jitable(forceinline=not rare, error_model="numpy")(function)
            _registered.add(function)


def fingerprint() -> int:
    """A digest of the sources of all kernels, so that a changed one is compiled anew."""
    digest = hashlib.sha256()
    for function in JITABLE:
        digest.update(inspect.getsource(function).encode())
    return int.from_bytes(digest.digest()[:7])


def sources_digest(algorithms: Iterable[str]) -> str:
    """A digest of the code behind some subroutines: results with another one may differ.

    Unlike the key of the cache it ignores whatever else happens to be imported.
    """
    homes = {get_algorithm(name).choose.__module__ for name in algorithms}
    sources = sorted(
        inspect.getsource(function)
        for function in JITABLE
        if function.__module__.startswith("devote.") or function.__module__ in homes
    )
    sources += [inspect.getsource(make_loop), inspect.getsource(make_clocks)]
    return hashlib.sha256("\0".join(sources).encode()).hexdigest()[:16]
