"""What a server keeps, in one SQLite file: experiments, who is enrolled, invites and messages.

One person with a thousand keys is the attack that breaks any vote; a single-use invite makes
each further key cost one more invite. Which messages may be posted is ``admission``'s business: the
store keeps a history of each experiment in memory, and brings it up to date with the file before it
asks. A store that servers share (``jetstream.store``) keeps what it reads in the same tables.

Nothing else is stored: no address, no time of a message, no link from an invite to a voter, and
of an invite only its hash and when it expires. A message is kept in its one JSON spelling, and a
UNIQUE constraint on that text keeps it from being counted twice, whatever its kind.

The bytes of the file show who is enrolled and not in which order. A used invite differs from
another by one bit that is changed in its place. The first bits of a voter's key choose its block; a
block has a fixed size, holds its keys sorted, and is overwritten in its place. When one is full,
all are written anew in twice as many, so that the number of blocks depends on the keys alone too.
The log beside the file would show which invite and which key were written together: it is truncated
after each enrolment.
"""

import json
import secrets
import sqlite3
import time
from bisect import bisect_right, insort
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, Unpack

from devote.boards.admission import (
    SETTINGS,
    UNSIGNED,
    Receipt,
    admit,
    admit_experiment,
    admit_voter,
    admit_withdrawal,
    no_invite,
)
from devote.boards.board import (
    OPENED,
    BoardRefused,
    Change,
    Envelope,
    Experiment,
    ExperimentState,
    Outcome,
    TallySnapshot,
    UnreadableExperiment,
    as_date,
    unknown,
)
from devote.boards.database import Database, Layout, StoreError
from devote.boards.identity import (
    Identity,
    begin_chain,
    extend_chain,
    hash_of,
    verify,
    verify_enrolment,
)
from devote.checks import Checks
from devote.extras import naming_extras
from devote.protocol import ExperimentSpec, Message, SpecError, to_json
from devote.protocol.messages import OPERATOR, Scope, Withdrawal, entry, from_json, kind_of
from devote.protocol.scheme import Estimates, Tally

T = TypeVar("T")

Row = tuple[int, str, str]
"""Number, JSON text and signature of a message."""

EnrolmentRequest = tuple[str, str, str | None]
"""An experiment, a voter who has signed that it wants to take part, and its invite."""

AT_ONCE = 10_000
"""Rows that are read into memory at once."""

TABLES = """
CREATE TABLE experiments (
    name TEXT PRIMARY KEY, spec TEXT NOT NULL, fingerprint TEXT NOT NULL,
    enrolment TEXT NOT NULL, players INTEGER, board TEXT NOT NULL,
    baseline TEXT NOT NULL, log TEXT NOT NULL, enrolled INTEGER NOT NULL DEFAULT 0,
    state TEXT NOT NULL DEFAULT 'open', ends INTEGER, delete_after INTEGER,
    secret TEXT
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
CREATE TABLE revoked (
    experiment TEXT NOT NULL, voter TEXT NOT NULL, PRIMARY KEY (experiment, voter)
) STRICT, WITHOUT ROWID;
CREATE TABLE deleted (name TEXT PRIMARY KEY) STRICT;
CREATE TABLE pulse (beat BLOB NOT NULL) STRICT
"""
"""``secret`` signs snapshots of an experiment. ``deleted`` are the names that are not given again,
``pulse`` is what a health check writes.
"""

LAYOUT = Layout(what="board store", application=0x64767465, version=1, tables=TABLES)


# What the messages of an experiment come to.

MARKS = 2_000
"""At most so many marks; with more messages than that, neighbours in a lane share one."""

POINTS = 64
"""At most so many points of a course, and fewer with more than a few dozen arms."""

LATEST = 50
"""At most so many messages of one device are kept, the latest."""

VOTERS = 10_000
"""With more voters than this, messages are no longer counted by voter."""


