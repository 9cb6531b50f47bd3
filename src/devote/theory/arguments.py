"""What a caller may pass: each check names the value, the rule and the remedy.

Every check returns what it was given, as the type the formulas compute with.
"""

import math
import operator
from collections.abc import Sequence


def open_unit(name: str, value: float) -> float:
    """A probability strictly between 0 and 1.

    >>> open_unit("delta", 0.05)
    0.05
    """
    if not 0.0 < value < 1.0:
        raise ValueError(
            f"{name}={value} is not strictly between 0 and 1. "
            f"Pass a probability such as {name}=0.05."
        )
    return float(value)


def unit(name: str, value: float) -> float:
    """A number above 0 and at most 1, such as epsilon or a player's probability.

    >>> unit("epsilon", 1)
    1.0
    """
    if not 0.0 < value <= 1.0:
        raise ValueError(
            f"{name}={value} is not above 0 and at most 1. Pass a number such as {name}=0.25."
        )
    return float(value)


def closed_unit(name: str, value: float) -> float:
    """A number from 0 to 1, both included.

    >>> closed_unit("x", 0)
    0.0
    """
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{name}={value} is not between 0 and 1. Pass a number from 0 to 1.")
    return float(value)


def positive(name: str, value: float) -> float:
    """A finite number above 0.

    >>> positive("a", 3)
    3.0
    """
    if not 0.0 < value < math.inf:
        raise ValueError(f"{name}={value} is not a finite number above 0. Pass one that is.")
    return float(value)


def whole(name: str, value: int, *, least: int) -> int:
    """An integer no smaller than ``least``.

    >>> whole("quorum", 28, least=1)
    28
    """
    try:
        integer = least - 1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        integer = least - 1
    if integer < least:
        raise ValueError(
            f"{name}={value!r} is not an integer of at least {least}. "
            f"Pass {name}={least} or a larger integer."
        )
    return integer


def shares(weights: Sequence[float]) -> list[float]:
    """Activation weights as probabilities that sum to one.

    Paper: Assumption 3 (all players are active).

    >>> shares([1, 3])
    [0.25, 0.75]
    """
    if len(weights) == 0:
        raise ValueError("weights is empty: there is no player. Pass one weight per player.")
    for player, weight in enumerate(weights):
        if not 0.0 < weight < math.inf:
            raise ValueError(
                f"weights[{player}]={weight} is not a finite number above 0, and a player that "
                "is never active keeps everyone waiting (Assumption 3). Leave that player out."
            )
    total = math.fsum(weights)
    return [weight / total for weight in weights]
