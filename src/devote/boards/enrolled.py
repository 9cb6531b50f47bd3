"""How many voters each experiment of a store has, without counting them all each time."""

import sqlite3
from collections import Counter


class EnrolledCount:
    """Counts the rows of the table ``enrolled``, each once; rows are only ever added.

    If the last row it knows is no longer there, an older file was put back, and it begins anew.
    """

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._counts: Counter[str] = Counter()
        self._last: tuple[int, str, str] | None = None

    def of(self, db: sqlite3.Connection, experiment: str) -> int:
        """How many are enrolled now."""
        rows = "SELECT rowid, experiment, voter FROM enrolled WHERE rowid"
        if self._last is not None:
            there = db.execute(f"{rows} = ?", self._last[:1]).fetchone()
            if there != self._last:
                self._begin()
        known = 0 if self._last is None else self._last[0]
        for row in db.execute(f"{rows} > ? ORDER BY rowid", (known,)):
            self._counts[row[1]] += 1
            self._last = row
        return self._counts[experiment]