class Timeline:
    """Messages by lane and number, in steps that grow with the board.

    >>> timeline = Timeline(most=2)
    >>> for number in (1, 2, 3):
    ...     timeline.add("vote", 0, number)
    >>> timeline.step, timeline.lane("vote", 0)
    (2, [[1, 2], [3, 1]])
    """

    def __init__(self, most: int = MARKS) -> None:
        self.step = 1
        self._most = most
        self._lanes: dict[tuple[str, int | None], Counter[int]] = {}
        self._marks = 0

    def add(self, kind: str, arm: int | None, number: int) -> None:
        """Mark a message; ``arm`` is None for one that names none."""
        counts = self._lanes.setdefault((kind, arm), Counter())
        before = len(counts)
        counts[(number - 1) // self.step] += 1
        self._marks += len(counts) - before
        # Two marks per lane are always allowed: with that many lanes there is little to gain.
        while self._marks > max(self._most, 2 * len(self._lanes)):
            self.step *= 2
            for lane, counts in self._lanes.items():
                merged: Counter[int] = Counter()
                for place, count in counts.items():
                    merged[place // 2] += count
                self._lanes[lane] = merged
            self._marks = sum(map(len, self._lanes.values()))

    def lane(self, kind: str, arm: int | None) -> list[list[int]]:
        """The marks of one lane: the first number of a step, and how many messages it holds."""
        counts = self._lanes.get((kind, arm), Counter())
        return [[place * self.step + 1, count] for place, count in sorted(counts.items())]


class Course:
    """The estimates after every ``step``-th message; ``step`` grows with the board.

    ``points`` are pairs of a message's number and the estimates after it. A tally that estimates
    nothing has none.
    """

    def __init__(self, n_arms: int, most: int = POINTS) -> None:
        self.step = 1
        self.points: list[tuple[int, Estimates]] = []
        self._most = max(8, min(most, 40 * most // n_arms))

    def add(self, number: int, tally: Tally) -> None:
        """Take a point, if this message is one of every ``step``."""
        if number % self.step or (estimates := tally.estimates()) is None:
            return
        self.points.append((number, estimates))
        if len(self.points) == self._most:
            self.step *= 2
            self.points = [point for point in self.points if point[0] % self.step == 0]


class History:
    """The tally of a board, and in which order it came about; each message is taken in once.

    There are no times to show, as none are kept. But for the tally's own memory, what is kept does
    not grow with the board. ``number`` and ``text`` are those of the last message taken in, and
    ``head`` is the chain of digests up to it.
    ``out_at`` has for each arm that is no longer open the number of the message that closed it.
    ``latest`` has the text and the signature of the latest messages of ``first``, the voter of the
    first message. ``sent`` counts the messages of each voter, of the first ``VOTERS`` if there are
    more, and ``most`` is the highest of these counts, None if there are more.
    """

    def __init__(self, spec: ExperimentSpec, scope: Scope) -> None:
        self.spec = spec
        self.scope = scope
        self.head = begin_chain(scope)
        self.number = 0
        self.text = ""
        self.tally = spec.scheme.tally(spec)
        self.timeline = Timeline()
        self.course = Course(spec.n_arms)
        self.out_at: dict[int, int] = {}
        self.first = ""
        self.latest: deque[tuple[str, str]] = deque(maxlen=LATEST)
        self.sent: Counter[str] = Counter()
        self.most: int | None = 0
        self._open = self.tally.shared

    @property
    def voters(self) -> int | None:
        """How many voters have sent anything; None if there are too many to count."""
        if getattr(self.spec.scheme, "answers", 0) == 1:  # then each message is another voter's
            return self.number - len(self.tally.withdrawn)
        return None if self.most is None else len(self.sent)

    def public(self, experiment: Experiment) -> TallySnapshot:
        """What the messages come to, for everybody."""
        tally = self.tally.public(experiment.players)
        return TallySnapshot.of(experiment.scope, self.number, tally)

    def take(self, rows: Iterable[Row]) -> None:
        """Take in the next messages."""
        for number, text, signature in rows:
            self.add(number, text, signature, from_json(text, self.spec.n_arms))

    def add(self, number: int, text: str, signature: str, message: Message) -> None:
        """Take in the next message, whose JSON text is given too."""
        self.tally.add(message)
        self.head = extend_chain(self.head, Envelope(message, signature), self.scope)
        if self.tally.shared != self._open:
            self._open = self.tally.shared
            closed = set(range(self.spec.n_arms)).difference(self._open)
            self.out_at = {arm: self.out_at.get(arm, number) for arm in closed}
        self.timeline.add(kind_of(message).name, getattr(message, "arm", None), number)
        self.course.add(number, self.tally)
        self.number, self.text = number, text
        if (voter := message.voter) == OPERATOR:
            return
        self.first = self.first or voter
        if voter == self.first:
            self.latest.append((text, signature))
        if voter not in self.sent and len(self.sent) >= VOTERS:
            self.most = None
        else:
            self.sent[voter] += 1
            self.most = None if self.most is None else max(self.most, self.sent[voter])


# The store.


@dataclass(frozen=True)
class Revocation:
    """How many devices and invites a request has revoked, and how many it named in vain.

    In vain is a device that is not enrolled, and an invite that was used or is not there.
    """

    devices: int = 0
    invites: int = 0
    unknown: int = 0

    def __add__(self, other: "Revocation") -> "Revocation":
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Revocation(*(one + two for one, two in pairs))


@dataclass(frozen=True)
class InviteCounts:
    """How many invites can still be used, were used, and have expired unused."""

    open: int
    used: int
    expired: int


@dataclass(frozen=True)
class Content:
    """All that a store keeps of one experiment; invites are hashes and when they expire."""

    experiment: Experiment
    state: ExperimentState
    voters: list[str]
    revoked: list[str]
    invites: list[tuple[str, int | None]]
    rows: list[Row]
    secret: str | None


class Ledger:
    """One experiment within a transaction, as admission asks for it ``at`` a moment."""

    def __init__(
        self, store: "SqliteStore", db: sqlite3.Connection, name: str, at: float | None = None
    ) -> None:
        self.experiment = store.read_experiment(db, name)
        self._store = store
        self._db = db
        self._name = name
        self._at = store.clock() if at is None else at

    @cached_property
    def history(self) -> History:
        """The history of the messages."""
        return self._store.read_history(self._db, self.experiment.spec)

    @property
    def tally(self) -> Tally:
        """The tally of the messages."""
        return self.history.tally

    def is_enrolled(self, voter: str) -> bool:
        """Whether a voter was ever enrolled."""
        return is_enrolled(self._db, self._name, voter)

    def is_revoked(self, voter: str) -> bool:
        """Whether nothing more is taken from a voter."""
        query = "SELECT 1 FROM revoked WHERE experiment = ? AND voter = ?"
        return self._db.execute(query, (self._name, voter)).fetchone() is not None

    def standing(self) -> tuple[ExperimentState, float]:
        """The state of the experiment, and the moment for which it is asked."""
        return _state(self._db, self._name), self._at

    def number_of(self, message: Message) -> int | None:
        """The number of a message that is on the board."""
        query = "SELECT number FROM messages WHERE experiment = ? AND message = ?"
        row = self._db.execute(query, (self._name, to_json(message))).fetchone()
        return None if row is None else int(row[0])

    def count_of(self, voter: str) -> int:
        """How many messages of a voter are on the board."""
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

    def enrol(self, voter: str) -> Receipt:
        """Let a voter post who was admitted."""
        add_voters(self._db, self._name, [voter])
        self.experiment = replace(self.experiment, enrolled=self.experiment.enrolled + 1)
        return Receipt(Outcome.ACCEPTED)

    def use_invite(self, invite: str | None) -> bool:
        """Use up an invite, if one is needed; whether that could be done."""
        if self.experiment.enrolment != "invite":
            return True
        used = self._db.execute(
            "UPDATE invites SET used = 1 WHERE experiment = ? AND hash = ? AND used = 0 "
            "AND (expires IS NULL OR expires > ?)",
            (self._name, hash_of(invite or ""), self._at),
        )
        return used.rowcount == 1


class SqliteStore:
    """The experiments in one file. Every method is one short transaction, safe in any thread.

    ``at_once`` is how many calls it does well at once, ``one_disk`` whether the writes of all
    experiments wait for the same disk. ``clock`` decides when experiments and invites end; ``at``
    is another moment for which something is asked.
    """

    at_once = 4
    one_disk = True

    def __init__(self, path: str | Path) -> None:
        self.clock: Callable[[], float] = time.time
        self.database = Database(path, LAYOUT)
        self._experiments: dict[str, Experiment] = {}
        self._signers: dict[str, Identity] = {}
        self._histories: dict[str, History] = {}

    def close(self) -> None:
        """Close the file."""
        self.database.close()

    # Experiments.

    def create(
        self,
        experiment: Experiment,
        *,
        most: int | None = None,
        ends: int | None = None,
        delete_after: int | None = None,
    ) -> Receipt:
        """Open an experiment; duplicate if the very same is there, refused if another is.

        ``most`` is how many experiments there may be. The moments are those of its state.
        """
        state = ExperimentState().changed(
            self.clock(), {"ends": ends, "delete_after": delete_after}
        )
        return self.create_from(record_of(experiment), most=most, state=state)

    def create_from(
        self,
        record: Mapping[str, Any],
        *,
        most: int | None = None,
        state: ExperimentState | None = None,
    ) -> Receipt:
        """The same from its record, which this version of devote need not be able to read."""
        state = state or ExperimentState()
        with self.database.write() as db:
            there = db.execute(
                f"SELECT {', '.join(SETTINGS)} FROM experiments WHERE name = ?",
                (record["name"],),
            ).fetchone()
            (count,) = db.execute("SELECT count(*) FROM experiments").fetchone()
            deleted = _is_deleted(db, record["name"])
            receipt = admit_experiment(record, there, deleted=deleted, count=count, most=most)
            if receipt is None:
                row = {name: record[name] for name in ("name", "board", *SETTINGS)} | vars(state)
                row |= {"spec": json.dumps(record["spec"]), "secret": record.get("secret")}
                marks = ", ".join("?" * len(row))
                query = f"INSERT INTO experiments ({', '.join(row)}) VALUES ({marks})"
                db.execute(query, tuple(row.values()))
        return receipt or Receipt(Outcome.ACCEPTED)

    def names(self) -> list[str]:
        """The names of all experiments, in order."""
        with self.database.read() as db:
            return [name for (name,) in db.execute("SELECT name FROM experiments ORDER BY name")]

    def experiments(self) -> list[Experiment]:
        """All experiments that this version of devote can read, by name."""
        found = []
        for name in self.names():
            with suppress(UnreadableExperiment):
                found.append(self.get(name))
        return found

    def archived(self) -> set[str]:
        """The names of the experiments that are archived."""
        with self.database.read() as db:
            rows = db.execute("SELECT name FROM experiments WHERE state = 'archived'")
            return {name for (name,) in rows}

    def get(self, name: str) -> Experiment:
        """An experiment and how many are enrolled; UnknownExperiment if it is not there."""
        with self.database.read() as db:
            return self.read_experiment(db, name)

    def read_experiment(self, db: sqlite3.Connection, name: str) -> Experiment:
        """The same, within a transaction; its specification is read once."""
        row = db.execute(
            f"SELECT spec, enrolled, secret, {', '.join(OPENED)} FROM experiments WHERE name = ?",
            (name,),
        ).fetchone()
        if row is None:
            raise unknown(name, deleted=_is_deleted(db, name))
        text, enrolled, secret, *values = row
        opened = dict(zip(OPENED, values, strict=True))
        known = self._experiments.get(name)
        if known is None or known.board != opened["board"]:
            try:
                known = Experiment(ExperimentSpec.from_json(text), **opened)
            except SpecError as error:
                raise UnreadableExperiment(str(error)) from None
            if secret is not None:
                signer = self._signers[name] = Identity.from_private_bytes(bytes.fromhex(secret))
                known = replace(known, signer=signer.voter)
            self._experiments[name] = known
        return known if known.enrolled == enrolled else replace(known, enrolled=enrolled)

    def is_known(self, name: str) -> bool:
        """Whether an experiment was read before: then ``spec`` and ``scope`` need no disk."""
        return name in self._experiments

    def spec(self, name: str) -> ExperimentSpec:
        """An experiment's specification."""
        return (self._experiments.get(name) or self.get(name)).spec

    def scope(self, name: str) -> Scope:
        """Where signatures of an experiment are good."""
        return (self._experiments.get(name) or self.get(name)).scope

    def standing(self, name: str) -> ExperimentState:
        """The state of an experiment now; UnknownExperiment if it is not there."""
        with self.database.read() as db:
            state = _state(db, name)
        return replace(state, state=state.now(self.clock()))

    def change(
        self, name: str, *, at: float | None = None, **change: Unpack[Change]
    ) -> ExperimentState:
        """Put an experiment into another state, or give it another end; the rest stays.

        A moment of None is taken away. One that is opened again loses an end that has passed.
        """
        with self.database.write() as db:
            new = _state(db, name).changed(self.clock() if at is None else at, change)
            query = "UPDATE experiments SET state = ?, ends = ?, delete_after = ? WHERE name = ?"
            db.execute(query, (new.state, new.ends, new.delete_after, name))
        return new

    def overdue(self) -> list[str]:
        """The names of the experiments that are to be deleted by now."""
        with self.database.read() as db:
            query = "SELECT name FROM experiments WHERE delete_after <= ?"
            return [name for (name,) in db.execute(query, (self.clock(),))]

    def delete(self, name: str) -> None:
        """Delete an experiment and all that belongs to it; its name stays taken.

        What was deleted is overwritten in the file. Backups and copies keep it.
        """
        with self.database.write() as db:
            _state(db, name)
            self._delete_rows(db, name)
        self.database.truncate_wal()

    def _delete_rows(self, db: sqlite3.Connection, name: str) -> None:
        for table in ("messages", "voters", "invites", "revoked"):
            db.execute(f"DELETE FROM {table} WHERE experiment = ?", (name,))
        db.execute("DELETE FROM experiments WHERE name = ?", (name,))
        db.execute("INSERT OR IGNORE INTO deleted VALUES (?)", (name,))
        self._experiments.pop(name, None)
        self._signers.pop(name, None)
        self._histories.pop(name, None)

    # Voters and invites.

    def enrol(
        self,
        name: str,
        *,
        voter: str,
        signature: str,
        invite: str | None = None,
        most: int | None = None,
    ) -> Receipt:
        """Let a voter post who has signed that: accepted, duplicate, or refused."""
        if not verify_enrolment(voter=voter, scope=self.scope(name), signature=signature):
            return UNSIGNED
        return self.enrol_all([(name, voter, invite)], most=most)[0]

    def enrol_all(
        self,
        requests: Sequence[EnrolmentRequest],
        *,
        most: int | None = None,
        at: float | None = None,
        has_invites: bool = True,
    ) -> list[Receipt]:
        """Let voters post whose requests are signed; what became of each.

        ``most`` bounds the voters of an experiment beside its own players. Afterwards nothing
        that is kept shows which invite came with which voter. Without ``has_invites`` the invites
        are kept, and were taken, elsewhere.
        """
        receipts: list[Receipt] = []
        ledgers: dict[str, Ledger] = {}
        with self.database.write() as db:
            for name, voter, invite in requests:
                if name not in ledgers:
                    ledgers[name] = Ledger(self, db, name, at)
                ledger = ledgers[name]
                receipt = admit_voter(voter, ledger, most)
                if receipt is None and has_invites and not ledger.use_invite(invite):
                    receipt = no_invite(invite)
                receipts.append(receipt or ledger.enrol(voter))
        if any(receipt.outcome is Outcome.ACCEPTED for receipt in receipts):
            with suppress(StoreError):  # they are enrolled; the next write tries again
                self.database.truncate_wal()
        return receipts

    def admit_known(self, name: str, voters: Iterable[str]) -> None:
        """Let voters post who were checked elsewhere, as by a certificate."""
        known = list(voters)
        with self.database.write() as db:
            add_voters(db, name, known)
            query = "DELETE FROM revoked WHERE experiment = ? AND voter = ?"
            db.executemany(query, [(name, voter) for voter in known])

    def voters(self, name: str, after: str = "", limit: int | None = None) -> list[str]:
        """The enrolled voters above ``after``, in order of their keys; at most ``limit``."""
        with self.database.read() as db:
            return voters_above(db, name, after, limit)

    def invite(self, name: str, count: int, expires: int | None = None) -> list[str]:
        """New single-use invites: the only time they can be read, as only hashes are kept.

        An invite is 128 random bits, so that nobody finds one by trying. ``expires`` is the moment,
        in seconds since 1970, from which on they are no longer good.
        """
        Checks(BoardRefused).whole("count", count, least=1, remedy="It is how many to make.")
        if expires is not None and expires <= self.clock():
            raise BoardRefused(f"The moment {as_date(expires)} has passed.\nGive a later one.")
        self.spec(name)
        invites = [secrets.token_urlsafe(16) for _ in range(count)]
        self.add_invites(name, [(hash_of(invite), expires) for invite in invites])
        return invites

    def add_invites(self, name: str, invites: Iterable[tuple[str, int | None]]) -> None:
        """Keep new invites: the hash of each, and when it expires."""
        with self.database.write() as db:
            db.executemany(
                "INSERT OR REPLACE INTO invites (experiment, hash, expires) VALUES (?, ?, ?)",
                [(name, hashed, expires) for hashed, expires in sorted(invites)],
            )

    def revoke(
        self, name: str, *, voters: Collection[str] = (), invites: Collection[str] = ()
    ) -> Revocation:
        """Take nothing more from these voters, and let nobody enrol by these invites.

        A revoked device stays in the list of voters, and what it sent before stays and counts: the
        log only ever grows, so that whoever has read it can check it.
        """
        with self.database.write() as db:
            _state(db, name)
            known = [(name, voter) for voter in voters if is_enrolled(db, name, voter)]
            gone = [(name, hash_of(text)) for text in invites]
            devices = db.executemany("INSERT OR IGNORE INTO revoked VALUES (?, ?)", known).rowcount
            query = "DELETE FROM invites WHERE experiment = ? AND hash = ? AND used = 0"
            taken = db.executemany(query, gone).rowcount
        devices, taken = max(0, devices), max(0, taken)
        return Revocation(devices, taken, len(voters) - len(known) + len(invites) - taken)

    def revoke_all_invites(self, name: str) -> Revocation:
        """Let nobody enrol by any invite made so far."""
        with self.database.write() as db:
            _state(db, name)
            query = "DELETE FROM invites WHERE experiment = ? AND used = 0"
            return Revocation(invites=db.execute(query, (name,)).rowcount)

    def counts(self, name: str) -> tuple[InviteCounts, int]:
        """How many invites there are of each kind, and how many devices are revoked."""
        with self.database.read() as db:
            made, used, expired = db.execute(
                "SELECT count(*), coalesce(sum(used), 0), "
                "coalesce(sum(used = 0 AND expires IS NOT NULL AND expires <= ?), 0) "
                "FROM invites WHERE experiment = ?",
                (self.clock(), name),
            ).fetchone()
            return InviteCounts(made - used - expired, used, expired), len(_revoked(db, name))

    # Messages.

    def post(self, name: str, envelope: Envelope, *, most: int | None = None) -> Receipt:
        """Post a message: accepted, duplicate, or refused."""
        return self.post_all([(name, envelope)], most=most)[0]

    def post_all(
        self,
        posts: Sequence[tuple[str, Envelope]],
        *,
        most: int | None = None,
        at: float | None = None,
        check: Callable[[Envelope, Scope], bool] = verify,
    ) -> list[Receipt]:
        """Post messages in their order; what became of each. One wait for the disk serves all.

        ``most`` bounds the messages of one voter, who could otherwise fill the disk. ``check`` is
        the check of a signature.
        """
        for name, envelope in posts:
            if name not in self._histories:
                self.look(name, lambda _: None)  # it may take seconds: others can write meanwhile
            check(envelope, self.scope(name))  # cached: not while the file is locked
        receipts: list[Receipt] = []
        ledgers: dict[str, Ledger] = {}
        try:
            with self.database.write() as db:
                for name, envelope in posts:
                    if name not in ledgers:
                        ledgers[name] = Ledger(self, db, name, at)
                    ledger = ledgers[name]
                    receipts.append(admit(envelope, ledger, most, check) or ledger.add(envelope))
        except BaseException:
            for name in ledgers:  # their histories have taken in what is not in the file
                self._histories.pop(name, None)
            raise
        return receipts

    def withdraw(self, name: str, arm: int, *, at: float | None = None) -> Receipt:
        """Enter in the log that an arm is withdrawn; refused twice, and where it is too late."""
        self.look(name, lambda _: None)  # it may take seconds: others can write meanwhile
        message = Withdrawal(name, arm)
        envelope = Envelope(message, entry(message, self.scope(name)))
        try:
            with self.database.write() as db:
                ledger = Ledger(self, db, name, at)
                return admit_withdrawal(envelope, ledger) or ledger.add(envelope)
        except BaseException:
            self._histories.pop(name, None)  # it has taken in what is not in the file
            raise

    def clear(self, name: str) -> None:
        """Take all messages out."""
        with self.database.write() as db:
            db.execute("DELETE FROM messages WHERE experiment = ?", (name,))
            self._histories.pop(name, None)

    def look(self, name: str, draw: Callable[[History], T]) -> T:
        """What a function makes of an experiment's messages; nothing is posted meanwhile."""
        spec = self.spec(name)
        with self.database.read() as db:
            return draw(self.read_history(db, spec))

    def read_history(self, db: sqlite3.Connection, spec: ExperimentSpec) -> History:
        """The history of all rows in the file, within a transaction.

        It takes in the rows that this or another process has written since. If the last row it
        knows is no longer there, an older file was put back, and it begins anew.
        """
        # Taken out meanwhile: a history that fails half way is not used again.
        history = self._histories.pop(spec.name, None) or self._new_history(spec)
        known = _rows(db, spec.name, max(history.number - 1, 0), 1)
        if history.number and [row[:2] for row in known] != [(history.number, history.text)]:
            history = self._new_history(spec)
        with self.database.decoding():
            while rows := _rows(db, spec.name, history.number, AT_ONCE):
                history.take(rows)
        self._histories[spec.name] = history
        return history

    def mismatches(self) -> list[str]:
        """Of the experiments that are in use: where answers are missing for a reason."""
        with self.database.read():
            return sorted(n for n, each in self._histories.items() if each.tally.mismatch)

    def _new_history(self, spec: ExperimentSpec) -> History:
        return History(spec, self.scope(spec.name))

    def tally(self, name: str) -> TallySnapshot:
        """What an experiment's messages come to, signed."""
        experiment, signer = self.get(name), self._signers.get(name)

        def draw(history: History) -> tuple[TallySnapshot, str]:
            return history.public(experiment), history.head.hex()

        tally, head = self.look(name, draw)
        if signer is None:
            return tally
        return replace(tally, signed=signer.sign_snapshot(tally, head, self.clock()))

    def rows(self, name: str, after: int = 0, limit: int | None = None) -> tuple[int, list[Row]]:
        """The board's last number, and the messages above ``after``; at most ``limit``, the first.

        A last number below ``after`` says that the board is an older one, from a backup.
        """
        with self.database.read() as db:
            return _last(db, name), _rows(db, name, after, -1 if limit is None else limit)

    def rows_of(self, name: str, voter: str) -> tuple[int, list[Row]]:
        """The board's last number, and the messages of one voter."""
        query = (
            "SELECT number, message, signature FROM messages WHERE experiment = ? AND voter = ? "
            "ORDER BY number"
        )
        with self.database.read() as db:
            return _last(db, name), db.execute(query, (name, voter)).fetchall()

    def content(self, name: str) -> Content:
        """All that is kept of an experiment, as of one moment."""
        unused = "SELECT hash, expires FROM invites WHERE experiment = ? AND used = 0 ORDER BY hash"
        with self.database.write() as db:  # nobody else writes meanwhile
            return Content(
                self.read_experiment(db, name),
                _state(db, name),
                voters_above(db, name),
                _revoked(db, name),
                db.execute(unused, (name,)).fetchall(),
                _rows(db, name),
                _secret(db, name),
            )

    def check_writable(self) -> None:
        """Write something that takes room of its own; StoreError if that does not work."""
        with self.database.write() as db:
            (beat,) = db.execute("SELECT coalesce(max(rowid), 0) FROM pulse").fetchone()
            db.execute("INSERT INTO pulse VALUES (zeroblob(4096))")
            db.execute("DELETE FROM pulse WHERE rowid <= ?", (beat,))


def record_of(experiment: Experiment, secret: str | None = None) -> dict[str, Any]:
    """What is kept of an experiment when it is opened, as JSON values.

    A ``secret`` with which to sign is drawn, unless it is given or peers do without a server.
    """
    if secret is None and not experiment.spec.issuer:
        secret = Identity.generate().to_private_bytes().hex()
    return {**experiment.facts, "spec": experiment.spec.to_dict(), "secret": secret}


def _secret(db: sqlite3.Connection, name: str) -> str | None:
    row = db.execute("SELECT secret FROM experiments WHERE name = ?", (name,)).fetchone()
    return None if row[0] is None else str(row[0])


def _is_deleted(db: sqlite3.Connection, name: str) -> bool:
    return db.execute("SELECT 1 FROM deleted WHERE name = ?", (name,)).fetchone() is not None


def _state(db: sqlite3.Connection, name: str) -> ExperimentState:
    """The state as the operator set it, whatever the moment; UnknownExperiment if not there."""
    query = "SELECT state, ends, delete_after FROM experiments WHERE name = ?"
    row = db.execute(query, (name,)).fetchone()
    if row is None:
        raise unknown(name, deleted=_is_deleted(db, name))
    return ExperimentState(*row)


def _revoked(db: sqlite3.Connection, name: str) -> list[str]:
    query = "SELECT voter FROM revoked WHERE experiment = ? ORDER BY voter"
    return [voter for (voter,) in db.execute(query, (name,))]


def _last(db: sqlite3.Connection, name: str) -> int:
    query = "SELECT coalesce(max(number), 0) FROM messages WHERE experiment = ?"
    return int(db.execute(query, (name,)).fetchone()[0])


def _rows(db: sqlite3.Connection, name: str, after: int = 0, limit: int = -1) -> list[Row]:
    """The messages above a number, the first ``limit``; all of them if that is -1."""
    query = (
        "SELECT number, message, signature FROM messages WHERE experiment = ? AND number > ? "
        "ORDER BY number LIMIT ?"
    )
    return db.execute(query, (name, after, limit)).fetchall()


# Blocks of enrolled voters.

KEY = 32
FULL = 62
"""Keys in a block: two blocks fill a page of the file."""


def is_enrolled(db: sqlite3.Connection, experiment: str, voter: str) -> bool:
    """Whether a voter is enrolled."""
    try:
        key = bytes.fromhex(voter)
    except ValueError:
        return False
    return key.hex() == voter and key in _block(db, experiment, key)[1]


def voters_above(
    db: sqlite3.Connection, experiment: str, after: str = "", limit: int | None = None
) -> list[str]:
    """The voters above a key, in order; at most ``limit``."""
    found: list[str] = []
    first = int((after + "0" * 8)[:8], 16) * _blocks(db, experiment) >> 32
    query = "SELECT keys FROM voters WHERE experiment = ? AND block >= ? ORDER BY block"
    for (block,) in db.execute(query, (experiment, first)):
        found += (key.hex() for key in _unpacked(block))
        if limit is not None and bisect_right(found, after) + limit <= len(found):
            break
    start = bisect_right(found, after)
    return found[start : None if limit is None else start + limit]


def add_voters(db: sqlite3.Connection, experiment: str, voters: Iterable[str]) -> None:
    """Enrol voters; those who are enrolled stay so."""
    for voter in voters:
        key = bytes.fromhex(voter)
        place, keys = _block(db, experiment, key)
        if key in keys:
            continue
        insort(keys, key)
        if len(keys) > FULL or not _blocks(db, experiment):
            _write_blocks(db, experiment, keys)
        else:
            query = "UPDATE voters SET keys = ? WHERE experiment = ? AND block = ?"
            db.execute(query, (_packed(keys), experiment, place))
        query = "UPDATE experiments SET enrolled = enrolled + 1 WHERE name = ?"
        db.execute(query, (experiment,))


def _write_blocks(db: sqlite3.Connection, experiment: str, more: list[bytes]) -> None:
    """Write the keys that are there and more, into as many blocks as it takes, a power of two."""
    there = db.execute("SELECT keys FROM voters WHERE experiment = ?", (experiment,)).fetchall()
    keys = sorted({*more, *(key for (block,) in there for key in _unpacked(block))})
    blocks: list[list[bytes]] = []
    while not blocks or max(map(len, blocks)) > FULL:
        blocks = [[] for _ in range(2 * len(blocks) or 1)]
        for key in keys:
            blocks[_place(key, len(blocks))].append(key)
    db.execute("DELETE FROM voters WHERE experiment = ?", (experiment,))
    rows = ((experiment, place, _packed(block)) for place, block in enumerate(blocks))
    db.executemany("INSERT INTO voters VALUES (?, ?, ?)", rows)


def _blocks(db: sqlite3.Connection, experiment: str) -> int:
    query = "SELECT coalesce(max(block) + 1, 0) FROM voters WHERE experiment = ?"
    return int(db.execute(query, (experiment,)).fetchone()[0])


def _block(db: sqlite3.Connection, experiment: str, key: bytes) -> tuple[int, list[bytes]]:
    """The place of a key's block, and the keys in it."""
    place = _place(key, _blocks(db, experiment))
    query = "SELECT keys FROM voters WHERE experiment = ? AND block = ?"
    row = db.execute(query, (experiment, place)).fetchone()
    return place, [] if row is None else _unpacked(row[0])


def _place(key: bytes, count: int) -> int:
    return int.from_bytes(key[:4], "big") * count >> 32


def _packed(keys: list[bytes]) -> bytes:
    return (bytes([len(keys)]) + b"".join(keys)).ljust(1 + KEY * FULL, b"\0")


def _unpacked(block: bytes) -> list[bytes]:
    return [block[at : at + KEY] for at in range(1, 1 + KEY * block[0], KEY)]


def is_nats(where: object) -> bool:
    """Whether a place is an address on NATS, and not the path of a file.

    >>> is_nats("nats://127.0.0.1:4222"), is_nats("devote-server.db")
    (True, False)
    """
    return isinstance(where, str) and where.startswith(("nats://", "tls://"))


def open_store(where: str | Path) -> SqliteStore:
    """The store at the path of a file, or at an address such as ``nats://127.0.0.1:4222``."""
    if is_nats(where):
        with naming_extras():
            from devote.boards.jetstream.store import JetStreamStore
        return JetStreamStore(str(where))
    return SqliteStore(where)
