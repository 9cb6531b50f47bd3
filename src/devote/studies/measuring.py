"""Measurements that several studies make: how algorithms compare, number by number."""

from collections.abc import Callable, Iterable

from devote.studies.estimates import Estimate, ratio
from devote.studies.table import Table
from devote.studies.variants import RADIUS_FORMS, SUBROUTINES, Variant
from devote.studies.verdicts import Case, Range

CLEARLY = 1.05
"""One algorithm clearly outperforms another if the other needs 5 % more samples, or worse."""

Line = tuple[Variant, str, str]
"""A curve: subroutine, scheme, problem."""

Measure = Callable[[Variant], tuple[Estimate, ...]]


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


def by_subroutine(measure: Measure, asked: Range, reading: str = "") -> tuple[Case, ...]:
    """A case for each subroutine that a sentence about both SER3 and UGapEc is checked with."""
    return tuple(Case(name, measure(v), asked, v.form, reading) for name, v in SUBROUTINES.items())


def by_form(measure: Measure, asked: Range, reading: str = "", label: str = "") -> tuple[Case, ...]:
    """A case for each form of SER3's radius."""
    return tuple(
        Case(f"{label}{form}", measure(v), asked, form, reading) for form, v in RADIUS_FORMS.items()
    )
