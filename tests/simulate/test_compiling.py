"""What a compiled loop is kept for: the same code and constants, whatever else is imported."""

import threading

import numpy as np
import pytest

from devote.kernels import jitable, tables, ugapec
from devote.kernels.jitable import JITABLE
from devote.kernels.registry import ALGORITHMS
from devote.kernels.state import best_mean
from devote.schemes import SCHEMES
from devote.simulate.engine import compiling, numbers, windows
from devote.simulate.engine.clocks import make_clocks
from devote.simulate.engine.loop import make_loop


def fingerprint(algorithm="ugapec", scheme="jury", make=make_loop):
    compiling._register_kernels()
    loop = make(ALGORITHMS[algorithm], SCHEMES[scheme].engine, 0)
    return compiling.fingerprint(loop)


def test_each_subroutine_and_scheme_has_its_own_fingerprint():
    engines = [name for name, scheme in SCHEMES.items() if scheme.engine is not None]
    pairs = [(algorithm, scheme) for algorithm in ALGORITHMS for scheme in engines]
    assert len({fingerprint(*pair) for pair in pairs}) == len(pairs)


def test_a_kernel_that_a_loop_does_not_call_changes_nothing():
    before = fingerprint()

    @jitable
    def stranger(x):
        return x

    assert fingerprint() == before
    JITABLE.remove(stranger)


@pytest.mark.parametrize(
    ("make", "module", "name", "value"),
    [
        (make_loop, ugapec, "C", 0.6),
        (make_loop, ugapec, "mean", best_mean),
        (make_loop, tables, "DECIDED", 15),  # which an engine reads after a dot
        (make_clocks, ugapec, "C", 0.6),
        (make_clocks, windows, "FEW_LOUD", 8.0),
        (make_clocks, numbers, "GOLDEN", np.uint64(3)),
        (make_clocks, numbers, "UP_TO", np.nextafter(numbers.UP_TO, 0.0)),
    ],
)
def test_another_constant_or_function_under_a_name_in_the_code_is_noticed(
    monkeypatch, make, module, name, value
):
    before = fingerprint(make=make)
    monkeypatch.setattr(module, name, value)
    assert fingerprint(make=make) != before


def test_who_compiles_a_loop_is_waited_for(tmp_path):
    done = threading.Event()

    def other():
        with compiling._alone(tmp_path / "new" / "loop.lock"):
            done.set()

    with compiling._alone(tmp_path / "new" / "loop.lock"):
        waiting = threading.Thread(target=other)
        waiting.start()
        assert not done.wait(0.05)
    waiting.join(10)
    assert done.is_set()


def test_where_no_lock_can_be_held_a_loop_is_compiled_all_the_same(tmp_path):
    (tmp_path / "file").touch()
    with compiling._alone(tmp_path / "file" / "loop.lock"):
        pass


def test_what_was_compiled_first_is_loaded_later_and_each_loop_has_an_index_of_its_own(
    tmp_path, monkeypatch
):
    """With one index for all, two processes that write it at once lose entries."""
    import numba

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))

    def twice(x, out):
        out[0] = 2 * x

    loops = []
    for name in ("one", "one", "two"):
        twice.__qualname__ = name
        loops.append(numba.njit(twice, cache=True))
        out = np.zeros(1)
        compiling._compiled_once(loops[-1])(2, out)
        assert out[0] == 4
    assert [sum(loop.stats.cache_misses.values()) for loop in loops] == [1, 0, 1]
    assert len([*tmp_path.rglob("*.nbi")]) == 2


def test_what_a_kernel_raises_reaches_the_caller(tmp_path, monkeypatch):
    """Functions have no machine code of their own; the loop must find their constants."""
    import numba

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))

    @jitable
    def refuse(x):
        if x > 1:
            raise ValueError("too large", x)
        return x

    compiling._register_kernels()
    JITABLE.remove(refuse)

    def loop(x, out):
        out[0] = refuse(x)

    compiled = compiling._compiled_once(numba.njit(loop, cache=True))
    compiled(1, np.zeros(1))
    with pytest.raises(ValueError, match=r"too large.*2"):
        compiled(2, np.zeros(1))


def test_linear_algebra_that_users_compile_is_left_as_it_was():
    """Only the look for SciPy when numba is first used is spared."""
    from numba.np import arraymath, linalg

    assert arraymath._HAVE_BLAS
    assert arraymath.ensure_blas is linalg.ensure_blas
    assert linalg.ensure_blas.__module__ == "numba.np.linalg"
