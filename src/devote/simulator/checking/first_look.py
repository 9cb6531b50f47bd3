"""The quick part of ``check_algorithm``, made once of each rule from outside before it is run."""

from random import Random

from devote.rules import Algorithm
from devote.simulator.checking.play import check_play

_passed: set[tuple[object, object]] = set()
"""The code of the rules that have passed."""


def check_first(algorithm: Algorithm) -> None:
    """Play some hundred pulls on watched buffers: compiled code checks neither index nor count.

    Rules of this package are left out, and so is code that has passed before.
    """
    code = algorithm.choose.__code__, algorithm.observe.__code__
    if algorithm.observe.__module__.startswith("devote.") or code in _passed:
        return
    for n_arms in (2, 5):
        check_play(algorithm, n_arms, Random(n_arms))
    _passed.add(code)
