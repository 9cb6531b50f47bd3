"""How many voters each experiment of a store has, without counting them all each time."""

import sqlite3


class EnrolledCount:
    """Counts the rows of the table ``enrolled`` once, and then those that are added here.

    They are counted anew when another process has written to the file, or another file was put in
    its place.
    """

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._version: int | None = None

    def of(self, db: sqlite3.Connection, experiment: str) -> int:
        """How many are enrolled now."""
        (version,) = db.execute("PRAGMA data_version").fetchone()
        if version != self._version:
            self._version = version
            self._counts.clear()
        if experiment not in self._counts:
            query = "SELECT count(*) FROM enrolled WHERE experiment = ?"
            (self._counts[experiment],) = db.execute(query, (experiment,)).fetchone()
        return self._counts[experiment]

    def forget(self) -> None:
        """Count anew: rows were added, taken away, or perhaps not."""
        self._counts.clear()

    def add(self, experiment: str) -> None:
        """Count one that this process has added."""
        if experiment in self._counts:
            self._counts[experiment] += 1
