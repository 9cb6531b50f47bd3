"""What a compiled loop is kept for: the same code and constants, whatever else is imported."""

import operator
import subprocess
import sys
import threading

import numba
import numpy as np
import pytest
from numba.core.compiler import Flags
from numba.core.targetconfig import ConfigStack
from tests.kernels.compiled import compiled

from devote.kernels import jitable, tables, ugapec
from devote.kernels.jitable import JITABLE
from devote.kernels.registry import ALGORITHMS
from devote.kernels.state import best_mean
from devote.schemes import SCHEMES
from devote.simulate.engine import compiling, haste, numbers, windows
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


def test_a_loop_is_run_without_scipys_linear_algebra_which_others_still_have():
    """To import it takes as long as all else that a worker needs to load a loop."""
    code = """
import sys
from devote.simulate.engine.run import Twister
Twister(1, 2, "wake").random(3)
assert "scipy.linalg" not in sys.modules
from numba.np import arraymath, linalg
assert arraymath._HAVE_BLAS
for module in (arraymath, linalg):
    module.ensure_blas()
assert "scipy.linalg.cython_blas" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_how_a_call_is_made_is_asked_once_for_each_set_of_flags(monkeypatch):
    asked = []

    def ask(*question):
        asked.append(question)
        return find(*question)

    find = haste._find_call
    monkeypatch.setattr(haste, "_find_call", ask)
    monkeypatch.setattr(haste, "_calls", [])
    context = haste.target.typing_context
    context.refresh()
    index = context.resolve_value_type(operator.getitem)

    def found(flags, dtype):
        with ConfigStack().enter(flags):
            call = haste._remembered_call(index, context, (dtype[::1], numba.int64), {})
        return call, index.get_impl_key(call)

    quick, careful = Flags(), Flags()
    careful.boundscheck = True
    for flags in (quick, careful):
        for dtype in (numba.float64, numba.int8):
            first, *others = [found(flags.copy(), dtype) for _ in range(3)]
            assert others == [first, first]
            assert first[0].return_type == dtype
    assert len(asked) == 4


def test_variables_keep_their_values_through_branches_and_loops():
    """Compiled, most need no place in memory; those that several places assign do."""

    def wander(words, out):
        last, seen = -1, 0
        for i in range(len(words)):
            word = words[i]
            if word > 2:
                if seen == 0:
                    continue
                double = 2 * word
                last = double + seen
            else:
                seen, double = seen + 1, word
            for j in range(word):
                if j + double > 5:
                    break
                last += j
            out[i] = last * 100 + seen * 10 + double
        out[-1] = last

    quick = compiled(wander)
    rng = np.random.default_rng(1)
    for _ in range(50):
        words = rng.integers(0, 6, 12)
        expected, found = np.zeros((2, 13), np.int64)
        wander(words, expected)
        quick(words, found)
        assert found.tolist() == expected.tolist()
