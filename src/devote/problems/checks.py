"""Which numbers a problem may hold: each check returns the plain number or says why not."""

import math
import operator
from typing import Any

from devote.problems.errors import ProblemError


def finite(value: Any, what: str) -> float:
    """A finite float."""
    if isinstance(value, str) or not hasattr(value, "__float__"):
        raise ProblemError(f"{what}={value!r} is not a number.\nGive a finite number.")
    number = float(value)
    if not math.isfinite(number):
        raise ProblemError(f"{what}={number!r} is not finite.\nGive a finite number.")
    return number


def unit(value: Any, what: str) -> float:
    """A float in [0, 1].

    Paper: section 2, rewards are bounded in [0, 1].
    """
    number = finite(value, what)
    if not 0.0 <= number <= 1.0:
        raise ProblemError(
            f"{what}={number!r} is outside [0, 1], where rewards and their means lie.\n"
            "Rescale the rewards to [0, 1]."
        )
    return number


def units(values: Any, what: str, *, length: int | None = None) -> tuple[float, ...]:
    """Floats in [0, 1], as many as there are arms."""
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise ProblemError(f"{what}={values!r} is not a row of numbers.\nGive one value per arm.")
    numbers = tuple(unit(value, f"{what}[{k}]") for k, value in enumerate(values))
    if length is not None and len(numbers) != length:
        raise ProblemError(
            f"{what} has {len(numbers)} values for {length} arms.\nGive one value per arm."
        )
    return numbers


def open_unit(value: Any, what: str) -> float:
    """A float strictly between 0 and 1."""
    number = finite(value, what)
    if not 0.0 < number < 1.0:
        raise ProblemError(
            f"{what}={number!r} is not strictly between 0 and 1.\nTake a value such as 0.5."
        )
    return number


def whole(value: Any, what: str) -> int:
    """An int at least 0."""
    try:
        number = operator.index(value)
    except TypeError:
        raise ProblemError(f"{what}={value!r} is not an integer.\nGive an integer.") from None
    if number < 0:
        raise ProblemError(f"{what}={number} is negative.\nGive 0 or more.")
    return number


def player_count(value: Any) -> int:
    """A number of players, at least 1."""
    number = whole(value, "n_players")
    if number == 0:
        raise ProblemError("n_players=0: nobody would ever wake.\nUse at least 1 player.")
    return number
