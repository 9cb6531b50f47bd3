"""A board in a SQLite file: the default where devices share a disk and no server runs.

The calls run in a worker thread: a commit waits for the disk, and for other processes up to
seconds, and an event loop must not wait with it.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from devote.boards.bell import Bell
from devote.boards.board import EndOfBacklog, Envelope, Event, Outcome, Posted, Snapshot
from devote.boards.database import StoreError
from devote.boards.store import SqliteStore
from devote.protocol import from_json

__all__ = ["SqliteBoard", "SqliteStore", "StoreError"]


class SqliteBoard:
    """The board of one experiment of a store; BoardRefused if the store has none of that name.

    ``poll`` is how many seconds what another process has posted may go unnoticed by a stream.
    """

    def __init__(self, store: SqliteStore, name: str, *, poll: float = 0.5) -> None:
        self.spec = store.spec(name)
        self._store = store
        self._poll = poll
        self._bell = Bell()

    async def publish(self, envelope: Envelope) -> Outcome:
        """Post a message; on disk when this returns."""
        receipt = await asyncio.to_thread(self._store.post, self.spec.name, envelope)
        if receipt.outcome is Outcome.ACCEPTED:
            self._bell.ring()
        return receipt.outcome

    async def snapshot(self, after: int = 0) -> Snapshot:
        """All messages with a number above ``after``."""
        return await asyncio.to_thread(self._read, after)

    async def stream(self, after: int = 0) -> AsyncIterator[Event]:
        """The messages above ``after``, one EndOfBacklog, then messages as they come."""
        with self._bell.listen() as rung:
            at_end = False
            while True:
                rung.clear()
                snapshot = await self.snapshot(after)
                for posted in snapshot.posted:
                    yield posted
                after = snapshot.number
                if not at_end:
                    at_end = True
                    yield EndOfBacklog(after)
                with suppress(TimeoutError):
                    await asyncio.wait_for(rung.wait(), self._poll)

    def _read(self, after: int) -> Snapshot:
        number, rows = self._store.rows(self.spec.name, after)
        posted = tuple(
            Posted(number, Envelope(from_json(message, self.spec.n_arms), signature))
            for number, message, signature in rows
        )
        return Snapshot(number, posted)
