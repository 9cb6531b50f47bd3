"""What a server keeps, in one SQLite file: experiments, seats, invites and messages.

Nothing else is stored: no address, no time of a vote, no link from an invite to a seat, and of
an invite only its hash. That a voter votes once is a UNIQUE constraint, not a habit: a message
is kept in its one JSON spelling, which holds who says what of which arm in which term, and
nothing else. The constraint is on that text, so it holds for every kind of message. Who has
which place in a jury is held by two more, see ``standing``.
"""

import time
from pathlib import Path

from devote.boards import seats, standing
from devote.boards.admission import NO_SEAT, Receipt, denied, refusal
from devote.boards.board import BoardRefused, Envelope, Outcome
from devote.boards.database import Database
from devote.boards.experiment import Experiment
from devote.boards.identity import verify_claim
from devote.protocol import ExperimentSpec, to_json

VERSION = 1
SCHEMA = f"""
{standing.TABLES.strip()}
CREATE TABLE experiments (
    name TEXT PRIMARY KEY, spec TEXT NOT NULL, fingerprint TEXT NOT NULL,
    enrolment TEXT NOT NULL, players INTEGER, created INTEGER NOT NULL
) STRICT;
CREATE TABLE seats (
    experiment TEXT NOT NULL, voter TEXT NOT NULL, UNIQUE (experiment, voter)
) STRICT;
CREATE TABLE invites (
    experiment TEXT NOT NULL, hash TEXT NOT NULL, used INTEGER NOT NULL DEFAULT 0,
    UNIQUE (experiment, hash)
) STRICT;
CREATE TABLE messages (
    experiment TEXT NOT NULL, number INTEGER NOT NULL, voter TEXT NOT NULL,
    message TEXT NOT NULL, signature TEXT NOT NULL,
    PRIMARY KEY (experiment, number), UNIQUE (experiment, message)
) STRICT;
CREATE INDEX messages_of_voter ON messages (experiment, voter)
"""


