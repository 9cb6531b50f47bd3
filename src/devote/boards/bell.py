"""A bell that wakes everyone who waits for a board to grow.

Rung from any thread, with or without an event loop; heard by coroutines on any number of loops
(each blocking device has a loop of its own).
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress

from devote.boards.board import EndOfBacklog, Event, Snapshot


class Bell:
    """Wakes all its listeners at once.

    A listener clears its event, looks at the board, and only then waits: a ring in between is
    not lost.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: dict[asyncio.Event, asyncio.AbstractEventLoop] = {}

    def ring(self) -> None:
        """Wake all who listen."""
        with self._lock:
            loops: dict[asyncio.AbstractEventLoop, list[asyncio.Event]] = {}
            for event, loop in self._listeners.items():
                loops.setdefault(loop, []).append(event)
        for loop, events in loops.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(_set_all, events)

    async def stream(
        self,
        read: Callable[[int], Awaitable[Snapshot]],
        after: int,
        poll: float | None = None,
    ) -> AsyncIterator[Event]:
        """What ``read`` gives above ``after``, one EndOfBacklog, then what it gives at each ring.

        ``poll`` is after how many seconds without a ring to read again.
        """
        with self._listen() as rung:
            at_end = False
            while True:
                rung.clear()
                snapshot = await read(after)
                for posted in snapshot.posted:
                    yield posted
                after = snapshot.number
                if not at_end:
                    at_end = True
                    yield EndOfBacklog(after)
                with suppress(TimeoutError):
                    await asyncio.wait_for(rung.wait(), poll)

    @contextmanager
    def _listen(self) -> Iterator[asyncio.Event]:
        event = asyncio.Event()
        with self._lock:
            self._listeners[event] = asyncio.get_running_loop()
        try:
            yield event
        finally:
            with self._lock:
                del self._listeners[event]


def _set_all(events: list[asyncio.Event]) -> None:
    for event in events:
        event.set()
