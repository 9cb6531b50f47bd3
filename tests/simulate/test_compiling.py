"""What a compiled loop is kept for: the same code and constants, whatever else is imported."""

import pytest

from devote.kernels import jitable, tables, ugapec
from devote.kernels.jitable import JITABLE
from devote.kernels.registry import ALGORITHMS
from devote.kernels.state import best_mean
from devote.schemes import SCHEMES
from devote.simulate.engine import compiling
from devote.simulate.engine.loop import make_loop


def fingerprint(algorithm="ugapec", scheme="jury"):
    compiling._register_kernels()
    loop = make_loop(ALGORITHMS[algorithm], SCHEMES[scheme].engine, 0)
    return compiling._fingerprint(loop)


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
    ("module", "name", "value"),
    [
        (ugapec, "C", 0.6),
        (ugapec, "mean", best_mean),
        (tables, "DECIDED", 15),  # which an engine reads after a dot
    ],
)
def test_another_constant_or_function_under_a_name_in_the_code_is_noticed(
    monkeypatch, module, name, value
):
    before = fingerprint()
    monkeypatch.setattr(module, name, value)
    assert fingerprint() != before
