"""One experiment's board as its server holds it in memory, for reads, streams and the page alike.

SQLite is asked once per change or ``poll``, however many read or listen. A listener holds no
queue but only its place in the shared list, so that a slow one costs nothing. What the messages
come to is the store's to say.
"""

import asyncio
import secrets
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, contextmanager, suppress
from typing import TypeVar

from starlette.responses import StreamingResponse
from starlette.types import Message, Send

from devote.boards import sse
from devote.boards.bell import Bell
from devote.boards.board import PublicTally
from devote.boards.database import StoreError
from devote.boards.history import History
from devote.boards.stores import BoardStore
from devote.protocol import ExperimentSpec
from devote.server.settings import Settings

T = TypeVar("T")

_AT_ONCE = 1_000  # messages per write to a listener who has many to catch up with


def as_item(number: int, message: str, signature: str) -> bytes:
    """A message of the store as JSON, as it is sent."""
    return f'{{"number":{number},"message":{message},"signature":"{signature}"}}'.encode()


class LiveBoard:
    """The messages of one experiment as JSON items, and who waits for more.

    ``tag`` names this reading of the file; it changes when an older file was put in its place.
    """

    def __init__(self, store: BoardStore, spec: ExperimentSpec, settings: Settings) -> None:
        self._store = store
        self._spec = spec
        self._settings = settings
        self.bell = Bell()
        self._lock = asyncio.Lock()
        self._watch: asyncio.Task[None] | None = None
        self._read_at = float("-inf")
        self._players: tuple[int | None] | None = None
        self._begin()

    def _begin(self) -> None:
        self.tag = secrets.token_hex(4)
        self.items: list[bytes] = []
        self._told: tuple[int, bytes, str] | None = None

    @property
    def number(self) -> int:
        """The number of the last message read."""
        return len(self.items)

    async def refresh(self, known: int = 0) -> None:
        """Read what is new in the store, and wake the listeners if something is.

        ``known`` is a number that a reader has, perhaps from another server that is ahead.
        """
        name = self._spec.name
        async with self._lock:
            if known > self.number:
                await asyncio.to_thread(self._store.rows, name, known)
            last, rows = await asyncio.to_thread(self._store.rows, name, self.number)
            if last < self.number:  # an older file was put in place
                _, rows = await asyncio.to_thread(self._store.rows, name)
                self._begin()
                self.bell.ring()
            self.items += [as_item(*row) for row in rows]
            self._read_at = asyncio.get_running_loop().time()
        if rows:
            self.bell.ring()

    async def tally(self) -> tuple[bytes, str]:
        """The public tally as JSON, and its tag; worked out once for each number.

        What another process wrote may go unnoticed for ``poll`` seconds.
        """
        if asyncio.get_running_loop().time() - self._read_at >= self._settings.poll:
            await self.refresh()
        if self._told is None or self._told[0] < self.number:
            told = await self.look(self._tell)
            self._told = (told.number, told.to_json().encode(), told.tag)
        return self._told[1:]

    def _tell(self, history: History) -> PublicTally:
        if self._players is None:
            self._players = (self._store.get(self._spec.name).players,)  # it never changes
        public = history.tally.public(*self._players)
        return PublicTally.of(self._store.scope(self._spec.name), history.number, public)

    async def look(self, draw: Callable[[History], T]) -> T:
        """What a function makes of all messages."""
        return await asyncio.to_thread(self._store.look, self._spec.name, draw)

    async def numbers(self, every: float) -> AsyncGenerator[bytes]:
        """The number of the last message now, and again when it changes; heartbeats in between.

        At most every ``every`` seconds, so that it costs no more when many messages come.
        """
        told = -1
        with self._listening() as rung:
            while self.tag:
                rung.clear()
                number = self.number
                yield (
                    sse.HEARTBEAT
                    if number == told
                    else sse.encode(sse.NUMBER, number=number, data=str(number))
                )
                told = number
                await asyncio.sleep(every)
                await rung.wait()

    async def follow(self, after: int) -> AsyncGenerator[bytes]:
        """The events above ``after``, the end mark, then events and heartbeats as they come.

        The caller has just called ``refresh``, so that the backlog is whole. It ends with this
        reading of the file.
        """
        tag, end = self.tag, self.number
        place, at_end = min(after, end), False
        with self._listening() as rung:
            while self.tag == tag:
                rung.clear()
                upto = min(place + _AT_ONCE, self.number if at_end else end)
                if place < upto:
                    numbers, place = range(place + 1, upto + 1), upto
                    yield b"".join(
                        sse.encode(sse.MESSAGE, number=number, data=self.items[number - 1].decode())
                        for number in numbers
                    )
                elif not at_end:
                    at_end = True
                    yield sse.encode(sse.END, number=end, data=str(end))
                else:
                    await rung.wait()
                    if place == self.number and self.tag == tag:
                        yield sse.HEARTBEAT

    @contextmanager
    def _listening(self) -> Iterator[asyncio.Event]:
        with self.bell.listen() as rung:
            if self._watch is None or self._watch.done():
                self._watch = asyncio.create_task(self._keep_watch())
            yield rung

    def close(self) -> None:
        """End all streams."""
        self.tag = ""
        self.bell.ring()
        if self._watch is not None:
            self._watch.cancel()

    async def _keep_watch(self) -> None:
        loop = asyncio.get_running_loop()
        beat = loop.time() + self._settings.heartbeat
        while len(self.bell):
            await asyncio.sleep(min(self._settings.poll, self._settings.heartbeat))
            with suppress(StoreError):  # the next poll reads it
                await self.refresh()
            if loop.time() >= beat:
                beat = loop.time() + self._settings.heartbeat
                self.bell.ring()


class EventStream(StreamingResponse):
    """Server-sent events from a board, until either side leaves.

    A peer that takes nothing for ``patience`` seconds is dropped.
    """

    media_type = "text/event-stream"

    def __init__(self, events: AsyncGenerator[bytes], *, patience: float) -> None:
        self._events = events
        self._patience = patience
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__(self._events, headers=headers)

    async def stream_response(self, send: Send) -> None:
        """Send events until the server ends them; Starlette ends this when the peer leaves."""

        async def send_in_time(message: Message) -> None:
            async with asyncio.timeout(self._patience):
                await send(message)

        async with aclosing(self._events):
            with suppress(TimeoutError):
                await super().stream_response(send_in_time)


class LiveBoards:
    """The boards of all experiments that somebody has read."""

    def __init__(self, store: BoardStore, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self._boards: dict[str, LiveBoard] = {}

    def of(self, name: str) -> LiveBoard:
        """An experiment's board; UnknownExperiment if there is none."""
        if name not in self._boards:
            self._boards[name] = LiveBoard(self._store, self._store.spec(name), self._settings)
        return self._boards[name]

    @property
    def listeners(self) -> int:
        """How many streams are open, of all experiments."""
        return sum(len(board.bell) for board in self._boards.values())

    def close(self) -> None:
        """End all streams, of all experiments."""
        for board in self._boards.values():
            board.close()
