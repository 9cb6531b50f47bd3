"""What the file of a device store holds, and how a file of an older version is carried over."""

import json
import sqlite3

from devote.boards.database import Layout, StoreMismatch
from devote.fleet.plays import new_play
from devote.protocol import ExperimentSpec, SpecError

TABLES = """
CREATE TABLE device (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    address TEXT NOT NULL,
    spec TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    players INTEGER,
    secret BLOB NOT NULL,
    enrolled INTEGER NOT NULL DEFAULT 0,
    player TEXT NOT NULL,
    pending_at REAL,
    reply_at REAL,
    plays TEXT NOT NULL DEFAULT '{}',
    cursor INTEGER NOT NULL DEFAULT 0,
    anchor TEXT NOT NULL DEFAULT '',
    complete INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE heard (number INTEGER, message TEXT NOT NULL UNIQUE, signature TEXT NOT NULL);
CREATE TABLE outbox (
    seq INTEGER PRIMARY KEY,
    message TEXT NOT NULL UNIQUE,
    signature TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'sent', 'refused')),
    reply_at REAL
)
"""
"""``pending_at`` is when the pending arm was chosen, ``reply_at`` when its answer, or a message in
the outbox, is to leave at the earliest; both in seconds since 1970. ``heard`` is what the board
has shown, by its numbers; one without a number was on the board before it was put back to a
backup, and has not been seen there since.
"""


def _from_version_1(db: sqlite3.Connection) -> None:
    """Give a pending pull the name by which its reward is known since version 2."""
    db.execute("ALTER TABLE device ADD COLUMN plays TEXT NOT NULL DEFAULT '{}'")
    for (player,) in db.execute("SELECT player FROM device").fetchall():
        if json.loads(player)["learner"]["pending"] is not None:
            db.execute("UPDATE device SET plays = ?", (json.dumps({new_play(): "pending"}),))


def _from_version_2(db: sqlite3.Connection) -> None:
    """Write the specification as it is written today, and keep messages by their numbers.

    What was heard has no numbers yet, which only schemes that need no order had.
    """
    for name, text in db.execute(
        "SELECT json_extract(spec, '$.name'), spec FROM device"
    ).fetchall():
        try:
            spec = ExperimentSpec.from_json(text)
        except SpecError as error:
            raise StoreMismatch(
                f"The device store of experiment {name!r} cannot be used any more: {error}"
            ) from None
        db.execute(
            "UPDATE device SET spec = ?, fingerprint = ?", (spec.to_json(), spec.fingerprint)
        )
    db.execute("ALTER TABLE device RENAME COLUMN seated TO enrolled")
    state = "replace(state, 'denied', 'refused')"
    for table, columns in (
        ("heard", "NULL, message, signature"),
        ("outbox", f"seq, message, signature, {state}, NULL"),
    ):
        db.execute(f"ALTER TABLE {table} RENAME TO old")
        (statement,) = (s for s in TABLES.split(";") if f"TABLE {table} " in s)
        db.execute(statement)
        db.execute(f"INSERT INTO {table} SELECT {columns} FROM old")
        db.execute("DROP TABLE old")


def _from_version_3(db: sqlite3.Connection) -> None:
    """Make room for answers that are held back."""
    db.execute("ALTER TABLE device ADD COLUMN reply_at REAL")
    columns = [row[1] for row in db.execute("PRAGMA table_info(outbox)")]
    if "reply_at" not in columns:  # a file of version 2 has just been given today's table
        db.execute("ALTER TABLE outbox ADD COLUMN reply_at REAL")


LAYOUT = Layout(
    what="device store",
    application=0x64766F74,  # dvot
    version=4,
    tables=TABLES,
    upgrades={1: _from_version_1, 2: _from_version_2, 3: _from_version_3},
)
