"""What a subroutine's module hands to the rest of the project."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from devote.errors import DevoteError, did_you_mean
from devote.rules.state import NEXT, Rule, State, in_turn, is_alive, start


@dataclass(frozen=True)
class Algorithm:
    """One ArmSelection subroutine: its two functions, the memory it needs, its options.

    ``options`` maps an option's name to its allowed words, of which the first is the default, or to
    its default, a number above 0. A subroutine finds the values in ``rule.options``, in this order;
    a word is given by its position. ``endless`` subroutines never stop by themselves and need a
    horizon.

    ``asks(rule, state, arm)`` says whether the subroutine wants further rewards of an arm now: by
    default of every remaining arm. Where somebody else draws the arms, as in a survey, they are
    drawn among these. ``tolerates_liars``: it keeps its promise although up to ``Rule.liars``
    rewards are lies. ``most_arms``: the most arms for which its memory is reasonable.

    Paper: Definition 4.
    """

    name: str
    summary: str
    source: str
    choose: Callable[[Rule, State, float], int]
    observe: Callable[..., int]
    asks: Callable[[Rule, State, int], bool] = is_alive
    n_ints: Callable[[int], int] = lambda n_arms: 1
    n_floats: int = 0
    options: Mapping[str, tuple[str, ...] | float] = field(default_factory=dict)
    endless: bool = False
    tolerates_liars: bool = False
    most_arms: int | None = None

    def rule(
        self,
        *,
        n_arms: int,
        epsilon: float,
        eta: float,
        options: Mapping[str, str | float] | None = None,
        liars: int = 0,
    ) -> Rule:
        """The constants of a run, with options as the numbers that the rule reads."""
        given = options or {}
        values = []
        for name, allowed in self.options.items():
            value: Any = given.get(name, self.default(name))
            values.append(float(allowed.index(value) if isinstance(allowed, tuple) else value))
        return Rule(n_arms, float(epsilon), float(eta), tuple(values), liars)

    def default(self, option: str) -> str | float:
        """The value of an option that is not given."""
        allowed = self.options[option]
        return allowed[0] if isinstance(allowed, tuple) else allowed

    def new_state(self, n_arms: int) -> State:
        """A fresh state in plain lists."""
        state = State(
            alive=[0] * n_arms,
            pulls=[0] * n_arms,
            sums=[0.0] * n_arms,
            ints=[0] * self.n_ints(n_arms),
            floats=[0.0] * self.n_floats,
        )
        start(state)
        return state


def choose_in_turn(rule: Rule, state: State, u: float) -> int:
    """Round robin."""
    return in_turn(state)


round_robin = partial(Algorithm, choose=choose_in_turn, n_ints=lambda n_arms: NEXT + 1)
"""An algorithm that plays the remaining arms in turn, adds up rewards, and keeps no other word."""


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
