"""How many answers and devices came on each of the last days."""

from dataclasses import dataclass, field
from typing import Any

from devote.boards.board import as_date

DAY = 86_400.0
KEPT = 14
"""Days that are shown."""

SHORTEST = 600.0
"""Seconds over which a rate is measured at least."""


@dataclass
class Days:
    """How many answers and devices there were when each day began, in UTC.

    It is kept in memory only, since the server was started: a store has no times.

    >>> days = Days()
    >>> for moment, answers in ((0.0, 10), (43_200.0, 60), (86_400.0, 110)):
    ...     days.note(moment, answers, devices=2 * answers)
    >>> days.rows(), days.rate
    ([['1970-01-01', 100, 200], ['1970-01-02', 0, 0]], 100.0)
    """

    _first: dict[int, tuple[float, int, int]] = field(default_factory=dict)
    _last: tuple[float, int, int] | None = None

    def note(self, moment: float, answers: int, devices: int) -> None:
        """Note how many there are at a moment."""
        if self._last is not None and answers < self._last[1]:
            self._first.clear()  # the store was put back
        self._last = (moment, answers, devices)
        self._first.setdefault(int(moment // DAY), self._last)
        while len(self._first) > KEPT:
            del self._first[min(self._first)]

    def rows(self) -> list[list[Any]]:
        """Each day with its answers and its new devices."""
        if self._last is None:
            return []
        begins = sorted(self._first.items())
        ends = [row for _, row in begins[1:]] + [self._last]
        return [
            [as_date(day * DAY)[:10], end[1] - begin[1], end[2] - begin[2]]
            for (day, begin), end in zip(begins, ends, strict=True)
        ]

    @property
    def rate(self) -> float | None:
        """Answers per day, over the last days; None while nothing can be said."""
        if self._last is None:
            return None
        begins = [row for row in self._first.values() if row[0] >= self._last[0] - 7 * DAY]
        span = self._last[0] - begins[0][0] if begins else 0.0
        if span < SHORTEST or self._last[1] <= begins[0][1]:
            return None
        return (self._last[1] - begins[0][1]) * DAY / span
