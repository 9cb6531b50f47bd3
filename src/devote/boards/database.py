"""One SQLite file, opened with care.

Write-ahead log and full synchronisation: what was acknowledged survives a kill and a power cut.
Each write is one short immediate transaction, so several processes may use one file; they wait
for each other up to ``BUSY`` seconds.
"""

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from devote.boards.board import BoardRefused, BoardUnavailable

APPLICATION = 0x64767465
BUSY = 5.0


class StoreError(BoardRefused):
    """The file cannot be used as it is: trying again is useless."""


class Database:
    """A connection shared by the threads of one process, one at a time.

    ``version`` and ``schema`` are what the file must have, or gets if it is new.
    """

    def __init__(self, path: str | Path, *, version: int, schema: str) -> None:
        self.path = str(path)
        self._lock = threading.Lock()
        try:
            self._connection = sqlite3.connect(
                self.path, timeout=BUSY, isolation_level=None, check_same_thread=False
            )
        except sqlite3.Error as error:
            raise self._unusable(error) from None
        try:
            self._prepare(version, schema)
        except sqlite3.Error as error:
            self._connection.close()
            raise self._unusable(error) from None
        except BaseException:
            self._connection.close()
            raise

    def close(self) -> None:
        """Close the file; the database cannot be used afterwards."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """A moment in which to read."""
        with self._lock:
            try:
                yield self._connection
            except sqlite3.Error as error:
                raise self._unavailable(error) from None

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """A transaction: all of it is on disk when the block ends, or none of it ever."""
        with self._lock:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                try:
                    yield self._connection
                    self._connection.execute("COMMIT")
                except BaseException:
                    if self._connection.in_transaction:
                        self._connection.execute("ROLLBACK")
                    raise
            except sqlite3.Error as error:
                raise self._unavailable(error) from None

    def _prepare(self, version: int, schema: str) -> None:
        self._use_write_ahead_log()
        self._connection.execute("PRAGMA synchronous=FULL")
        run = self._connection.execute
        run("BEGIN IMMEDIATE")
        try:
            (found,) = run("PRAGMA user_version").fetchone()
            (application,) = run("PRAGMA application_id").fetchone()
            (tables,) = run("SELECT count(*) FROM sqlite_schema").fetchone()
            if tables == 0 and found == 0:
                for statement in schema.split(";"):
                    run(statement)
                run(f"PRAGMA application_id={APPLICATION:d}")
            elif application != APPLICATION:
                raise StoreError(
                    f"{self.path} is a database of another program.\n"
                    "Give the path of a devote store, or of a file that does not exist yet."
                )
            elif found != version:
                raise StoreError(
                    f"{self.path} is a store of version {found}, this is version {version}.\n"
                    "Open it with the version of devote that made it."
                )
            run(f"PRAGMA user_version={version:d}")  # a write, which a read-only file refuses
        except BaseException:
            run("ROLLBACK")
            raise
        run("COMMIT")
        if run("PRAGMA quick_check(1)").fetchone()[0] != "ok":
            raise StoreError(_corrupt(self.path))

    def _use_write_ahead_log(self) -> None:
        # Changing the mode does not wait for others by itself, so two first openers could clash.
        end = time.monotonic() + BUSY
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode=WAL")
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > end:
                    raise
                time.sleep(0.01)
            else:
                return

    def _unusable(self, error: sqlite3.Error) -> StoreError:
        text = str(error)
        if "readonly" in text:
            return StoreError(
                f"{self.path} is read-only, and a store must be written to.\n"
                "Change the permissions of the file and its folder, or give another path."
            )
        if "unable to open" in text:
            return StoreError(
                f"{self.path} cannot be opened or created.\n"
                "Check that the folder exists and that you may write there."
            )
        if "not a database" in text or "malformed" in text:
            return StoreError(_corrupt(self.path))
        return StoreError(f"{self.path} cannot be used: {text}.\nMend that, or give another path.")

    def _unavailable(self, error: sqlite3.Error) -> BoardUnavailable:
        return BoardUnavailable(
            f"{self.path} did not take or give the data: {error}.\n"
            "Nothing was changed; try again when that is mended."
        )


def _corrupt(path: str) -> str:
    return f"{path} is corrupt, or no SQLite file.\nRestore it from a backup, or give another path."
