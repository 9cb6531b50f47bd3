"""Measurements that several studies make: how algorithms compare, number by number."""

from collections.abc import Callable, Iterable, Mapping

from devote.studies.claim import Case, Range
from devote.studies.estimates import Estimate, ratio
from devote.studies.study import Table
from devote.studies.variants import Variant

CLEARLY = 1.05
"""One algorithm clearly outperforms another if the other needs 5 % more samples, or worse."""

Line = tuple[Variant, str, str]
"""A curve: subroutine, scheme, problem."""


def at_each(
    players: Iterable[int], measure: Callable[..., Estimate], *what: object
) -> tuple[Estimate, ...]:
    """``measure(*what, n)`` for each number of players."""
    return tuple(measure(*what, n).located(f"N = {n}") for n in players)


def compared(
    table: Table, above: Line, below: Line, players: Iterable[int] | None = None
) -> tuple[Estimate, ...]:
    """The samples of one curve relative to another's, at each number of players."""
    return at_each(
        table.players if players is None else players,
        lambda n: ratio(table.samples(*above, n), table.samples(*below, n)),
    )


def cases_for(
    variants: Mapping[str, Variant],
    measure: Callable[[Variant], tuple[Estimate, ...]],
    asked: Range,
    *,
    reading: str = "",
    label: str = "",
) -> tuple[Case, ...]:
    """A case for each variant: ``SUBROUTINES``, or ``RADIUS_FORMS`` for SER3 alone."""
    return tuple(
        Case(f"{label}{name}", measure(variant), asked, variant.form, reading)
        for name, variant in variants.items()
    )
