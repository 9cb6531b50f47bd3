"""What a server keeps, in one SQLite file: experiments, who is enrolled, invites and messages.

One person with a thousand keys is the attack that breaks any vote; a single-use invite makes
each further key cost one more invite. Which messages may be posted is the tally's business: the
store keeps a history of each experiment in memory, and brings it up to date with the file before it
asks.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from devote.boards.administration import (
    Administration,
    check_invites,
    is_deleted,
    name_taken,
)
from devote.boards.admission import UNSIGNED, Receipt, refusal, refused
from devote.boards.admitting import enrol_one, post_one
from devote.boards.board import Envelope, Outcome, PublicTally
from devote.boards.database import Database, StoreError
from devote.boards.enrolled import EnrolledCount
from devote.boards.experiment import Experiment
from devote.boards.history import History
from devote.boards.identity import verify_enrolment
from devote.boards.invites import make_invites
from devote.boards.standing import UnreadableExperiment, unknown
from devote.boards.stores import OneByOne
from devote.boards.tables import LAYOUT
from devote.protocol import ExperimentSpec, SpecError
from devote.protocol.wire import Scope

T = TypeVar("T")

AT_ONCE = 10_000
"""Rows that are read into memory at once."""


class SqliteStore(OneByOne):
    """The experiments in one file. Every method is one short transaction, safe in any thread.

    ``specs`` are the specifications read so far: they never change. ``administration`` is what
    the operator does with the experiments once they are open. Where what is posted can be had
    again from others, ``durable`` need not be: a power cut may take the last messages then.
    """

    at_once = 4
    one_disk = True

    def __init__(self, path: str | Path, *, durable: bool = True) -> None:
        self._database = Database(path, LAYOUT)
        self._durable = durable
        self.administration = Administration(self._database)
        self.specs: dict[str, ExperimentSpec] = {}
        self._scopes: dict[str, Scope] = {}
        self._histories: dict[str, History] = {}
        self._enrolled = EnrolledCount()

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def remove(self) -> None:
        """Close the file and delete it."""
        self._database.remove()

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
            if is_deleted(db, name):
                return name_taken(name)
            (count,) = db.execute("SELECT count(*) FROM experiments").fetchone()
            if most is not None and count >= most:
                return refused(
                    f"There are {count} experiments, and at most {most} are allowed.",
                    "Raise the limit, or use another store.",
                )
            db.execute(
                "INSERT INTO experiments VALUES (?, ?, ?, ?, ?, ?, ?)",
                (name, experiment.spec.to_json(), *settings, int(time.time()), experiment.board),
            )
        return Receipt(Outcome.ACCEPTED)

    def experiments(self) -> list[Experiment]:
        """All experiments that this version of devote can read, by name."""
        with self._database.read() as db:
            names = db.execute("SELECT name FROM experiments ORDER BY name").fetchall()
        found = []
        for (name,) in names:
            with suppress(UnreadableExperiment):
                found.append(self.get(name))
        return found

    def get(self, name: str) -> Experiment:
        """An experiment and how many are enrolled; UnknownExperiment if it is not there."""
        with self._database.read() as db:
            row = db.execute(
                "SELECT spec, enrolment, players, board FROM experiments WHERE name = ?", (name,)
            ).fetchone()
            enrolled = self._enrolled.of(db, name)
            if row is None:
                raise unknown(name, deleted=is_deleted(db, name))
        try:
            spec = self.specs.get(name) or ExperimentSpec.from_json(row[0])
            experiment = Experiment(spec, row[1], row[2], enrolled, row[3])
        except SpecError as error:
            raise UnreadableExperiment(str(error)) from None
        self.specs[name], self._scopes[name] = spec, experiment.scope
        return experiment

    def spec(self, name: str) -> ExperimentSpec:
        """An experiment's specification, which is read once."""
        return self.specs.get(name) or self.get(name).spec

    def scope(self, name: str) -> Scope:
        """Where signatures of an experiment are good."""
        return self._scopes.get(name) or self.get(name).scope

    def invite(self, name: str, count: int, expires: int | None = None) -> list[str]:
        """New single-use invites: the only time they can be read, as only hashes are kept.

        ``expires`` is the moment, in seconds since 1970, from which on they are no longer good.
        """
        check_invites(count, expires, self.administration.clock())
        self.spec(name)
        with self._database.write() as db:
            return make_invites(db, name, count, expires)

    def delete(self, name: str) -> None:
        """Delete an experiment and all that belongs to it; see ``Administration.delete``."""
        self.administration.delete(name)
        self._enrolled.forget()
        for kept in (self.specs, self._scopes, self._histories):
            kept.pop(name, None)

    def enrol_all(
        self, requests: Sequence[tuple[str, str, str, str | None]], *, most: int | None = None
    ) -> list[Receipt]:
        """Let voters post, in one transaction; what became of each request.

        A request is the name of an experiment, a voter, its signature and perhaps an invite.
        Afterwards nothing in the files tells which invite came with which voter.
        """
        signed = [
            verify_enrolment(voter=voter, scope=self.scope(name), signature=signature)
            for name, voter, signature, _ in requests
        ]
        receipts = [UNSIGNED] * len(requests)
        now = self.administration.clock()
        try:
            with self._database.write() as db:
                for place in (place for place, good in enumerate(signed) if good):
                    name, voter, _, invite = requests[place]
                    receipts[place] = enrol_one(db, self.get(name), voter, invite, most, now)
                    if receipts[place].outcome is Outcome.ACCEPTED:
                        self._enrolled.add(name)
        except BaseException:
            self._enrolled.forget()
            raise
        if any(receipt.outcome is Outcome.ACCEPTED for receipt in receipts):
            with suppress(StoreError):  # they are enrolled; the next one forgets
                self._database.forget()
        return receipts

    def admit(self, name: str, voter: str) -> None:
        """Let a voter post who was checked elsewhere, as by a certificate."""
        with self._database.write(durable=self._durable) as db:
            db.execute("INSERT OR IGNORE INTO enrolled VALUES (?, ?)", (name, voter))

    def expel(self, name: str, voter: str) -> None:
        """Take a voter out, and all that it has said; the messages after that move up."""
        _, said = self.rows_of(name, voter)
        self.take_back(name, [text for _, text, _ in said], voter=voter)

    def take_back(self, name: str, texts: Iterable[str], *, voter: str | None = None) -> None:
        """Take messages out, and perhaps a voter; the messages after that move up."""
        gone = [(name, text) for text in texts]
        with self._database.write() as db:
            db.execute("DELETE FROM enrolled WHERE experiment = ? AND voter = ?", (name, voter))
            db.executemany("DELETE FROM messages WHERE experiment = ? AND message = ?", gone)
            query = "SELECT number FROM messages WHERE experiment = ? ORDER BY number"
            left = [number for (number,) in db.execute(query, (name,))]
            db.executemany(
                "UPDATE messages SET number = ? WHERE experiment = ? AND number = ?",
                [(place, name, number) for place, number in enumerate(left, 1) if place < number],
            )
            self._histories.pop(name, None)
            self._enrolled = EnrolledCount()

    def voters(self, name: str, after: str = "", limit: int | None = None) -> list[str]:
        """The enrolled voters above ``after``, in order of their keys; at most ``limit``.

        Not in the order in which they enrolled, which is nobody's business.
        """
        with self._database.read() as db:
            rows = db.execute(
                "SELECT voter FROM enrolled WHERE experiment = ? AND voter > ? ORDER BY voter "
                "LIMIT ?",
                (name, after, -1 if limit is None else limit),
            ).fetchall()
        return [voter for (voter,) in rows]

    def post_all(
        self, posts: Sequence[tuple[str, Envelope]], *, most: int | None = None
    ) -> list[Receipt]:
        """Post messages in their order, in one transaction; what became of each.

        One wait for the disk serves all of them. ``most`` bounds the messages of one voter, who
        could otherwise fill the disk.
        """
        receipts: list[Receipt | None] = []
        for name, envelope in posts:
            spec = self.spec(name)
            reason = refusal(envelope, spec, self.scope(name))
            receipts.append(refused(reason) if reason else None)
            if name not in self._histories:
                self._history(spec)  # it may take seconds: other processes can write meanwhile
        histories: dict[str, History] = {}
        now = self.administration.clock()
        try:
            with self._database.write(durable=self._durable) as db:
                for place, (name, envelope) in enumerate(posts):
                    if receipts[place] is None:
                        if name not in histories:
                            histories[name] = self._history(self.spec(name))
                        receipts[place] = post_one(db, histories[name], envelope, most, now)
        except BaseException:
            for name in histories:  # they have taken in what is not in the file
                self._histories.pop(name, None)
            raise
        return [receipt for receipt in receipts if receipt is not None]

    def check_writable(self) -> None:
        """Write something that takes room of its own; StoreError if that does not work."""
        with self._database.write() as db:
            (beat,) = db.execute("SELECT coalesce(max(rowid), 0) FROM pulse").fetchone()
            db.execute("INSERT INTO pulse VALUES (zeroblob(4096))")
            db.execute("DELETE FROM pulse WHERE rowid <= ?", (beat,))

    def look(self, name: str, draw: Callable[[History], T]) -> T:
        """What a function makes of an experiment's messages, all that are in the file.

        Nothing can be posted meanwhile.
        """
        spec = self.spec(name)
        with self._database.read():
            return draw(self._history(spec))

    def tally(self, name: str) -> PublicTally:
        """What an experiment's messages come to."""
        experiment = self.get(name)

        def tell(history: History) -> PublicTally:
            public = history.tally.public(experiment.players)
            return PublicTally.of(experiment.scope, history.number, public)

        return self.look(name, tell)

    def _history(self, spec: ExperimentSpec) -> History:
        """The history of all rows in the file.

        It takes in the rows that this or another process has written since. If the last row it
        knows is no longer there, an older file was put back, and it begins anew.
        """
        with self._database.read():
            # Taken out meanwhile: a history that fails half way is not used again.
            history = self._histories.pop(spec.name, None) or History(spec)
            known = self.rows(spec.name, max(history.number - 1, 0), 1)[1]
            if history.number and [row[:2] for row in known] != [(history.number, history.text)]:
                history = History(spec)
            with self._database.decoding():
                while rows := self.rows(spec.name, history.number, AT_ONCE)[1]:
                    history.take(rows)
            self._histories[spec.name] = history
            return history

    def numbers(self) -> dict[str, int]:
        """How many messages each experiment has that has any."""
        with self._database.read() as db:
            return dict(
                db.execute("SELECT experiment, max(number) FROM messages GROUP BY experiment")
            )

    def rows_of(self, name: str, voter: str) -> tuple[int, list[tuple[int, str, str]]]:
        """The same for the messages of one voter."""
        with self._database.read() as db:
            rows = db.execute(
                "SELECT number, message, signature FROM messages WHERE experiment=? AND "
                "voter=? ORDER BY number",
                (name, voter),
            ).fetchall()
        return self.rows(name, limit=0)[0], rows

    def rows(
        self, name: str, after: int = 0, limit: int | None = None
    ) -> tuple[int, list[tuple[int, str, str]]]:
        """The board's last number, and number, JSON text and signature of what is above ``after``.

        At most ``limit`` of these, the first. A last number below ``after`` says that the file is
        an older one, from a backup.
        """
        with self._database.read() as db:
            (last,) = db.execute(
                "SELECT coalesce(max(number), 0) FROM messages WHERE experiment=?", (name,)
            ).fetchone()
            rows = db.execute(
                "SELECT number, message, signature FROM messages WHERE experiment=? AND "
                "number>? AND number<=? ORDER BY number LIMIT ?",
                (name, after, last, -1 if limit is None else limit),
            ).fetchall()
        return last, rows
