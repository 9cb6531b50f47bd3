"""Measurements that several experiments make: how algorithms compare, number by number."""

from collections.abc import Callable, Iterable

from devote.studies.estimates import Estimate, ratio
from devote.studies.table import Table
from devote.studies.variants import Variant

CLEARLY = 1.05
"""One algorithm clearly outperforms another if the other needs 5 % more samples, or worse."""

Point = tuple[Variant, str, str]
"""A curve: subroutine, protocol, problem."""


def at_each(
    players: Iterable[int], measure: Callable[..., Estimate], *what: object
) -> tuple[Estimate, ...]:
    """``measure(*what, n)`` for each number of players."""
    return tuple(measure(*what, n).located(f"N = {n}") for n in players)


def compared(
    players: Iterable[int], table: Table, above: Point, below: Point
) -> tuple[Estimate, ...]:
    """The samples of one curve relative to another's, at each number of players."""
    return at_each(
        players,
        lambda n: ratio(table.samples(*above, n), table.samples(*below, n)),
    )
