"""The subroutines there are, by name."""

import difflib

from devote.kernels.algorithm import Algorithm

ALGORITHMS: dict[str, Algorithm] = {}


def register(algorithm: Algorithm, *, replace: bool = False) -> Algorithm:
    """Make a subroutine known by its name; registering the same one again changes nothing."""
    known = ALGORITHMS.get(algorithm.name)
    if known is not None and known is not algorithm and not replace:
        raise ValueError(
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
    try:
        return ALGORITHMS[name]
    except (KeyError, TypeError):
        near = difflib.get_close_matches(str(name), ALGORITHMS, n=1, cutoff=0.4)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        raise ValueError(
            f"algorithm={name!r} is not known.\n{hint}Use one of: {', '.join(ALGORITHMS)}."
        ) from None
