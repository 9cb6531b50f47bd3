"""What a server keeps, in one SQLite file: experiments, who is enrolled, invites and messages.

One person with a thousand keys is the attack that breaks any vote; a single-use invite makes
each further key cost one more invite. Which messages may be posted is ``admission``'s business: the
store keeps a history of each experiment in memory, and brings it up to date with the file before it
asks.

Nothing else is stored: no address, no time of a message, no link from an invite to a voter, and
of an invite only its hash and when it expires. A message is kept in its one JSON spelling, which
holds who says what, and nothing else; a UNIQUE constraint on that text keeps it from being counted
twice, whatever its kind. A used invite differs from another by one bit that is changed in its
place; voters are kept as ``Voters`` says. What an enrolment changed is erased from the log beside
the file at once, which would show the two together.
"""

import json
import sqlite3
import time
from bisect import bisect_right, insort
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeVar, Unpack

from devote.boards.admission import (
    Receipt,
    admit,
    admit_experiment,
    admit_voter,
    no_invite,
)
from devote.boards.board import Envelope, Outcome
from devote.boards.database import Database, Layout, StoreError
from devote.boards.experiment import (
    Change,
    Experiment,
    ExperimentState,
    UnreadableExperiment,
    unknown,
)
from devote.boards.history import History
from devote.boards.identity import hash_of, verify
from devote.boards.stores import (
    BoardStore,
    Content,
    EnrolmentRequest,
    InviteCounts,
    Revocation,
    Row,
)
from devote.protocol import ExperimentSpec, Message, SpecError, to_json
from devote.protocol.scheme import Tally
from devote.protocol.wire import Scope

T = TypeVar("T")

AT_ONCE = 10_000
"""Rows that are read into memory at once."""

TABLES = """
CREATE TABLE experiments (
    name TEXT PRIMARY KEY, spec TEXT NOT NULL, fingerprint TEXT NOT NULL,
    enrolment TEXT NOT NULL, players INTEGER, created INTEGER NOT NULL, board TEXT NOT NULL
) STRICT;
CREATE TABLE voters (
    experiment TEXT NOT NULL, block INTEGER NOT NULL, keys BLOB NOT NULL,
    PRIMARY KEY (experiment, block)
) STRICT;
CREATE TABLE invites (
    experiment TEXT NOT NULL, hash TEXT NOT NULL, used INTEGER NOT NULL DEFAULT 0,
    expires INTEGER, PRIMARY KEY (experiment, hash)
) STRICT, WITHOUT ROWID;
CREATE TABLE messages (
    experiment TEXT NOT NULL, number INTEGER NOT NULL, voter TEXT NOT NULL,
    message TEXT NOT NULL, signature TEXT NOT NULL,
    PRIMARY KEY (experiment, number), UNIQUE (experiment, message)
) STRICT;
CREATE INDEX messages_of_voter ON messages (experiment, voter);
CREATE TABLE standings (experiment TEXT PRIMARY KEY, state TEXT NOT NULL, ends INTEGER) STRICT;
CREATE TABLE revoked (
    experiment TEXT NOT NULL, voter TEXT NOT NULL, PRIMARY KEY (experiment, voter)
) STRICT, WITHOUT ROWID;
CREATE TABLE deleted (name TEXT PRIMARY KEY) STRICT;
CREATE TABLE pulse (beat BLOB NOT NULL) STRICT
"""
"""An experiment without a row in ``standings`` is open and has no end; ``deleted`` are the names
that are not given again, and ``pulse`` is what a look at the server's health writes.
"""

OF_AN_EXPERIMENT = ("messages", "voters", "invites", "revoked", "standings")
LAYOUT = Layout(what="board store", application=0x64767465, version=1, tables=TABLES)


