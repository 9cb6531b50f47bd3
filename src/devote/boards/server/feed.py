"""One experiment's messages, ready to send to any number of listeners.

Each message is written out once, whoever reads it, and SQLite is asked once per change or
``poll``, however many listen. A listener holds no queue but only its place in the shared list,
so that a slow one costs nothing.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress

from devote.boards import sse
from devote.boards.board import BoardUnavailable
from devote.boards.server.settings import Settings
from devote.boards.store import SqliteStore

_AT_ONCE = 1_000  # messages per write to a listener who has many to catch up with


class Listener:
    """One stream's place in the feed."""

    def __init__(self) -> None:
        self.rung = asyncio.Event()
        self.gone = False

    def leave(self) -> None:
        """Stop listening."""
        self.gone = True
        self.rung.set()


class Feed:
    """The messages of one experiment as JSON items, and those who wait for more."""

    def __init__(self, store: SqliteStore, name: str, settings: Settings) -> None:
        self.name = name
        self.tag = secrets.token_hex(4)  # of this reading of the file: another may differ
        self.items: list[bytes] = []
        self._events: list[bytes] = []
        self._store = store
        self._settings = settings
        self._listeners: set[Listener] = set()
        self._reading = asyncio.Lock()
        self._watch: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._listeners)

    @property
    def number(self) -> int:
        """The number of the last message read."""
        return len(self.items)

    async def refresh(self) -> None:
        """Read what is new in the store, and wake the listeners if something is."""
        async with self._reading:
            last, rows = await asyncio.to_thread(self._store.rows, self.name, self.number)
            if last < self.number:  # an older file was put in place: begin again
                self.tag = secrets.token_hex(4)
                self.items, self._events = [], []
                _, rows = await asyncio.to_thread(self._store.rows, self.name)
                for listener in self._listeners:
                    listener.leave()
            for number, message, signature in rows:
                item = f'{{"number":{number},"message":{message},"signature":"{signature}"}}'
                self.items.append(item.encode())
                self._events.append(sse.encode(sse.MESSAGE, number=number, data=item))
        if rows:
            self._ring()

    @contextmanager
    def listen(self) -> Iterator[Listener]:
        """A place among the listeners, for as long as the block lasts."""
        listener = Listener()
        self._listeners.add(listener)
        if self._watch is None or self._watch.done():
            self._watch = asyncio.create_task(self._keep_watch())
        try:
            yield listener
        finally:
            self._listeners.discard(listener)

    async def follow(self, listener: Listener, after: int) -> AsyncIterator[bytes]:
        """The events above ``after``, the end mark, then events and heartbeats as they come.

        The caller has just called ``refresh``, so that the backlog is whole.
        """
        end = self.number
        place = min(after, end)
        while place < end:
            upto = min(place + _AT_ONCE, end)
            yield b"".join(self._events[place:upto])
            place = upto
        yield sse.encode(sse.END, number=end, data=str(end))
        while not listener.gone:
            listener.rung.clear()
            if place < self.number:
                upto = min(place + _AT_ONCE, self.number)
                chunk = b"".join(self._events[place:upto])
                place = upto
                yield chunk
                continue
            await listener.rung.wait()
            if place == self.number and not listener.gone:
                yield sse.HEARTBEAT

    def close(self) -> None:
        """End all streams."""
        for listener in self._listeners:
            listener.leave()
        if self._watch is not None:
            self._watch.cancel()

    def _ring(self) -> None:
        for listener in self._listeners:
            listener.rung.set()

    async def _keep_watch(self) -> None:
        loop = asyncio.get_running_loop()
        beat = loop.time() + self._settings.heartbeat
        while self._listeners:
            await asyncio.sleep(min(self._settings.poll, self._settings.heartbeat))
            with suppress(BoardUnavailable):  # the next poll reads it
                await self.refresh()
            if loop.time() >= beat:
                beat = loop.time() + self._settings.heartbeat
                self._ring()


class Feeds:
    """The feeds of all experiments that somebody has read."""

    def __init__(self, store: SqliteStore, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self._feeds: dict[str, Feed] = {}

    def of(self, name: str) -> Feed:
        """An experiment's feed; the caller has checked that there is such an experiment."""
        if name not in self._feeds:
            self._feeds[name] = Feed(self._store, name, self._settings)
        return self._feeds[name]

    @property
    def listeners(self) -> int:
        """How many streams are open."""
        return sum(len(feed) for feed in self._feeds.values())

    def close(self) -> None:
        """End all streams, of all experiments."""
        for feed in self._feeds.values():
            feed.close()
