"""A device store in memory that begins as a file which this process has written before."""

from functools import cache

from devote.boards.database import Database
from devote.device.store import LAYOUT


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
        super().__init__(":memory:", LAYOUT)
        with self.read() as connection:
            connection.deserialize(content)