class Voters:
    """The enrolled voters, in a form whose bytes tell who is enrolled and not in which order.

    A key's first bits choose its block. A block has a fixed size, holds its keys sorted, and is
    overwritten in its place. When one is full, all are written anew in twice as many: so how many
    there are depends on the keys alone too.
    """

    KEY = 32
    FULL = 62
    """Keys in a block: two blocks fill a page of the file."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._version: int | None = None

    def count(self, db: sqlite3.Connection, experiment: str) -> int:
        """How many are enrolled: counted once, and again after another process has written."""
        (version,) = db.execute("PRAGMA data_version").fetchone()
        if version != self._version:
            self._version = version
            self._counts.clear()
        if experiment not in self._counts:
            query = "SELECT keys FROM voters WHERE experiment = ?"
            rows = db.execute(query, (experiment,))
            self._counts[experiment] = sum(len(_keys(block)) for (block,) in rows)
        return self._counts[experiment]

    def clear(self) -> None:
        """Count again at the next call: a transaction may have been rolled back."""
        self._counts.clear()

    def has(self, db: sqlite3.Connection, experiment: str, voter: str) -> bool:
        """Whether a voter is enrolled."""
        key = _key(voter)
        if key is None:
            return False
        _, block = self._block(db, experiment, key)
        return key in block

    def above(
        self, db: sqlite3.Connection, experiment: str, after: str = "", limit: int | None = None
    ) -> list[str]:
        """The voters above a key, in order."""
        found: list[str] = []
        count = self._blocks(db, experiment)
        first = int((after + "0" * 8)[:8], 16) * count >> 32
        query = "SELECT keys FROM voters WHERE experiment = ? AND block >= ? ORDER BY block"
        for (block,) in db.execute(query, (experiment, first)):
            found += (key.hex() for key in _keys(block))
            if limit is not None and bisect_right(found, after) + limit <= len(found):
                break
        start = bisect_right(found, after)
        return found[start : None if limit is None else start + limit]

    def add(self, db: sqlite3.Connection, experiment: str, voters: Iterable[str]) -> None:
        """Enrol voters who are not."""
        for voter in voters:
            key = _key(voter)
            assert key is not None, "admission has checked its signature"
            place, keys = self._block(db, experiment, key)
            if key in keys:
                continue
            insort(keys, key)
            if keys == [key] and not self._blocks(db, experiment):
                self._write(db, experiment, keys)
            elif len(keys) > self.FULL:
                query = "SELECT keys FROM voters WHERE experiment = ? ORDER BY block"
                there = db.execute(query, (experiment,)).fetchall()
                self._write(db, experiment, sorted({key, *_all_keys(there)}))
            else:
                self._put(db, experiment, place, keys)
            if experiment in self._counts:
                self._counts[experiment] += 1

    def remove(self, db: sqlite3.Connection, experiment: str, voter: str) -> None:
        """Take a voter out."""
        key = _key(voter)
        if key is not None:
            place, keys = self._block(db, experiment, key)
            self._put(db, experiment, place, [each for each in keys if each != key])
            self._counts.clear()

    def _blocks(self, db: sqlite3.Connection, experiment: str) -> int:
        query = "SELECT coalesce(max(block) + 1, 0) FROM voters WHERE experiment = ?"
        return int(db.execute(query, (experiment,)).fetchone()[0])

    def _block(
        self, db: sqlite3.Connection, experiment: str, key: bytes
    ) -> tuple[int, list[bytes]]:
        place = _place(key, self._blocks(db, experiment))
        query = "SELECT keys FROM voters WHERE experiment = ? AND block = ?"
        row = db.execute(query, (experiment, place)).fetchone()
        return place, [] if row is None else _keys(row[0])

    def _put(self, db: sqlite3.Connection, experiment: str, place: int, keys: list[bytes]) -> None:
        query = "UPDATE voters SET keys = ? WHERE experiment = ? AND block = ?"
        db.execute(query, (self._packed(keys), experiment, place))

    def _write(self, db: sqlite3.Connection, experiment: str, keys: list[bytes]) -> None:
        """Write all of them, into as many blocks as it takes, a power of two."""
        count = 1
        while True:
            blocks: list[list[bytes]] = [[] for _ in range(count)]
            for key in keys:
                blocks[_place(key, count)].append(key)
            if max(map(len, blocks)) <= self.FULL:
                break
            count *= 2
        db.execute("DELETE FROM voters WHERE experiment = ?", (experiment,))
        rows = ((experiment, place, self._packed(block)) for place, block in enumerate(blocks))
        db.executemany("INSERT INTO voters VALUES (?, ?, ?)", rows)

    def _packed(self, keys: list[bytes]) -> bytes:
        packed = bytes([len(keys)]) + b"".join(keys)
        return packed.ljust(1 + self.KEY * self.FULL, b"\0")


def _key(voter: str) -> bytes | None:
    """The bytes of a voter's key, None if the text is none."""
    try:
        key = bytes.fromhex(voter)
    except ValueError:
        return None
    return key if key.hex() == voter and len(key) == Voters.KEY else None


