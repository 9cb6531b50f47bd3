"""One SQLite file: opened with care, its errors in words.

Board stores and device stores are both kept this way. A ``Layout`` says what the file holds; the
``Database`` makes it, checks it, and gives transactions. All of a transaction is in the file when
its block ends, or none of it ever (write-ahead log). A durable transaction also survives a power
cut; any other is safe when the process is killed, but a power cut may take the last ones.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from devote.errors import DevoteError

PATIENCE = 5.0
"""Seconds for which processes that share a file wait for each other."""


class StoreError(DevoteError):
    """A store could not be read or written; what was committed stands."""


class StoreBusy(StoreError):
    """Another process, or another user in this one, has the file open or is writing to it."""


class StoreCorrupt(StoreError):
    """The file is damaged, or is not a store of this kind."""


class StoreFull(StoreError):
    """There is no room to write; what was asked has not happened and can be asked again."""


class StoreMismatch(StoreError):
    """The store is of another version, or belongs to another experiment."""


class StoreReadOnly(StoreError):
    """The file or its folder may not be written."""


_ERRORS: dict[int, tuple[type[StoreError], str]] = {
    sqlite3.SQLITE_BUSY: (
        StoreBusy,
        "is in use by another process.\nTry again when that one is done, or use another file.",
    ),
    sqlite3.SQLITE_FULL: (
        StoreFull,
        "cannot grow: the disk is full.\nMake room and try again; nothing was changed.",
    ),
    sqlite3.SQLITE_READONLY: (
        StoreReadOnly,
        "cannot be written.\nCheck that it and its folder exist and are writable for this user.",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        StoreReadOnly,
        "cannot be opened.\nCheck that its folder exists and is writable for this user.",
    ),
    sqlite3.SQLITE_NOTADB: (
        StoreCorrupt,
        "is not a SQLite file.\nUse another file name, or restore it from a backup.",
    ),
    sqlite3.SQLITE_CORRUPT: (
        StoreCorrupt,
        "is damaged.\nRestore it from a backup, or use a new file.",
    ),
}
_ERRORS[sqlite3.SQLITE_LOCKED] = _ERRORS[sqlite3.SQLITE_BUSY]
_ERRORS[sqlite3.SQLITE_PERM] = _ERRORS[sqlite3.SQLITE_READONLY]


def make_private(path: str) -> None:
    """Leave a file to its owner alone; one that is not there, or is not ours, stays as it is."""
    with suppress(OSError):
        mode = os.stat(path).st_mode & 0o777
        if mode & 0o077:
            os.chmod(path, mode & 0o700)


@dataclass(frozen=True)
class Layout:
    """What a kind of store holds.

    ``what`` names it in errors, such as ``device store``; ``application`` marks its files.
    ``tables`` are the statements that make a new file of ``version``.
    """

    what: str
    application: int
    version: int
    tables: str


class Database:
    """A file of a layout, made if it does not exist; safe in any thread, one at a time.

    It is readable for its owner only, and what is deleted is overwritten. Other processes may use
    the file at the same time. With ``alone`` they may not: the file is locked until it is closed or
    the process dies. With ``reads_only`` nothing is made or written.
    """

    def __init__(
        self, path: str | Path, layout: Layout, *, alone: bool = False, reads_only: bool = False
    ) -> None:
        self.path = str(path)
        self._layout = layout
        self._reads_only = reads_only
        self._lock = threading.RLock()
        self._durable: bool | None = None
        self._on_disk = self.path != ":memory:"
        self._must_truncate = False
        if self._on_disk and not reads_only:
            self._make_private(must_write=alone)
        with self._translated():
            self._connection = self._connect(timeout=0.0 if alone else PATIENCE)
        try:
            if reads_only:
                with self._translated():
                    self._prepare(self._connection)
                return
            with self._translated():
                if not self._on_disk:  # where thousands of devices may share a process
                    self._connection.execute("PRAGMA page_size=512")
                self._connection.execute("PRAGMA secure_delete=ON")
                if alone:
                    self._connection.execute("PRAGMA locking_mode=EXCLUSIVE")
                if alone or not self._is_there():
                    with Database.write(self) as db:
                        self._prepare(db)
                    if self._on_disk:
                        self._use_write_ahead_log()
            with suppress(StoreError):  # what is there can be read; the next write tries again
                self.truncate_wal()
        except BaseException:
            self._connection.close()
            raise

    def close(self) -> None:
        """Close the file; the database cannot be used afterwards."""
        with self._lock:
            self._connection.close()

    def remove(self) -> None:
        """Close the file and delete it."""
        self.close()
        for suffix in ("", "-wal", "-shm"):
            Path(self.path + suffix).unlink(missing_ok=True)

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """The connection, for reading."""
        with self._lock, self._translated():
            yield self._connection

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
        """A transaction; ``durable`` waits at its end until it would survive a power cut."""
        with self._lock, self._translated():
            db = self._connection
            self._synchronize(durable)
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
                if self._must_truncate:
                    self.truncate_wal()
            finally:
                if db.in_transaction:
                    db.execute("ROLLBACK")

    def write_one(self, statement: str, values: Sequence[object]) -> None:
        """Run one statement, a transaction by itself, which a power cut may take.

        It is quicker than a block, and a device makes two at every pull.
        """
        with self._lock, self._translated():
            self._synchronize(False)
            self._connection.execute(statement, values)

    def _synchronize(self, durable: bool) -> None:
        if self._durable is not durable and self._on_disk:
            self._connection.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
            self._durable = durable

    def truncate_wal(self) -> None:
        """Leave nothing in the log beside the file of what was overwritten or deleted.

        It waits for nobody: if another process is reading, it is done after the next write. The
        disk may keep what a file no longer holds; that is out of reach here.
        """
        if not self._on_disk:
            return
        with self._lock, self._translated():
            # A file that has just been switched to a log cannot be checkpointed before it is read.
            self._connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
            (before,) = self._connection.execute("PRAGMA busy_timeout").fetchone()
            self._connection.execute("PRAGMA busy_timeout=0")
            self._must_truncate = True
            try:
                done = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                self._must_truncate = bool(done[0])
            finally:
                self._connection.execute(f"PRAGMA busy_timeout={before:d}")

    def copy_to(self, path: Path) -> None:
        """Copy all that is in the file to an empty one, as of one moment."""
        with self.read() as db:
            db.execute("PRAGMA page_size=4096")
            db.execute("VACUUM INTO ?", (str(path),))

    @contextmanager
    def decoding(self) -> Iterator[None]:
        """Turn any error in reading what a row holds into StoreCorrupt.

        The cause is not chained: it may quote what is private.
        """
        try:
            yield
        except StoreError:
            raise
        except Exception:
            raise self._error(sqlite3.SQLITE_CORRUPT) from None

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._as_store_error(error) from error

    def _as_store_error(self, error: sqlite3.Error) -> StoreError:
        if isinstance(error, sqlite3.ProgrammingError):
            what = f"The {self._layout.what} {self.path!r}"
            return StoreError(f"{what} is closed.\nOpen it again to go on.")
        return self._error(getattr(error, "sqlite_errorcode", 0), str(error))

    def _error(self, code: int, detail: str = "") -> StoreError:
        kind, text = _ERRORS.get(
            code & 0xFF,
            (StoreError, f"failed: {detail}.\nNothing was changed; check that its disk works."),
        )
        return kind(f"The {self._layout.what} {self.path!r} {text}")

    def _connect(self, *, timeout: float) -> sqlite3.Connection:
        path = f"{Path(self.path).absolute().as_uri()}?mode=ro" if self._reads_only else self.path
        return sqlite3.connect(
            path,
            timeout=timeout,
            isolation_level=None,
            check_same_thread=False,
            uri=self._reads_only,
        )

    def _make_private(self, *, must_write: bool) -> None:
        """Make the file readable for its owner only; SQLite gives its log the same mode."""
        try:
            # An existing file is not opened: closing it would undo the lock of whoever has it.
            if not os.path.exists(self.path):
                with suppress(FileExistsError):
                    os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            for suffix in ("", "-wal", "-shm"):
                make_private(self.path + suffix)
            places = (self.path, os.path.dirname(self.path) or ".")
            writable = all(os.access(place, os.W_OK) for place in places)
        except OSError:
            writable = False
        if must_write and not writable:
            raise self._error(sqlite3.SQLITE_READONLY)

    def _is_there(self) -> bool:
        """Whether the file holds this layout, which is found out without writing to it.

        So a store whose disk is full can still be opened and read. SQLite then has no room for the
        memory that processes share, and the file is locked instead.
        """
        try:
            (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
                raise
            self._connection.close()
            self._connection = self._connect(timeout=PATIENCE)
            self._connection.execute("PRAGMA locking_mode=EXCLUSIVE")
            (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        if version != self._layout.version:
            return False
        self._prepare(self._connection)
        return bool(self._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",))

    def _prepare(self, db: sqlite3.Connection) -> None:
        layout = self._layout
        (version,) = db.execute("PRAGMA user_version").fetchone()
        (application,) = db.execute("PRAGMA application_id").fetchone()
        (tables,) = db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if tables == 0 and version == 0 and not self._reads_only:
            for statement in layout.tables.split(";"):
                db.execute(statement)
            db.execute(f"PRAGMA application_id={layout.application:d}")
            db.execute(f"PRAGMA user_version={layout.version:d}")
        elif application != layout.application:
            raise StoreCorrupt(
                f"{self.path!r} is a database, but not a {layout.what}.\nUse another file name."
            )
        elif db.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
            raise self._error(sqlite3.SQLITE_CORRUPT)
        elif version != layout.version:
            raise StoreMismatch(
                f"The {layout.what} {self.path!r} has version {version}, but this devote reads "
                f"version {layout.version}.\nUse the version of devote that wrote it."
            )

    def _use_write_ahead_log(self) -> None:
        # Changing the mode does not wait for others by itself, so two first openers could clash.
        end = time.monotonic() + PATIENCE
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode=WAL")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                    raise
                time.sleep(0.01)
            else:
                return
