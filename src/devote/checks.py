"""What a number must be: one set of checks for all layers, each raising its layer's own error.

Every check returns the plain number, so that a value can be checked and kept in one line.
"""

import math
import operator
from collections.abc import Iterable
from typing import Any

from devote.errors import DevoteError


class Checks:
    """The checks of one layer; ``error`` is what they raise.

    >>> Checks(DevoteError).whole("trials", 3, least=1)
    3
    """

    def __init__(self, error: type[DevoteError]) -> None:
        self._error = error

    def number(self, name: str, value: Any, remedy: str = "") -> float:
        """A finite number."""
        if isinstance(value, str | bool) or not hasattr(value, "__float__"):
            raise self._bad(name, value, "a number", remedy)
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise self._bad(name, value, "finite", remedy)
        return number

    def unit(self, name: str, value: Any, remedy: str = "") -> float:
        """A number from 0 to 1, both included: a reward or a mean."""
        number = self.number(name, value, remedy)
        if not 0.0 <= number <= 1.0:
            raise self._bad(name, value, "in [0, 1]", remedy)
        return number

    def probability(self, name: str, value: Any, remedy: str = "") -> float:
        """A number strictly between 0 and 1."""
        number = self.number(name, value, remedy)
        if not 0.0 < number < 1.0:
            raise self._bad(name, value, "in (0, 1)", remedy)
        return number

    def fraction(self, name: str, value: Any, remedy: str = "") -> float:
        """A number above 0 and at most 1: epsilon, or a share of the players."""
        number = self.number(name, value, remedy)
        if not 0.0 < number <= 1.0:
            raise self._bad(name, value, "in (0, 1]", remedy)
        return number

    def positive(self, name: str, value: Any, remedy: str = "") -> float:
        """A finite number above 0."""
        number = self.number(name, value, remedy)
        if number <= 0.0:
            raise self._bad(name, value, "above 0", remedy)
        return number

    def whole(self, name: str, value: Any, *, least: int = 0, remedy: str = "") -> int:
        """An integer no smaller than ``least``; ``True`` and ``1.0`` are none."""
        try:
            number = least - 1 if isinstance(value, bool) else operator.index(value)
        except TypeError:
            number = least - 1
        if number < least:
            raise self._bad(name, value, f"a whole number, {least} or more", remedy)
        return number

    def units(self, name: str, values: Any, *, length: int | None = None) -> tuple[float, ...]:
        """Numbers from 0 to 1, one per arm."""
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise self._bad(name, values, "a row of numbers", "Give one value per arm.")
        remedy = "Rescale the values to [0, 1]."
        numbers = tuple(self.unit(f"{name}[{k}]", value, remedy) for k, value in enumerate(values))
        if length is not None and len(numbers) != length:
            raise self._error(
                f"{name} has {len(numbers)} values for {length} arms.\nGive one value per arm."
            )
        return numbers

    def _bad(self, name: str, value: object, rule: str, remedy: str) -> DevoteError:
        return self._error(f"{name}={value!r} must be {rule}.\n{remedy or 'Give such a value.'}")
