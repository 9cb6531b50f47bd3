"""The board of a store in this process: the default where devices share a disk and no server runs.

The calls run in a worker thread: a commit waits for the disk, and for other processes up to
seconds, and an event loop must not wait with it.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import ParamSpec, TypeVar

from devote.boards.board import (
    Board,
    BoardUnavailable,
    EndOfBacklog,
    EnrolmentRefused,
    Envelope,
    Event,
    Experiment,
    Outcome,
    Posted,
    Snapshot,
    TallySnapshot,
)
from devote.boards.database import StoreError
from devote.boards.identity import Identity
from devote.boards.store import SqliteStore
from devote.protocol import from_json

P = ParamSpec("P")
T = TypeVar("T")


class NotifyingBoard(Board):
    """A board that notifies its streams when it grows; a stream is its snapshots.

    ``poll`` is after how many seconds without a notification a stream reads again.
    """

    poll: float | None = None

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._streams: dict[asyncio.Event, asyncio.AbstractEventLoop] = {}

    def notify(self) -> None:
        """Have all streams read again; from any thread."""
        with self._lock:
            for event, loop in self._streams.items():
                if not loop.is_closed():
                    loop.call_soon_threadsafe(event.set)

    async def stream(self, after: int = 0) -> AsyncIterator[Event]:
        """The messages above ``after``, one EndOfBacklog, then messages as they come."""
        notified, at_end = asyncio.Event(), False
        with self._lock:
            self._streams[notified] = asyncio.get_running_loop()
        try:
            while True:
                notified.clear()  # before the board is read: nothing in between is missed
                snapshot = await self.snapshot(after)
                for posted in snapshot.posted:
                    yield posted
                after = snapshot.number
                if not at_end:
                    at_end = True
                    yield EndOfBacklog(after)
                with suppress(TimeoutError):
                    await asyncio.wait_for(notified.wait(), self.poll)
        finally:
            with self._lock:
                del self._streams[notified]


class SqliteBoard(NotifyingBoard):
    """The board of one experiment of a store; BoardRefused if the store has none of that name.

    ``poll`` is how many seconds what another process has posted may go unnoticed by a stream.
    Whoever opened the store closes it.
    """

    def __init__(self, store: SqliteStore, name: str, *, poll: float = 0.5) -> None:
        super().__init__()
        self.spec = store.spec(name)
        self.scope = store.scope(name)
        self.store = store
        self.poll = poll

    async def fetch_experiment(self) -> Experiment:
        """The experiment."""
        return await _in_thread(self.store.get, self.spec.name)

    async def enrol(self, identity: Identity, invite: str | None = None) -> Outcome:
        """Let this voter post; EnrolmentRefused if the store refuses."""
        receipt = await _in_thread(
            self.store.enrol,
            self.spec.name,
            voter=identity.voter,
            signature=identity.sign_enrolment(self.scope),
            invite=invite,
        )
        if receipt.outcome is Outcome.REFUSED:
            raise EnrolmentRefused(receipt.reason)
        return receipt.outcome

    async def publish(self, envelope: Envelope) -> Outcome:
        """Post a message; on disk when this returns."""
        receipt = await _in_thread(self.store.post, self.spec.name, envelope)
        if receipt.outcome is Outcome.ACCEPTED:
            self.notify()
        return receipt.outcome_or_raise()

    async def snapshot(self, after: int = 0) -> Snapshot:
        """All messages with a number above ``after``."""
        return await _in_thread(self._read, after)

    async def tally(self) -> TallySnapshot:
        """What the messages come to."""
        return await _in_thread(self.store.tally, self.spec.name)

    async def sent_by(self, voter: str) -> tuple[Envelope, ...]:
        """All messages of one voter."""
        _, rows = await _in_thread(self.store.rows_of, self.spec.name, voter)
        return tuple(posted.envelope for posted in self._decoded(rows))

    def _read(self, after: int) -> Snapshot:
        number, rows = self.store.rows(self.spec.name, after)
        return Snapshot(number, self._decoded(rows))

    def _decoded(self, rows: list[tuple[int, str, str]]) -> tuple[Posted, ...]:
        return tuple(
            Posted(number, Envelope(from_json(message, self.spec.n_arms), signature))
            for number, message, signature in rows
        )


async def _in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    try:
        return await asyncio.to_thread(work, *args, **kwargs)
    except StoreError as error:
        raise BoardUnavailable(str(error)) from error
