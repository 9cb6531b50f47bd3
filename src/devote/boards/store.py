"""What a server keeps, in one SQLite file: experiments, who is enrolled, invites and messages.

Which messages may be posted is the tally's business: the store keeps a tally of each experiment
in memory, and brings it up to date with the file before it asks.
"""

import sqlite3
import time
from collections.abc import Iterable
from pathlib import Path

from devote.boards import enrolment
from devote.boards.admission import NOT_ENROLLED, Receipt, refusal, refused
from devote.boards.board import BoardRefused, Envelope, Outcome
from devote.boards.database import Database
from devote.boards.experiment import Experiment
from devote.boards.identity import verify_enrolment
from devote.boards.tables import LAYOUT
from devote.checks import Checks
from devote.protocol import ExperimentSpec, SpecError, from_json, to_json


class SqliteStore:
    """The experiments in one file. Every method is one short transaction, safe in any thread."""

    def __init__(self, path: str | Path) -> None:
        self._database = Database(path, LAYOUT)
        self._specs: dict[str, ExperimentSpec] = {}
        self._counts: dict[str, _Count] = {}

    @property
    def path(self) -> str:
        """The file."""
        return self._database.path

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def create(self, experiment: Experiment, *, most: int | None = None) -> Receipt:
        """Open an experiment; duplicate if the very same is there, refused if another is.

        ``most`` is how many experiments there may be.
        """
        name = experiment.name
        if not name.strip("."):
            return refused(
                f"name={name!r} cannot be part of an address.", "Use a letter or a digit."
            )
        settings = (experiment.fingerprint, experiment.enrolment, experiment.players)
        with self._database.write() as db:
            there = db.execute(
                "SELECT fingerprint, enrolment, players FROM experiments WHERE name = ?", (name,)
            ).fetchone()
            if there == settings:
                return Receipt(Outcome.DUPLICATE)
            if there is not None:
                return refused(
                    f"An experiment {name!r} with other settings is there already.",
                    "An experiment never changes: choose another name.",
                )
            (count,) = db.execute("SELECT count(*) FROM experiments").fetchone()
            if most is not None and count >= most:
                return refused(
                    f"There are {count} experiments, and at most {most} are allowed.",
                    "Raise the limit, or use another store.",
                )
            db.execute(
                "INSERT INTO experiments VALUES (?, ?, ?, ?, ?, ?)",
                (name, experiment.spec.to_json(), *settings, int(time.time())),
            )
        return Receipt(Outcome.ACCEPTED)

    def experiments(self) -> list[Experiment]:
        """All experiments that this version of devote can read, by name."""
        with self._database.read() as db:
            names = db.execute("SELECT name FROM experiments ORDER BY name").fetchall()
        found = []
        for (name,) in names:
            try:
                found.append(self.get(name))
            except UnreadableExperiment:
                continue
        return found

    def get(self, name: str) -> Experiment:
        """An experiment and how many are enrolled; UnknownExperiment if it is not there."""
        with self._database.read() as db:
            row = db.execute(
                "SELECT spec, enrolment, players, (SELECT count(*) FROM enrolled WHERE "
                "experiment = name) FROM experiments WHERE name = ?",
                (name,),
            ).fetchone()
        if row is None:
            raise UnknownExperiment(name)
        try:
            spec = self._specs.get(name) or ExperimentSpec.from_json(row[0])
            experiment = Experiment(spec, *row[1:])
        except SpecError as error:
            raise UnreadableExperiment(str(error)) from None
        self._specs[name] = spec
        return experiment

    def spec(self, name: str) -> ExperimentSpec:
        """An experiment's specification, which never changes and so is read once."""
        return self._specs.get(name) or self.get(name).spec

    def has_read(self, name: str) -> bool:
        """Whether ``spec`` answers from memory, without waiting for the disk."""
        return name in self._specs

    def invite(self, name: str, count: int) -> list[str]:
        """New single-use invites: the only time they can be read, as only hashes are kept."""
        Checks(BoardRefused).whole("count", count, least=1, remedy="It is how many to make.")
        self.spec(name)
        with self._database.write() as db:
            return enrolment.make_invites(db, name, count)

    def enrol(
        self,
        name: str,
        *,
        voter: str,
        signature: str,
        invite: str | None = None,
        most: int | None = None,
    ) -> Receipt:
        """Let a voter post: accepted, duplicate if it may already, or refused.

        ``most`` bounds the voters beside the experiment's own number of players.
        """
        experiment = self.get(name)
        if not verify_enrolment(voter=voter, experiment=name, signature=signature):
            return refused(
                "The signature is not this voter's over this request.",
                "Sign it with the voter's key.",
            )
        with self._database.write() as db:
            return enrolment.enrol(db, experiment, voter=voter, invite=invite, most=most)

    def post(self, name: str, envelope: Envelope, *, most: int | None = None) -> Receipt:
        """Post a message: accepted, duplicate, or refused.

        ``most`` bounds the messages of one voter, who could otherwise fill the disk.
        """
        spec = self.spec(name)
        reason = refusal(envelope, spec)
        if reason is not None:
            return Receipt(Outcome.REFUSED, reason=reason)
        message = envelope.message
        text = to_json(message)
        if name not in self._counts:
            # The first count may take seconds: other processes can write meanwhile.
            with self._database.read() as db:
                self._count(db, spec)
        with self._database.write() as db:
            if not enrolment.is_enrolled(db, name, message.voter):
                return NOT_ENROLLED
            there = db.execute(
                "SELECT number FROM messages WHERE experiment=? AND message=?", (name, text)
            ).fetchone()
            if there:
                return Receipt(Outcome.DUPLICATE, number=there[0])
            (posted,) = db.execute(
                "SELECT count(*) FROM messages WHERE experiment=? AND voter=?",
                (name, message.voter),
            ).fetchone()
            if most is not None and posted >= most:
                return refused(f"A voter may post at most {most} messages.", "Post no more.")
            count = self._count(db, spec)
            reason = count.tally.refusal(message)
            if reason is not None:
                return Receipt(Outcome.REFUSED, reason=reason)
            number = count.number + 1
            db.execute(
                "INSERT INTO messages VALUES (?, ?, ?, ?, ?)",
                (name, number, message.voter, text, envelope.signature),
            )
        return Receipt(Outcome.ACCEPTED, number=number)

    def _count(self, db: sqlite3.Connection, spec: ExperimentSpec) -> "_Count":
        """The tally of all rows in the file, within the caller's transaction.

        It takes in the rows that this or another process has written since. If the last row it
        knows is no longer there, an older file was put back, and it counts from the beginning.
        """
        if spec.name not in self._counts:
            self._counts[spec.name] = _Count(spec)
        count = self._counts[spec.name]
        rows = _rows_from(db, spec.name, count.number)
        if count.number and rows[:1] != [(count.number, count.last)]:
            count = self._counts[spec.name] = _Count(spec)
            rows = _rows_from(db, spec.name, 0)
        with self._database.decoding():
            count.read(rows)
        return count

    def numbers(self) -> dict[str, int]:
        """How many messages each experiment has that has any."""
        with self._database.read() as db:
            return dict(
                db.execute("SELECT experiment, max(number) FROM messages GROUP BY experiment")
            )

    def rows(self, name: str, after: int = 0) -> tuple[int, list[tuple[int, str, str]]]:
        """The board's last number, and number, JSON text and signature of what is above ``after``.

        A last number below ``after`` says that the file is an older one, from a backup.
        """
        with self._database.read() as db:
            (last,) = db.execute(
                "SELECT coalesce(max(number), 0) FROM messages WHERE experiment=?", (name,)
            ).fetchone()
            rows = db.execute(
                "SELECT number, message, signature FROM messages WHERE experiment=? AND "
                "number>? AND number<=? ORDER BY number",
                (name, after, last),
            ).fetchall()
        return last, rows


class _Count:
    """A tally of the rows of one experiment, with the number and the text of the last one."""

    def __init__(self, spec: ExperimentSpec) -> None:
        self.tally = spec.scheme.tally(spec)
        self.number = 0
        self.last = ""

    def read(self, rows: Iterable[tuple[int, str]]) -> None:
        """Take in the rows that are new."""
        for number, text in rows:
            if number > self.number:
                self.tally.add(from_json(text, self.tally.spec.n_arms))
                self.number, self.last = number, text


def _rows_from(db: sqlite3.Connection, name: str, number: int) -> list[tuple[int, str]]:
    return db.execute(
        "SELECT number, message FROM messages WHERE experiment=? AND number>=? ORDER BY number",
        (name, number),
    ).fetchall()


class UnknownExperiment(BoardRefused):
    """There is no experiment of that name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no experiment {name!r} here.\nCheck the name, or create it.")


class UnreadableExperiment(BoardRefused):
    """The experiment is there, but this version of devote cannot read its specification."""
