"""A bell that wakes everyone who waits for a board to grow.

Rung from any thread, with or without an event loop; heard by coroutines on any number of loops
(each blocking device has a loop of its own).
"""

import asyncio
import threading
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager, suppress

from devote.boards.board import Board, EndOfBacklog, Event


class Bell:
    """Wakes all its listeners at once; ``len(bell)`` is how many there are.

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
    """A board that rings its bell when it grows, and whose stream is its snapshots.

    ``poll`` is after how many seconds without a ring a stream reads again.
    """

    poll: float | None = None

    def __init__(self) -> None:
        self._bell = Bell()

    async def stream(self, after: int = 0) -> AsyncIterator[Event]:
        """The messages above ``after``, one EndOfBacklog, then messages as they come."""
        at_end = False
        with self._bell.listen() as rung:
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
