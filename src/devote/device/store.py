"""All that a device must not forget, in one SQLite file.

Every step is one transaction, committed before anything is sent or returned, so a process killed
at any instant finds on restart either all of a step or none of it. A reward goes in together with
the player that has learned it and the messages that follow from it: no reward counts twice and no
message is lost. Posting is idempotent, so a message that is sent again has no effect.

A power cut is harsher than a kill. Steps that only this device knows of (a pull, a reward, what
was read) are committed without waiting for the disk: the file stays whole, but the last such
steps may be gone. A step after which a message waits to be sent waits for the disk, and with it
all steps before it. So a power cut may cost at most the last rewards, never a message that was
sent, nor the memory of having sent it.

The file is locked for as long as it is open: two processes never share a store. Messages read
from the board have their own table, so a step costs the same however many there are.
"""

import json
import sqlite3
from contextlib import closing, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from devote.boards.board import Envelope, Experiment, SignedSnapshot
from devote.boards.database import Database, Layout, StoreError, StoreMismatch
from devote.boards.identity import Identity
from devote.boards.logs import Remembered, Statement, snapshot_of
from devote.device.steps import NOTHING_ELSE, Bookmark, Change, Entry, Record, count_own
from devote.protocol import (
    ExperimentSpec,
    LocalProtocolError,
    Message,
    from_json,
    restore_player,
    to_json,
)
from devote.protocol.messages import Scope

TABLES = """
CREATE TABLE device (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    secret BLOB NOT NULL,
    experiment TEXT NOT NULL,
    board TEXT,
    fingerprint TEXT,
    spec TEXT,
    players INTEGER,
    signer TEXT NOT NULL DEFAULT '',
    player TEXT,
    plays TEXT NOT NULL DEFAULT '',
    pending_at REAL,
    reply_at REAL,
    cursor INTEGER NOT NULL DEFAULT 0,
    anchor TEXT NOT NULL DEFAULT '',
    complete INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE log (number INTEGER, message TEXT NOT NULL UNIQUE, signature TEXT NOT NULL);
CREATE TABLE outbox (
    seq INTEGER PRIMARY KEY,
    message TEXT NOT NULL UNIQUE,
    signature TEXT NOT NULL,
    delivery TEXT NOT NULL CHECK (delivery IN ('waiting', 'sent', 'shown', 'refused')),
    has_left INTEGER NOT NULL,
    leaves_at REAL
);
CREATE TABLE snapshots (number INTEGER, at INTEGER, snapshot TEXT NOT NULL UNIQUE)
"""
"""``device`` has one row, with the key, from before the device asks to be enrolled; ``board`` and
``fingerprint`` are those of the first join, for good, and ``spec`` is there once it has joined.
``log`` is what the board has shown, by its numbers; a message without a number was there before the
board was restored from a backup, and has not been seen there since. Times are in seconds since
1970.
"""

LAYOUT = Layout(
    what="device store",
    application=0x64766F74,  # dvot
    version=1,
    tables=TABLES,
)

SNAPSHOTS = 8
"""So many signed snapshots are kept, the latest."""

_PLAYED = "UPDATE device SET player = ?, plays = ?, pending_at = ?, reply_at = ?"
_READ = "UPDATE device SET cursor = ?, anchor = ?, complete = ?"
_PUT = (
    "INSERT INTO outbox (message, signature, delivery, has_left, leaves_at) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (message) DO UPDATE SET delivery = excluded.delivery,"
    " has_left = excluded.has_left, leaves_at = excluded.leaves_at"
)
_LOG = (
    "INSERT INTO log VALUES (?, ?, ?) ON CONFLICT (message) DO UPDATE"
    " SET number = excluded.number WHERE log.number IS NULL"
)