def _keys(block: bytes) -> list[bytes]:
    return [block[at : at + 32] for at in range(1, 1 + 32 * block[0], 32)]


def _all_keys(rows: Iterable[tuple[bytes]]) -> Iterable[bytes]:
    return (key for (block,) in rows for key in _keys(block))


def _place(key: bytes, count: int) -> int:
    return int.from_bytes(key[:4], "big") * count >> 32


class _Ledger:
    """One experiment within a transaction, as admission asks for it."""

    def __init__(
        self, store: "SqliteStore", db: sqlite3.Connection, experiment: Experiment, history: History
    ) -> None:
        self.experiment = experiment
        self.history = history
        self._store = store
        self._db = db
        self._name = experiment.name
        self._standing: tuple[ExperimentState, float] | None = None

    @property
    def tally(self) -> Tally:
        return self.history.tally

    def is_enrolled(self, voter: str) -> bool:
        return self._store.enrolled.has(self._db, self._name, voter)

    def is_revoked(self, voter: str) -> bool:
        query = "SELECT 1 FROM revoked WHERE experiment = ? AND voter = ?"
        return self._db.execute(query, (self._name, voter)).fetchone() is not None

    def standing(self) -> tuple[ExperimentState, float]:
        if self._standing is None:
            self._standing = _standing(self._db, self._name), self._store.clock()
        return self._standing

    def number_of(self, message: Message) -> int | None:
        query = "SELECT number FROM messages WHERE experiment = ? AND message = ?"
        row = self._db.execute(query, (self._name, to_json(message))).fetchone()
        return None if row is None else int(row[0])

    def count_of(self, voter: str) -> int:
        query = "SELECT count(*) FROM messages WHERE experiment = ? AND voter = ?"
        return int(self._db.execute(query, (self._name, voter)).fetchone()[0])

    def add(self, envelope: Envelope) -> Receipt:
        """Post a message that was admitted."""
        message, history = envelope.message, self.history
        number, text = history.number + 1, to_json(message)
        row = (self._name, number, message.voter, text, envelope.signature)
        self._db.execute("INSERT INTO messages VALUES (?, ?, ?, ?, ?)", row)
        history.add(number, text, envelope.signature, message)
        return Receipt(Outcome.ACCEPTED, number=number)

    def enrol(self, voter: str, invite: str | None) -> Receipt:
        """Let a voter post who was admitted; its invite is used up, if one is needed."""
        if self.experiment.enrolment == "invite":
            used = self._db.execute(
                "UPDATE invites SET used = 1 WHERE experiment = ? AND hash = ? AND used = 0 "
                "AND (expires IS NULL OR expires > ?)",
                (self._name, hash_of(invite or ""), self._store.clock()),
            )
            if used.rowcount != 1:
                return no_invite(invite)
        self._store.enrolled.add(self._db, self._name, [voter])
        self.experiment = replace(self.experiment, enrolled=self.experiment.enrolled + 1)
        return Receipt(Outcome.ACCEPTED)


