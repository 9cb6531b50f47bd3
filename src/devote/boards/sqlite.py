"""The board of a store in this process: the default where devices share a disk and no server runs.

The calls run in a worker thread: a commit waits for the disk, and for other processes up to
seconds, and an event loop must not wait with it.
"""

import asyncio
import threading
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import ParamSpec, TypeVar

from devote.boards.board import (
    Board,
    BoardUnavailable,
    EndOfBacklog,
    EnrolmentRefused,
    Envelope,
    Event,
    Outcome,
    Posted,
    Snapshot,
    TallySnapshot,
)
from devote.boards.database import StoreError
from devote.boards.experiment import Experiment
from devote.boards.identity import Identity
from devote.boards.store import SqliteStore
from devote.protocol import from_json

P = ParamSpec("P")
T = TypeVar("T")


class Notifier:
    """Wakes all its listeners at once; ``len(notifier)`` is how many there are.

    A listener clears its event, looks at the board, and only then waits: a ring in between is
    not lost.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: dict[asyncio.AbstractEventLoop, set[asyncio.Event]] = defaultdict(set)

    def __len__(self) -> int:
        with self._lock:
            return sum(map(len, self._listeners.values()))

    def ring(self) -> None:
        """Wake all who listen."""
        with self._lock:
            for loop, events in self._listeners.items():
                if not loop.is_closed():
                    loop.call_soon_threadsafe(_set_all, tuple(events))

    @contextmanager
    def listen(self) -> Iterator[asyncio.Event]:
        """An event that is set at each ring, for as long as the block lasts."""
        event, loop = asyncio.Event(), asyncio.get_running_loop()
        with self._lock:
            self._listeners[loop].add(event)
        try:
            yield event
        finally:
            with self._lock:
                self._listeners[loop].discard(event)
                if not self._listeners[loop]:
                    del self._listeners[loop]


def _set_all(events: Iterable[asyncio.Event]) -> None:
    for event in events:
        event.set()


class RingingBoard(Board):
    """A board that notifies its readers when it grows, and whose stream is its snapshots.

    ``poll`` is after how many seconds without a ring a stream reads again.
    """

    poll: float | None = None

    def __init__(self) -> None:
        self._notifier = Notifier()

    async def stream(self, after: int = 0) -> AsyncIterator[Event]:
        """The messages above ``after``, one EndOfBacklog, then messages as they come."""
        at_end = False
        with self._notifier.listen() as rung:
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
                    await asyncio.wait_for(rung.wait(), self.poll)


class SqliteBoard(RingingBoard):
    """The board of one experiment of a store; BoardRefused if the store has none of that name.

    ``poll`` is how many seconds what another process has posted may go unnoticed by a stream.
    Whoever opened the store closes it.
    """

    def __init__(self, store: SqliteStore, name: str, *, poll: float = 0.5) -> None:
        super().__init__()
        self.spec = store.spec(name)
        self.scope = store.scope(name)
        self._store = store
        self.poll = poll

    async def fetch_experiment(self) -> Experiment:
        """The experiment."""
        return await _in_thread(self._store.get, self.spec.name)

    async def enrol(self, identity: Identity, invite: str | None = None) -> Outcome:
        """Let this voter post; EnrolmentRefused if the store refuses."""
        receipt = await _in_thread(
            self._store.enrol,
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
        receipt = await _in_thread(self._store.post, self.spec.name, envelope)
        if receipt.outcome is Outcome.ACCEPTED:
            self._notifier.ring()
        return receipt.settled()

    async def snapshot(self, after: int = 0) -> Snapshot:
        """All messages with a number above ``after``."""
        return await _in_thread(self._read, after)

    async def tally(self) -> TallySnapshot:
        """What the messages come to."""
        return await _in_thread(self._store.tally, self.spec.name)

    async def said_by(self, voter: str) -> tuple[Envelope, ...]:
        """All messages of one voter."""
        _, rows = await _in_thread(self._store.rows_of, self.spec.name, voter)
        return tuple(posted.envelope for posted in self._decoded(rows))

    def _read(self, after: int) -> Snapshot:
        number, rows = self._store.rows(self.spec.name, after)
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