class Store:
    """One device's state on disk.

    ``is_new``: its key was made since it was opened, so it cannot be an older copy of itself.
    """

    def __init__(self, database: Database) -> None:
        self.database = database
        self.path = database.path
        self.is_new = False
        self._bookmark: Bookmark | None = None

    @classmethod
    def open(cls, path: str | Path) -> "Store":
        """Open a store for this process alone, making an empty one if there is none."""
        return cls(Database(path, LAYOUT, alone=True))

    @property
    def is_bound(self) -> bool:
        """Whether the key is meant for one board and specification."""
        return self._rows("SELECT 1 FROM device WHERE board IS NOT NULL") != []

    @property
    def has_joined(self) -> bool:
        """Whether the device takes part in an experiment."""
        return self._rows("SELECT 1 FROM device WHERE spec IS NOT NULL") != []

    def identity(self, experiment: str, key: Identity | None = None) -> Identity:
        """The device's key in the experiment of this name.

        It is ``key``, or a new one, and is stored, the first time that it is asked for.
        """
        with self.database.write() as db:
            row = db.execute("SELECT secret, experiment FROM device").fetchone()
            if row is None:
                row = ((key or Identity.generate()).to_private_bytes(), experiment)
                db.execute("INSERT INTO device (id, secret, experiment) VALUES (1, ?, ?)", row)
                self.is_new = True
        secret, name = row
        if name != experiment:
            raise StoreMismatch(
                f"The device store {self.path!r} belongs to experiment {name!r}, "
                f"not to {experiment!r}.\nGive each experiment its own store."
            )
        with self.database.decoding():
            return Identity.from_private_bytes(secret)

    def bind(self, scope: Scope) -> None:
        """Use the key for this board and specification, and from now on for no other."""
        with self.database.write() as db:
            bound = db.execute("SELECT board, fingerprint FROM device").fetchone()
            if bound == (None, None):
                bound = (scope.board, scope.fingerprint)
                db.execute("UPDATE device SET board = ?, fingerprint = ?", bound)
        if bound != (scope.board, scope.fingerprint):
            raise StoreMismatch(
                f"The device store {self.path!r} was made for another board or specification.\n"
                "Use a new store."
            )

    def join(self, experiment: Experiment, identity: Identity) -> None:
        """Store a device that has been enrolled and has not played yet."""
        spec = experiment.spec
        player = spec.scheme.player(spec, identity.voter).to_json()
        self.bind(experiment.scope)
        with self.database.write() as db:
            row = (spec.to_json(), experiment.players, experiment.signer, player)
            db.execute("UPDATE device SET spec = ?, players = ?, signer = ?, player = ?", row)

    def load(self) -> Record:
        """The record of a device that has joined; what was read is counted."""
        (row,) = self._rows(
            "SELECT secret, board, fingerprint, spec, players, signer, player, plays, pending_at,"
            " reply_at, cursor, anchor, complete FROM device"
        )
        secret, board, fingerprint, text, players, signer, saved, plays, *moments = row[:-3]
        (pending_at, reply_at), (at, anchor, done) = moments, row[-3:]
        with self.database.decoding():
            spec = _spec(text)
            if spec.fingerprint != fingerprint:
                raise ValueError("another specification")
            try:
                player = restore_player(spec, json.loads(saved))
            except LocalProtocolError as error:
                raise StoreMismatch(
                    f"The device store {self.path!r} cannot be used: {error}"
                ) from None
            record = Record(
                Scope(board, fingerprint),
                spec,
                players,
                Identity.from_private_bytes(secret),
                player,
                plays,
                Bookmark(at, tuple(anchor.split()), bool(done)),
                self._outbox(spec),
                pending_at,
                reply_at,
                signer,
            )
            for envelope, _ in self.log(spec):
                record.tally.add(envelope.message)
            count_own(record)
        self._bookmark = record.bookmark
        return record

    def save(self, record: Record, change: Change) -> None:
        """Store a step: all of it or nothing. It is in the file when this returns."""
        played = (record.player.to_json(), record.plays, record.pending_at, record.reply_at)
        if change is NOTHING_ELSE and record.bookmark is self._bookmark:
            self.database.write_one(_PLAYED, played)
            return
        is_durable = bool(change.outbox or change.removed)
        with self.database.write(durable=is_durable) as db:
            if change.rewind == "forget":
                db.execute("DELETE FROM log")
            elif change.rewind == "keep":
                db.execute("DELETE FROM log WHERE message IN (SELECT message FROM outbox)")
                db.execute("UPDATE log SET number = NULL")
            mark = record.bookmark
            db.execute(_PLAYED, played)
            db.execute(_READ, (mark.number, " ".join(mark.anchor), mark.complete))
            for message in change.removed:
                db.execute("DELETE FROM outbox WHERE message = ?", (to_json(message),))
            for envelope, *rest in change.outbox:
                db.execute(_PUT, (to_json(envelope.message), envelope.signature, *rest))
            for number, read in [(p.number, p.envelope) for p in change.read]:
                db.execute(_LOG, (number, to_json(read.message), read.signature))
        self._bookmark = mark
        if is_durable:  # noise and rewards that were overwritten must not stay in the files
            with suppress(StoreError):  # the step is stored; the next one erases
                self.database.truncate_wal()

    def keep_snapshot(self, signed: SignedSnapshot) -> None:
        """Keep what a server has signed, if it is new; of all only the latest."""
        latest = "SELECT number, at FROM snapshots ORDER BY rowid DESC LIMIT 1"
        if self._rows(latest) == [(signed.number, signed.at)]:
            return
        with self.database.write(durable=False) as db:
            row = (signed.number, signed.at, str(signed))
            db.execute("INSERT OR IGNORE INTO snapshots VALUES (?, ?, ?)", row)
            kept = "SELECT rowid FROM snapshots ORDER BY rowid DESC LIMIT ?"
            db.execute(f"DELETE FROM snapshots WHERE rowid NOT IN ({kept})", (SNAPSHOTS,))

    def snapshots(self) -> list[str]:
        """What servers have signed, the latest last."""
        return [text for (text,) in self._rows("SELECT snapshot FROM snapshots ORDER BY rowid")]

    def trim(self) -> None:
        """Give back the memory of pages that are on disk: a third of what an idle device takes."""
        self._rows("PRAGMA shrink_memory")

    def log(self, spec: ExperimentSpec) -> list[tuple[Envelope, int | None]]:
        """What was read, in the board's order, with its number on the board there is now."""
        rows = self._rows(
            "SELECT message, signature, number FROM log ORDER BY number IS NOT NULL, number, rowid"
        )
        with self.database.decoding():
            return [(Envelope(from_json(row[0], spec.n_arms), row[1]), row[2]) for row in rows]

    def _outbox(self, spec: ExperimentSpec) -> dict[Message, Entry]:
        found = {}
        for text, signature, delivery, has_left, leaves_at in self._rows(
            "SELECT message, signature, delivery, has_left, leaves_at FROM outbox ORDER BY seq"
        ):
            message = from_json(text, spec.n_arms)
            entry = Entry(Envelope(message, signature), delivery, bool(has_left), leaves_at)
            found[message] = entry
        return found

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        with self.database.read() as db:
            return db.execute(query).fetchall()

    def close(self) -> None:
        """Close the file."""
        self.database.close()

    def remove(self) -> None:
        """Close the file and delete it."""
        self.database.remove()


