"""What the operator changes in a store: how experiments stand, who is revoked, what is deleted.

A revoked device stays in the list of voters, and what it sent before stays and counts: the log only
ever grows, so that whoever has read it can check it.
"""

import sqlite3
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Unpack

from devote.boards.admission import Receipt, refused
from devote.boards.board import BoardRefused
from devote.boards.database import Database
from devote.boards.invites import InviteCounts, count_invites, revoke_invites
from devote.boards.standing import REVOKED, Change, Standing, unknown, written
from devote.checks import Checks

OF_AN_EXPERIMENT = ("messages", "enrolled", "invites", "revoked", "standings")
"""The tables that hold what belongs to an experiment, by the column ``experiment``."""


@dataclass(frozen=True)
class Revocation:
    """How many devices and invites a request has revoked, and how many it named in vain.

    In vain is a device that is not enrolled, and an invite that was used or is not there.
    """

    devices: int = 0
    invites: int = 0
    unknown: int = 0

    def __add__(self, other: "Revocation") -> "Revocation":
        return Revocation(
            self.devices + other.devices,
            self.invites + other.invites,
            self.unknown + other.unknown,
        )


def name_taken(name: str) -> Receipt:
    """The refusal of an experiment under the name of one that was deleted."""
    return refused(
        f"An experiment {name!r} was deleted here, and its name stays taken.",
        "Choose another name.",
    )


def check_invites(count: int, expires: int | None, now: float) -> None:
    """Refuse to make no invites, or such that nobody can use."""
    Checks(BoardRefused).whole("count", count, least=1, remedy="It is how many to make.")
    if expires is not None and expires <= now:
        raise BoardRefused(f"The moment {written(expires)} has passed.\nGive a later one.")


def changed(before: Standing, now: float, change: Change) -> Standing:
    """How an experiment stands after a change, see ``Administration.change``."""
    state, ends = change.get("state"), change.get("ends")
    if ends is not None and ends <= now:
        raise BoardRefused(
            f"The end {written(ends)} has passed.\nGive a later one, or close the experiment."
        )
    is_over = before.ends is not None and before.ends <= now
    kept = None if change.get("endless") or (state == "open" and is_over) else before.ends
    return Standing(state or before.now(now), kept if ends is None else ends)


class Administration:
    """The operator's side of a store; ``clock`` says when experiments and invites end."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self.clock = clock

    def standing(self, name: str) -> Standing:
        """How an experiment stands now; UnknownExperiment if it is not there."""
        with self._database.read() as db:
            _check_there(db, name)
            standing = _standing(db, name)
        return replace(standing, state=standing.now(self.clock()))

    def change(self, name: str, **change: Unpack[Change]) -> Standing:
        """Put an experiment into another state, or give it another end; the rest stays.

        ``endless`` takes its end away. One that is opened again loses an end that has passed.
        """
        with self._database.write() as db:
            _check_there(db, name)
            new = changed(_standing(db, name), self.clock(), change)
            db.execute(
                "INSERT INTO standings VALUES (?1, ?2, ?3) "
                "ON CONFLICT (experiment) DO UPDATE SET state = ?2, ends = ?3",
                (name, new.state, new.ends),
            )
        return new

    def archived(self) -> set[str]:
        """The experiments that are archived."""
        with self._database.read() as db:
            rows = db.execute("SELECT experiment FROM standings WHERE state = 'archived'")
            return {name for (name,) in rows.fetchall()}

    def revoke(
        self, name: str, *, voters: Collection[str] = (), invites: Collection[str] = ()
    ) -> Revocation:
        """Take nothing more from these voters, and let nobody enrol by these invites."""
        with self._database.write() as db:
            _check_there(db, name)
            devices = db.executemany(
                "INSERT OR IGNORE INTO revoked SELECT experiment, voter FROM enrolled "
                "WHERE experiment = ? AND voter = ?",
                [(name, voter) for voter in voters],
            ).rowcount
            known = sum(barred_voter(db, name, voter) is not None for voter in voters)
            taken = revoke_invites(db, name, invites)
        vain = len(voters) - known + len(invites) - taken
        return Revocation(max(devices, 0), taken, vain)

    def revoke_all_invites(self, name: str) -> Revocation:
        """Let nobody enrol by any invite made so far."""
        with self._database.write() as db:
            _check_there(db, name)
            return Revocation(invites=revoke_invites(db, name, None))

    def counts(self, name: str) -> tuple[InviteCounts, int]:
        """How many invites there are of each kind, and how many devices are revoked."""
        with self._database.read() as db:
            query = "SELECT count(*) FROM revoked WHERE experiment = ?"
            (revoked,) = db.execute(query, (name,)).fetchone()
            return count_invites(db, name, self.clock()), revoked

    def delete(self, name: str) -> None:
        """Delete an experiment and all that belongs to it; its name stays taken.

        What was deleted is overwritten in the file. Backups and copies keep it.
        """
        with self._database.write() as db:
            _check_there(db, name)
            for table in OF_AN_EXPERIMENT:
                db.execute(f"DELETE FROM {table} WHERE experiment = ?", (name,))
            db.execute("DELETE FROM experiments WHERE name = ?", (name,))
            db.execute("INSERT INTO deleted VALUES (?)", (name,))
        self._database.forget()


def barred(db: sqlite3.Connection, name: str, now: float) -> Receipt | None:
    """Why an experiment takes nothing new, or None if it does."""
    return _standing(db, name).refusal(name, now)


def barred_voter(db: sqlite3.Connection, name: str, voter: str) -> Receipt | None:
    """Why nothing new is taken from one voter, or None if it is."""
    query = "SELECT 1 FROM revoked WHERE experiment = ? AND voter = ?"
    return REVOKED if db.execute(query, (name, voter)).fetchone() else None


def is_deleted(db: sqlite3.Connection, name: str) -> bool:
    """Whether an experiment of that name was deleted."""
    query = "SELECT 1 FROM deleted WHERE name = ?"
    return db.execute(query, (name,)).fetchone() is not None


def _check_there(db: sqlite3.Connection, name: str) -> None:
    query = "SELECT 1 FROM experiments WHERE name = ?"
    if db.execute(query, (name,)).fetchone() is None:
        raise unknown(name, deleted=is_deleted(db, name))


def _standing(db: sqlite3.Connection, name: str) -> Standing:
    query = "SELECT state, ends FROM standings WHERE experiment = ?"
    row = db.execute(query, (name,)).fetchone()
    return Standing() if row is None else Standing(*row)