class SqliteStore(BoardStore):
    """The experiments in one file. Every method is one short transaction, safe in any thread.

    Where what is posted can be had again from others, ``durable`` need not be: a power cut may take
    the last messages then.
    """

    at_once = 4
    one_disk = True

    def __init__(self, path: str | Path, *, durable: bool = True) -> None:
        super().__init__()
        self._database = Database(path, LAYOUT)
        self._durable = durable
        self._scopes: dict[str, Scope] = {}
        self._histories: dict[str, History] = {}
        self.enrolled = Voters()

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def remove(self) -> None:
        """Close the file and delete it."""
        self._database.remove()

    def create(self, experiment: Experiment, *, most: int | None = None) -> Receipt:
        """Open an experiment; duplicate if the very same is there, refused if another is."""
        name = experiment.name
        settings = (experiment.fingerprint, experiment.enrolment, experiment.players)
        with self._database.write() as db:
            there = db.execute(
                "SELECT fingerprint, enrolment, players FROM experiments WHERE name = ?", (name,)
            ).fetchone()
            (count,) = db.execute("SELECT count(*) FROM experiments").fetchone()
            deleted = _is_deleted(db, name)
            receipt = admit_experiment(experiment, there, deleted=deleted, count=count, most=most)
            if receipt is not None:
                return receipt
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
            if row is None:
                raise unknown(name, deleted=_is_deleted(db, name))
            enrolled = self.enrolled.count(db, name)
        try:
            spec = self.specs.get(name) or ExperimentSpec.from_json(row[0])
            experiment = Experiment(spec, row[1], row[2], enrolled, row[3])
        except SpecError as error:
            raise UnreadableExperiment(str(error)) from None
        self.specs[name], self._scopes[name] = spec, experiment.scope
        return experiment

    def scope(self, name: str) -> Scope:
        """Where signatures of an experiment are good."""
        return self._scopes.get(name) or self.get(name).scope

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
        self._database.truncate_wal()
        self.enrolled.clear()
        for kept in (self.specs, self._scopes, self._histories):
            kept.pop(name, None)

    def enrol_all(
        self, requests: Sequence[EnrolmentRequest], *, most: int | None = None
    ) -> list[Receipt]:
        """Let voters post whose requests are signed, in one transaction."""
        receipts: list[Receipt] = []
        ledgers: dict[str, _Ledger] = {}
        try:
            with self._database.write() as db:
                for name, voter, invite in requests:
                    if name not in ledgers:
                        experiment = self.get(name)
                        history = self._histories.get(name) or History(experiment.spec)
                        ledgers[name] = _Ledger(self, db, experiment, history)
                    ledger = ledgers[name]
                    receipt = admit_voter(voter, ledger, most)
                    receipts.append(receipt or ledger.enrol(voter, invite))
        except BaseException:
            self.enrolled.clear()
            raise
        if any(receipt.outcome is Outcome.ACCEPTED for receipt in receipts):
            with suppress(StoreError):  # they are enrolled; the next write tries again
                self._database.truncate_wal()
        return receipts

    def admit_known(self, name: str, voters: Iterable[str]) -> None:
        """Let voters post who were checked elsewhere, as by a certificate."""
        known = list(voters)
        self.enrolled.clear()
        with self._database.write(durable=self._durable) as db:
            self.enrolled.add(db, name, known)
            query = "DELETE FROM revoked WHERE experiment = ? AND voter = ?"
            db.executemany(query, [(name, voter) for voter in known])

    def revoked(self, name: str) -> set[str]:
        """The voters from whom nothing more is taken."""
        with self._database.read() as db:
            query = "SELECT voter FROM revoked WHERE experiment = ?"
            return {voter for (voter,) in db.execute(query, (name,))}

    def expel(self, name: str, voter: str) -> None:
        """Revoke a voter, and take back all that it has said; the messages after that move up."""
        _, said = self.rows_of(name, voter)
        self.take_back(name, [text for _, text, _ in said])
        self.revoke(name, voters=[voter])

    def take_back(self, name: str, texts: Iterable[str]) -> None:
        """Take messages out; those after them move up."""
        gone = [(name, text) for text in texts]
        with self._database.write() as db:
            db.executemany("DELETE FROM messages WHERE experiment = ? AND message = ?", gone)
            query = "SELECT number FROM messages WHERE experiment = ? ORDER BY number"
            left = [number for (number,) in db.execute(query, (name,))]
            db.executemany(
                "UPDATE messages SET number = ? WHERE experiment = ? AND number = ?",
                [(place, name, number) for place, number in enumerate(left, 1) if place < number],
            )
            self._histories.pop(name, None)

    def voters(self, name: str, after: str = "", limit: int | None = None) -> list[str]:
        """The enrolled voters above ``after``, in order of their keys; at most ``limit``."""
        with self._database.read() as db:
            return self.enrolled.above(db, name, after, limit)

    def post_all(
        self, posts: Sequence[tuple[str, Envelope]], *, most: int | None = None
    ) -> list[Receipt]:
        """Post messages in their order, in one transaction: one wait for the disk serves all."""
        for name, envelope in posts:
            if name not in self._histories:
                self._history(self.spec(name))  # it may take seconds: others can write meanwhile
            verify(envelope, self.scope(name))  # remembered: not while the file is locked
        receipts: list[Receipt] = []
        ledgers: dict[str, _Ledger] = {}
        try:
            with self._database.write(durable=self._durable) as db:
                for name, envelope in posts:
                    if name not in ledgers:
                        history = self._history(self.spec(name))
                        ledgers[name] = _Ledger(self, db, self.get(name), history)
                    ledger = ledgers[name]
                    receipts.append(admit(envelope, ledger, most) or ledger.add(envelope))
        except BaseException:
            for name in ledgers:  # their histories have taken in what is not in the file
                self._histories.pop(name, None)
            raise
        return receipts

    def check_writable(self) -> None:
        """Write something that takes room of its own; StoreError if that does not work."""
        with self._database.write() as db:
            (beat,) = db.execute("SELECT coalesce(max(rowid), 0) FROM pulse").fetchone()
            db.execute("INSERT INTO pulse VALUES (zeroblob(4096))")
            db.execute("DELETE FROM pulse WHERE rowid <= ?", (beat,))

    def look(self, name: str, draw: Callable[[History], T]) -> T:
        """What a function makes of an experiment's messages, all that are in the file."""
        spec = self.spec(name)
        with self._database.read():
            return draw(self._history(spec))

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

    def rows_of(self, name: str, voter: str) -> tuple[int, list[Row]]:
        """The board's last number, and the messages of one voter."""
        with self._database.read() as db:
            rows = db.execute(
                "SELECT number, message, signature FROM messages WHERE experiment=? AND "
                "voter=? ORDER BY number",
                (name, voter),
            ).fetchall()
        return self.rows(name, limit=0)[0], rows

    def rows(self, name: str, after: int = 0, limit: int | None = None) -> tuple[int, list[Row]]:
        """The board's last number, and the messages above ``after``; the first ``limit``."""
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

    def standing_of(self, name: str) -> ExperimentState:
        """The state of an experiment as it was set; UnknownExperiment if it is not there."""
        with self._database.read() as db:
            _check_there(db, name)
            return _standing(db, name)

    def change(self, name: str, **change: Unpack[Change]) -> ExperimentState:
        """Put an experiment into another state, or give it another end; the rest stays."""
        with self._database.write() as db:
            _check_there(db, name)
            new = _standing(db, name).changed(self.clock(), change)
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

    def add_invites(self, name: str, hashes: Sequence[str], expires: int | None) -> None:
        """Keep new invites."""
        with self._database.write() as db:
            db.executemany(
                "INSERT INTO invites (experiment, hash, expires) VALUES (?, ?, ?)",
                [(name, hashed, expires) for hashed in sorted(hashes)],
            )

    def revoke(
        self, name: str, *, voters: Collection[str] = (), invites: Collection[str] = ()
    ) -> Revocation:
        """Take nothing more from these voters, and let nobody enrol by these invites."""
        with self._database.write() as db:
            _check_there(db, name)
            known = [voter for voter in voters if self.enrolled.has(db, name, voter)]
            devices = db.executemany(
                "INSERT OR IGNORE INTO revoked VALUES (?, ?)", [(name, voter) for voter in known]
            ).rowcount
            taken = db.executemany(
                "DELETE FROM invites WHERE experiment = ? AND used = 0 AND hash = ?",
                [(name, hash_of(text)) for text in invites],
            ).rowcount
        taken = max(taken, 0)
        vain = len(voters) - len(known) + len(invites) - taken
        return Revocation(max(devices, 0), taken, vain)

    def revoke_all_invites(self, name: str) -> Revocation:
        """Let nobody enrol by any invite made so far."""
        with self._database.write() as db:
            _check_there(db, name)
            query = "DELETE FROM invites WHERE experiment = ? AND used = 0"
            return Revocation(invites=db.execute(query, (name,)).rowcount)

    def counts(self, name: str) -> tuple[InviteCounts, int]:
        """How many invites there are of each kind, and how many devices are revoked."""
        with self._database.read() as db:
            query = "SELECT count(*) FROM revoked WHERE experiment = ?"
            (revoked,) = db.execute(query, (name,)).fetchone()
            made, used, expired = db.execute(
                "SELECT count(*), coalesce(sum(used), 0), "
                "coalesce(sum(used = 0 AND expires IS NOT NULL AND expires <= ?), 0) "
                "FROM invites WHERE experiment = ?",
                (self.clock(), name),
            ).fetchone()
        return InviteCounts(made - used - expired, used, expired), revoked

    def content(self, name: str) -> Content:
        """All that is kept of an experiment, as of one moment."""
        unused = "SELECT hash, expires FROM invites WHERE experiment = ? AND used = 0 ORDER BY hash"
        revoked = "SELECT voter FROM revoked WHERE experiment = ? ORDER BY voter"
        with self._database.write() as db:  # nobody else writes meanwhile
            return Content(
                self.get(name),
                _standing(db, name),
                self.voters(name),
                [voter for (voter,) in db.execute(revoked, (name,))],
                db.execute(unused, (name,)).fetchall(),
                self.rows(name)[1],
            )

    def put(self, content: Content) -> None:
        """Keep an experiment as another store has it, in one transaction."""
        name = content.experiment.name
        receipt = self.create(content.experiment)
        if receipt.outcome is not Outcome.ACCEPTED:
            raise StoreError(f"Experiment {name!r} is there already.\nUse a new file.")
        moments = {expires for _, expires in content.invites}
        for moment in moments:
            self.add_invites(name, [text for text, at in content.invites if at == moment], moment)
        with self._database.write() as db:
            self.enrolled.add(db, name, content.voters)
            texts = [(name, n, json.loads(t)["voter"], t, s) for n, t, s in content.rows]
            db.executemany("INSERT INTO messages VALUES (?, ?, ?, ?, ?)", texts)
            revoked = [(name, voter) for voter in content.revoked]
            db.executemany("INSERT INTO revoked VALUES (?, ?)", revoked)
            row = (name, content.standing.state, content.standing.ends)
            db.execute("INSERT INTO standings VALUES (?, ?, ?)", row)

    def take_names(self, names: Iterable[str]) -> None:
        """Give these names to no experiment."""
        with self._database.write() as db:
            query = "INSERT OR IGNORE INTO deleted VALUES (?)"
            db.executemany(query, [(name,) for name in names])


def _is_deleted(db: sqlite3.Connection, name: str) -> bool:
    query = "SELECT 1 FROM deleted WHERE name = ?"
    return db.execute(query, (name,)).fetchone() is not None


def _check_there(db: sqlite3.Connection, name: str) -> None:
    query = "SELECT 1 FROM experiments WHERE name = ?"
    if db.execute(query, (name,)).fetchone() is None:
        raise unknown(name, deleted=_is_deleted(db, name))


def _standing(db: sqlite3.Connection, name: str) -> ExperimentState:
    query = "SELECT state, ends FROM standings WHERE experiment = ?"
    row = db.execute(query, (name,)).fetchone()
    return ExperimentState() if row is None else ExperimentState(*row)
