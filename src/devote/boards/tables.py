"""What the file of a board store holds, and how a file of an older version is carried over.

Nothing else is stored: no address, no time of a message, no link from an invite to a voter, and
of an invite only its hash and when it expires. A message is kept in its one JSON spelling, which
holds who says what, and nothing else; a UNIQUE constraint on that text keeps it from being counted
twice, whatever its kind.

Voters and invites are kept in the order of their keys and hashes, without row numbers, which would
tell in which order they came. A used invite differs from another by one bit that is changed in its
place. ``pulse`` is what a look at the server's health writes.
"""

import sqlite3
from contextlib import suppress

from devote.boards.database import Layout
from devote.boards.experiment import new_board
from devote.protocol import ExperimentSpec, SpecError

BEGUN = (
    "Experiment {name!r} was begun by an older devote, whose signatures could be moved to another "
    "board.\nOpen it again under another name; the older devote can still read what was posted."
)

TABLES = """
CREATE TABLE experiments (
    name TEXT PRIMARY KEY, spec TEXT NOT NULL, fingerprint TEXT NOT NULL,
    enrolment TEXT NOT NULL, players INTEGER, created INTEGER NOT NULL, board TEXT
) STRICT;
CREATE TABLE enrolled (
    experiment TEXT NOT NULL, voter TEXT NOT NULL, PRIMARY KEY (experiment, voter)
) STRICT, WITHOUT ROWID;
CREATE TABLE invites (
    experiment TEXT NOT NULL, hash TEXT NOT NULL, used INTEGER NOT NULL DEFAULT 0,
    expires INTEGER, PRIMARY KEY (experiment, hash)
) STRICT, WITHOUT ROWID;
CREATE TABLE pulse (beat BLOB NOT NULL) STRICT;
CREATE TABLE messages (
    experiment TEXT NOT NULL, number INTEGER NOT NULL, voter TEXT NOT NULL,
    message TEXT NOT NULL, signature TEXT NOT NULL,
    PRIMARY KEY (experiment, number), UNIQUE (experiment, message)
) STRICT;
CREATE INDEX messages_of_voter ON messages (experiment, voter);
"""

STANDINGS = """
CREATE TABLE standings (experiment TEXT PRIMARY KEY, state TEXT NOT NULL, ends INTEGER) STRICT;
CREATE TABLE revoked (
    experiment TEXT NOT NULL, voter TEXT NOT NULL, PRIMARY KEY (experiment, voter)
) STRICT, WITHOUT ROWID;
CREATE TABLE deleted (name TEXT PRIMARY KEY) STRICT
"""
"""How experiments stand that are not simply open, whom the operator revoked, and which names were
deleted. An experiment without a row is open and has no end.
"""


def _from_version_1(db: sqlite3.Connection) -> None:
    """Drop what the tally now knows, and write specifications as they are written today.

    One that cannot be read today stays as it is: ``get`` says why.
    """
    db.execute("DROP TABLE jury")
    db.execute("DROP TABLE terms")
    db.execute("ALTER TABLE seats RENAME TO enrolled")
    for name, text in db.execute("SELECT name, spec FROM experiments").fetchall():
        try:
            spec = ExperimentSpec.from_json(text)
        except SpecError:
            continue
        db.execute(
            "UPDATE experiments SET spec = ?, fingerprint = ? WHERE name = ?",
            (spec.to_json(), spec.fingerprint, name),
        )


def _from_version_2(db: sqlite3.Connection) -> None:
    """Give every experiment that nobody has joined yet a board, and its fingerprint of today.

    One that has begun keeps none: older signatures name no board, so they can be moved.
    """
    db.execute("ALTER TABLE experiments ADD COLUMN board TEXT")
    waiting = "name NOT IN (SELECT experiment FROM enrolled UNION SELECT experiment FROM messages)"
    for name, text in db.execute(f"SELECT name, spec FROM experiments WHERE {waiting}").fetchall():
        with suppress(SpecError):
            db.execute(
                "UPDATE experiments SET fingerprint = ?, board = ? WHERE name = ?",
                (ExperimentSpec.from_json(text).fingerprint, new_board(), name),
            )


def _from_version_3(db: sqlite3.Connection) -> None:
    """Forget in which order voters and invites came; make room for what an operator decides."""
    tables = TABLES.split(";")
    for name, columns in (("enrolled", "experiment, voter"), ("invites", "experiment, hash, used")):
        db.execute(f"ALTER TABLE {name} RENAME TO old_{name}")
        db.execute(next(text for text in tables if f"CREATE TABLE {name}" in text))
        rows = f"SELECT {columns} FROM old_{name} ORDER BY {columns}"
        db.execute(f"INSERT INTO {name} ({columns}) {rows}")
        db.execute(f"DROP TABLE old_{name}")
    db.execute("CREATE TABLE pulse (beat BLOB NOT NULL) STRICT")
    for statement in STANDINGS.split(";"):
        db.execute(statement)


LAYOUT = Layout(
    what="board store",
    application=0x64767465,
    version=4,
    tables=TABLES + STANDINGS,
    upgrades={1: _from_version_1, 2: _from_version_2, 3: _from_version_3},
)
