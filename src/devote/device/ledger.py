"""Whether a user's devices take part at all: decided here, before anything is sent.

One SQLite file beside the stores of a folder. It holds a secret, by which ``traffic`` is decided:
a number that is uniform over users and independent from experiment to experiment, so what is
joined tells nothing of what else is. And it holds one row for each experiment that a user has
joined with an ``exclusive`` group or a privacy ``budget``, written before the device enrols: a
crash in between can only count too much. Rows stay when a store is deleted, because what was sent
cannot be taken back: a new store in the same experiment, with a new key, is counted beside it.
Users are named as their stores are, by a hash: whoever guesses a user's name can check it.
"""

import hmac
import math
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from devote.boards.database import Database, Layout
from devote.device.errors import DeviceError, StaysOut

LAYOUT = Layout(
    what="ledger of devices",
    application=0x64766C67,  # dvlg
    version=1,
    tables="""
CREATE TABLE secret (id INTEGER PRIMARY KEY CHECK (id = 1), secret BLOB NOT NULL);
CREATE TABLE joined (
    voter TEXT PRIMARY KEY,
    user TEXT NOT NULL,
    experiment TEXT NOT NULL,
    exclusive TEXT,
    privacy REAL NOT NULL
)
""",
)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What an app sets for the devices of a user.

    ``traffic``: the share of users that take part. ``exclusive``: a group of experiments of which a
    user joins one, the first. ``budget``: the most that the e of local differential privacy of all
    experiments that the user joins with a budget may sum to.
    """

    traffic: float = 1.0
    exclusive: str | None = None
    budget: float | None = None

    def __post_init__(self) -> None:
        if not 0.0 < self.traffic <= 1.0:
            raise DeviceError(
                f"traffic={self.traffic!r} must be more than 0 and at most 1.\n"
                "It is the share of users that take part: 0.1 is one in ten."
            )
        if self.budget is not None and not self.budget > 0.0:
            raise DeviceError(
                f"budget={self.budget!r} must be more than 0.\n"
                "It is the most that the e of all experiments of a user may sum to."
            )


class Ledger:
    """What the devices in ``folder`` of a ``user`` have joined, for one in ``experiment``.

    The experiment is named by its address.
    """

    def __init__(self, folder: Path, user: str, experiment: str) -> None:
        self._path, self._user, self._experiment = folder / "ledger.db", user, experiment

    def admit(self, voter: str, limits: Limits) -> float | None:
        """Enter a device that is about to enrol; returns what is left of the budget, if one is set.

        Raises StaysOut, with the reason, if it is not to take part.
        """
        with self._write() as db:  # by itself: it must stay also if this user stays out
            db.execute("INSERT OR IGNORE INTO secret VALUES (1, ?)", (os.urandom(32),))
            ((secret,),) = db.execute("SELECT secret FROM secret").fetchall()
        with self._write() as db:
            if self._draw(secret) >= limits.traffic:
                raise StaysOut(
                    f"traffic={limits.traffic:g}: this user is not among those that take part.\n"
                    "Show a default; a higher traffic takes in more users, and drops none."
                )
            others = db.execute(
                "SELECT experiment, exclusive, privacy FROM joined WHERE user = ? AND voter != ?",
                (self._user, voter),
            ).fetchall()
            for other, group, _ in others:
                if group is not None and group == limits.exclusive and other != self._experiment:
                    raise StaysOut(
                        f"exclusive={group!r}: this user takes part in {other}, of the same group."
                        "\nShow a default."
                    )
            left = None
            if limits.budget is not None:
                left = limits.budget - math.fsum(privacy for *_, privacy in others)
                if not left > 0.0:
                    raise StaysOut(
                        f"budget={limits.budget:g}: this user's other experiments have used it up."
                        "\nShow a default, or set a higher budget."
                    )
            row = (voter, self._user, self._experiment, limits.exclusive, left or 0.0)
            db.execute("INSERT OR REPLACE INTO joined VALUES (?, ?, ?, ?, ?)", row)
        return left

    def settle(self, voter: str, privacy: float | None) -> None:
        """Enter the e of an experiment that was joined; None: it has no proved one."""
        e = math.inf if privacy is None else privacy
        with self._write() as db:
            db.execute("UPDATE joined SET privacy = ? WHERE voter = ?", (e, voter))

    def withdraw(self, voter: str) -> None:
        """Take out a device that was surely not enrolled."""
        with self._write() as db:
            db.execute("DELETE FROM joined WHERE voter = ?", (voter,))

    def _draw(self, secret: bytes) -> float:
        """A number in [0, 1) that is always the same for a user in an experiment."""
        named = f"{self._user}\n{self._experiment}".encode()
        return (int.from_bytes(hmac.digest(secret, named, "sha256")[:8]) >> 11) / 2**53

    @contextmanager
    def _write(self) -> Iterator[sqlite3.Connection]:
        database = Database(self._path, LAYOUT)
        try:
            with database.write() as db:
                yield db
        finally:
            database.close()
