"""The one SQLite file of a device: its tables, its marks, and its errors in words."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from devote.fleet.errors import (
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreMismatch,
    StoreReadOnly,
)

APPLICATION = 0x64766F74
"""``dvot``: what says that a SQLite file is a device store."""

VERSION = 2

TABLES = """
CREATE TABLE device (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    address TEXT NOT NULL,
    spec TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    players INTEGER,
    secret BLOB NOT NULL,
    seated INTEGER NOT NULL DEFAULT 0,
    player TEXT NOT NULL,
    pending_at REAL,
    plays TEXT NOT NULL DEFAULT '{}',
    cursor INTEGER NOT NULL DEFAULT 0,
    anchor TEXT NOT NULL DEFAULT '',
    complete INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE heard (message TEXT PRIMARY KEY, signature TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE outbox (
    seq INTEGER PRIMARY KEY,
    message TEXT NOT NULL UNIQUE,
    signature TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'sent', 'denied'))
);
"""

_KINDS: dict[int, tuple[type[StoreError], str]] = {
    sqlite3.SQLITE_BUSY: (
        StoreBusy,
        "is in use by another process.\nEnd that one first, or give each device its own file.",
    ),
    sqlite3.SQLITE_FULL: (
        StoreFull,
        "cannot grow: the disk is full.\nMake room and try again; nothing was changed.",
    ),
    sqlite3.SQLITE_READONLY: (
        StoreReadOnly,
        "cannot be written.\nMake the file and its folder writable for this user.",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        StoreReadOnly,
        "cannot be opened.\nSee that its folder exists and is writable for this user.",
    ),
    sqlite3.SQLITE_NOTADB: (
        StoreCorrupt,
        "is not a device store.\nGive another file name, or restore it from a backup.",
    ),
    sqlite3.SQLITE_CORRUPT: (
        StoreCorrupt,
        "is damaged.\nMove it away and join again as a new device, or restore it from a backup.",
    ),
}
_KINDS[sqlite3.SQLITE_LOCKED] = _KINDS[sqlite3.SQLITE_BUSY]
_KINDS[sqlite3.SQLITE_PERM] = _KINDS[sqlite3.SQLITE_READONLY]


def in_words(error: sqlite3.Error, path: str) -> StoreError:
    """The store error that a SQLite error means."""
    if isinstance(error, sqlite3.ProgrammingError):
        return StoreError(f"The device store {path!r} is closed.\nJoin again to go on.")
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    kind, text = _KINDS.get(
        code, (StoreError, "failed to read or write.\nSee that its disk works, then try again.")
    )
    return kind(f"The device store {path!r} {text}")


def unreadable(path: str) -> StoreCorrupt:
    """The error for a file whose contents do not decode."""
    return StoreCorrupt(f"The device store {path!r} {_KINDS[sqlite3.SQLITE_CORRUPT][1]}")


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Turn SQLite's errors into store errors."""
    try:
        yield
    except sqlite3.Error as error:
        raise in_words(error, path) from error


def is_empty(connection: sqlite3.Connection) -> bool:
    """Whether nothing has ever been stored here."""
    return connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None


def lay_out(connection: sqlite3.Connection) -> None:
    """Make the tables, within the caller's transaction."""
    for statement in TABLES.split(";"):
        if statement.strip():
            connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def check(connection: sqlite3.Connection, path: str) -> None:
    """Refuse a file that is damaged, not a device store, or of another version."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION:
        raise StoreCorrupt(
            f"{path!r} is a database, but not a device store.\nGive another file name."
        )
    if version != VERSION:
        raise StoreMismatch(
            f"The device store {path!r} has version {version}, this devote reads {VERSION}.\n"
            "Use the version of devote that wrote it."
        )
    problems = connection.execute("PRAGMA quick_check(1)").fetchone()
    if problems != ("ok",):
        raise unreadable(path)
