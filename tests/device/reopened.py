"""A device store in memory that begins as a file which this process has written before."""

import sqlite3
from functools import cache

from devote.boards.database import Database
from devote.device.store import LAYOUT

_SPARE: list[sqlite3.Connection] = []


@cache
def empty() -> bytes:
    """The file of a device store in which nothing has been set up."""
    database = Database(":memory:", LAYOUT)
    content = content_of(database)
    database.close()
    return content


def content_of(database: Database) -> bytes:
    """The file, as it would be on a disk."""
    with database.read() as connection:
        return connection.serialize()


class ReopenedDatabase(Database):
    """A database in memory with this content."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        super().__init__(":memory:", LAYOUT)

    def _connect(self, *, timeout: float) -> sqlite3.Connection:
        connection = _SPARE.pop() if _SPARE else super()._connect(timeout=timeout)
        connection.deserialize(self._content)
        return connection

    def close(self) -> None:
        """Leave the connection to others, who put another file into it."""
        _SPARE.append(self._connection)
        del self._connection
