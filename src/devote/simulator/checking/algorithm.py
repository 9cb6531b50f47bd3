"""Is a subroutine one? Everything that the engine and devices rely on, checked in seconds.

In the manner of scikit-learn's ``check_estimator``: the first fault is raised, with the file and
line that it comes from and what to do about it. A rule plays random problems on buffers that
watch every access, loses arms from outside meanwhile, and must do the same on lists, on arrays
and compiled.
"""

from random import Random

from devote.rules import Algorithm, get_algorithm, import_rules
from devote.rules.registry import AlgorithmError
from devote.simulator.checking.functions import check_functions
from devote.simulator.checking.play import check_last_arm, check_play, check_votes
from devote.simulator.checking.twins import check_arrays, check_compiled

SIZES = (2, 3, 6)
SEEDS = 4


def check_algorithm(algorithm: Algorithm | str, *, compiled: bool = True) -> None:
    """Raise ``AlgorithmFault`` at the first fault of a subroutine; return if there is none.

    Give an ``Algorithm``, the name of a registered one, or a file that ends in .py and has one
    as ``ALGORITHM``. ``compiled=False`` leaves out the last check, which compiles it.

    >>> check_algorithm("ser3", compiled=False)
    """
    if isinstance(algorithm, str) and algorithm.endswith(".py"):
        algorithm = import_rules(algorithm).ALGORITHM
    found = get_algorithm(algorithm) if isinstance(algorithm, str) else algorithm
    if not isinstance(found, Algorithm):
        raise AlgorithmError(f"{found!r} is not an Algorithm.\nMake one: Algorithm(name=..., ...).")
    check_functions(found)
    for n_arms in SIZES:
        for seed in range(SEEDS):
            check_play(found, n_arms, Random(f"{seed}/{n_arms}"))
    check_last_arm(found)
    check_votes(found)
    check_arrays(found, SIZES)
    if compiled:
        check_compiled(found)