class SqliteStore:
    """The experiments in one file. Every method is one short transaction, safe in any thread."""

    def __init__(self, path: str | Path) -> None:
        self._database = Database(path, version=VERSION, schema=SCHEMA)
        self._specs: dict[str, ExperimentSpec] = {}

    @property
    def path(self) -> str:
        """The file."""
        return self._database.path

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def create(self, experiment: Experiment, *, most: int | None = None) -> Receipt:
        """Open an experiment; duplicate if the very same is there, denied if another is.

        ``most`` is how many experiments there may be.
        """
        name = experiment.name
        if not name.strip("."):
            return denied(
                f"name={name!r} cannot be part of an address.", "Use a letter or a digit."
            )
        row = (
            name,
            experiment.spec.to_json(),
            experiment.fingerprint,
            experiment.enrolment,
            experiment.players,
        )
        with self._database.write() as db:
            there = db.execute(
                "SELECT name, spec, fingerprint, enrolment, players FROM experiments "
                "WHERE name = ?",
                (name,),
            ).fetchone()
            if there == row:
                return Receipt(Outcome.DUPLICATE)
            if there is not None:
                return denied(
                    f"An experiment {name!r} with other settings is there already.",
                    "An experiment never changes: choose another name.",
                )
            (count,) = db.execute("SELECT count(*) FROM experiments").fetchone()
            if most is not None and count >= most:
                return denied(
                    f"There are {count} experiments, and at most {most} are allowed.",
                    "Raise the limit, or use another store.",
                )
            db.execute("INSERT INTO experiments VALUES (?,?,?,?,?,?)", (*row, int(time.time())))
        return Receipt(Outcome.ACCEPTED)

    def experiments(self) -> list[Experiment]:
        """All experiments, by name."""
        with self._database.read() as db:
            names = db.execute("SELECT name FROM experiments ORDER BY name").fetchall()
        return [self.get(name) for (name,) in names]

    def get(self, name: str) -> Experiment:
        """An experiment and its number of seats; UnknownExperiment if it is not there."""
        with self._database.read() as db:
            row = db.execute(
                "SELECT spec, enrolment, players, (SELECT count(*) FROM seats WHERE "
                "experiment = name) FROM experiments WHERE name = ?",
                (name,),
            ).fetchone()
        if row is None:
            raise UnknownExperiment(name)
        spec = self._specs.setdefault(name, ExperimentSpec.from_json(row[0]))
        return Experiment(spec, *row[1:])

    def spec(self, name: str) -> ExperimentSpec:
        """An experiment's specification, which never changes and so is read once."""
        return self._specs.get(name) or self.get(name).spec

    def has_read(self, name: str) -> bool:
        """Whether ``spec`` answers from memory, without waiting for the disk."""
        return name in self._specs

    def invite(self, name: str, count: int) -> list[str]:
        """New single-use invites: the only time they can be read, as only hashes are kept."""
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            raise ValueError(f"count={count!r} must be 1 or more.\nSay how many invites to make.")
        self.spec(name)
        with self._database.write() as db:
            return seats.invite(db, name, count)

    def invites(self, name: str) -> tuple[int, int]:
        """How many invites were made, and how many of them are used."""
        self.spec(name)
        with self._database.read() as db:
            made, used = db.execute(
                "SELECT count(*), coalesce(sum(used), 0) FROM invites WHERE experiment = ?",
                (name,),
            ).fetchone()
        return made, used

    def seats(self, name: str) -> list[str]:
        """The voters with a seat, in no order that tells who came when."""
        self.spec(name)
        with self._database.read() as db:
            rows = db.execute(
                "SELECT voter FROM seats WHERE experiment = ? ORDER BY voter", (name,)
            )
            return [voter for (voter,) in rows]

    def claim(
        self,
        name: str,
        *,
        voter: str,
        signature: str,
        invite: str | None = None,
        most: int | None = None,
    ) -> Receipt:
        """Give a voter a seat: accepted, duplicate if it has one, or denied.

        ``most`` bounds the seats beside the experiment's own number of players.
        """
        experiment = self.get(name)
        if not verify_claim(voter=voter, experiment=name, signature=signature):
            return denied(
                "The signature is not this voter's over this claim.",
                "Sign it with the voter's key.",
            )
        with self._database.write() as db:
            return seats.take(db, experiment, voter=voter, invite=invite, most=most)

    def post(self, name: str, envelope: Envelope, *, most: int | None = None) -> Receipt:
        """Post a message: accepted, duplicate, or denied.

        ``most`` bounds the messages of one voter, who could otherwise fill the disk.
        """
        reason = refusal(envelope, self.spec(name))
        if reason is not None:
            return Receipt(Outcome.DENIED, reason=reason)
        message = envelope.message
        text = to_json(message)
        with self._database.write() as db:
            if not seats.is_taken(db, name, message.voter):
                return Receipt(Outcome.DENIED, reason=NO_SEAT)
            there = db.execute(
                "SELECT number FROM messages WHERE experiment=? AND message=?", (name, text)
            ).fetchone()
            if there:
                return Receipt(Outcome.DUPLICATE, number=there[0])
            (count,) = db.execute(
                "SELECT count(*) FROM messages WHERE experiment=? AND voter=?",
                (name, message.voter),
            ).fetchone()
            if most is not None and count >= most:
                return denied(f"A seat may post at most {most} messages.", "Post no more.")
            reason = standing.admit(db, message)
            if reason is not None:
                return Receipt(Outcome.DENIED, reason=reason)
            (last,) = db.execute(
                "SELECT coalesce(max(number), 0) FROM messages WHERE experiment=?", (name,)
            ).fetchone()
            db.execute(
                "INSERT INTO messages VALUES (?, ?, ?, ?, ?)",
                (name, last + 1, message.voter, text, envelope.signature),
            )
        return Receipt(Outcome.ACCEPTED, number=last + 1)

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


class UnknownExperiment(BoardRefused):
    """There is no experiment of that name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no experiment {name!r} here.\nCheck the name, or create it.")
