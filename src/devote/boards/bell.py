"""A bell that wakes everyone who waits for a board to grow.

Rung from any thread, with or without an event loop; heard by coroutines on any number of loops
(each blocking device has a loop of its own).
"""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager


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

    @contextmanager
    def listen(self) -> Iterator[asyncio.Event]:
        """An event that is set at each ring, for as long as the block lasts."""
        event = asyncio.Event()
        with self._lock:
            self._listeners[event] = asyncio.get_running_loop()
        try:
            yield event
        finally:
            with self._lock:
                del self._listeners[event]

    def __len__(self) -> int:
        return len(self._listeners)


def _set_all(events: list[asyncio.Event]) -> None:
    for event in events:
        event.set()