def has_waiting(path: Path) -> bool:
    """Whether a store that nobody has open holds a question or a message that is not sent yet."""
    query = (
        "SELECT 1 FROM device WHERE spec IS NOT NULL AND (reply_at IS NOT NULL OR"
        " EXISTS (SELECT 1 FROM outbox WHERE delivery = 'waiting'))"
    )
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
            return db.execute(query).fetchone() is not None
    except sqlite3.Error:  # locked by another process, or no store
        return False


@lru_cache(maxsize=64)
def _spec(text: str) -> ExperimentSpec:
    """One specification for all devices of a process that have the same."""
    return ExperimentSpec.from_json(text)


def read_snapshots(path: Path) -> tuple[str, Scope, list[str]]:
    """The experiment of a device's store, its board, and what servers have signed for it."""
    if not path.exists():
        raise StoreMismatch(f"There is no device store {str(path)!r}.\nCheck the name of the file.")
    with closing(Store.open(path)) as store:
        if not store.has_joined:
            raise StoreMismatch(
                f"The device of {str(path)!r} has not joined yet.\nGive one that has."
            )
        record = store.load()
        return record.spec.name, record.scope, store.snapshots()


def remember(path: Path, experiment: str) -> Remembered:
    """What the board has acknowledged or shown to this device, to be found again in its log.

    StoreMismatch if the store is not one of a device that is enrolled in the experiment.
    """
    if not path.exists():
        raise StoreMismatch(f"There is no device store {str(path)!r}.\nCheck the name of the file.")
    store = Store.open(path)
    try:
        record = store.load() if store.has_joined else None
        if record is None or record.spec.name != experiment:
            raise StoreMismatch(
                f"The device store {str(path)!r} is not of a device that is enrolled in "
                f"{experiment!r}.\nGive the store with which it joined."
            )
        said = store.snapshots()
        tallies: list[Statement] = [snapshot_of(text, record.scope, path.name) for text in said]
        if record.spec.scheme.about.reads_tally and record.bookmark.complete:
            public = record.player.public(record.players)
            number = record.bookmark.number
            tallies.append(Statement("tally", number, public, path.name, partial=True))
        shown = {e.message: number for e, number in store.log(record.spec) if number is not None}
        sent = [m for m, e in record.outbox.items() if e.delivery in ("sent", "shown")]
        items = [(shown.get(message), message) for message in dict.fromkeys([*shown, *sent])]
        own = (record.identity.voter,)
        facts: dict[str, Any] = {"players": record.players}
        if record.signer:
            facts["signer"] = record.signer
        return Remembered(path.name, record.scope, items, own, tallies, facts)
    finally:
        store.close()
