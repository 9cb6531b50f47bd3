"""The subroutines there are, by name."""

from devote.errors import DevoteError, did_you_mean
from devote.rules.algorithm import Algorithm


class AlgorithmError(DevoteError, ValueError):
    """A subroutine that is not known, or known already."""


ALGORITHMS: dict[str, Algorithm] = {}


def register(algorithm: Algorithm, *, replace: bool = False) -> Algorithm:
    """Make a subroutine known by its name; registering the same one again changes nothing."""
    known = ALGORITHMS.get(algorithm.name)
    if known is not None and known is not algorithm and not replace:
        raise AlgorithmError(
            f"algorithm={algorithm.name!r} is registered already.\n"
            "Give yours another name, or pass replace=True."
        )
    ALGORITHMS[algorithm.name] = algorithm
    return algorithm


def get_algorithm(name: str) -> Algorithm:
    """The subroutine of that name.

    >>> get_algorithm("ser3").name
    'ser3'
    """
    if isinstance(name, str) and name not in ALGORITHMS:
        from devote.rules.outside import load_entry_points

        load_entry_points()
    try:
        return ALGORITHMS[name]
    except (KeyError, TypeError):
        raise AlgorithmError(
            f"algorithm={name!r} is not known.\n{did_you_mean(name, ALGORITHMS)}"
            f"Use one of: {', '.join(ALGORITHMS)}; or import yours first (--import my_rule.py)."
        ) from None
