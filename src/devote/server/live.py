"""One experiment's board as its server holds it in memory, for reads, streams and the page alike.

The store is asked once per change or ``poll``, however many read or listen. In memory are the
messages of the last page, the pages that were asked for last, and what the tally says; a listener
holds no queue but only its place in the log. What the messages come to is the store's to say.
Pages are sent as they are and compressed, each made once and kept a while.
"""

import asyncio
import gzip
import math
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TypeVar

from starlette.responses import StreamingResponse
from starlette.types import Message, Send

from devote.boards.board import (
    END,
    HEARTBEAT,
    MESSAGE,
    NUMBER,
    PAGE,
    Experiment,
    Notifier,
    TallySnapshot,
    UnknownExperiment,
    encode,
    page_of,
    page_tag,
)
from devote.boards.database import StoreError
from devote.boards.store import History, Row, SqliteStore
from devote.protocol import ExperimentSpec
from devote.protocol.wire import Scope
from devote.server.settings import Settings

T = TypeVar("T")

KEPT = 16
"""Pages kept in memory, those asked for last; a page takes up to half a megabyte."""

LEAST = 1_024
"""What is shorter is not worth compressing."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page: its JSON, the same compressed if that is worth it, and its name."""

    body: bytes
    packed: bytes | None
    tag: str
    full: bool


def as_item(number: int, message: str, signature: str) -> bytes:
    """A message of the store as JSON, as it is sent."""
    return f'{{"number":{number},"message":{message},"signature":"{signature}"}}'.encode()


def pack(body: bytes) -> bytes | None:
    """A body compressed, or None if it is too short for that."""
    # The same bytes on every server and at any time: no moment is written into it.
    return gzip.compress(body, compresslevel=4, mtime=0) if len(body) >= LEAST else None


def make_page(number: int, rows: Iterable[Row], scope: Scope) -> Page:
    """The page of this number that holds these messages."""
    listed = list(rows)
    full = len(listed) == PAGE
    items = b",".join(as_item(*row) for row in listed)
    head = f'{{"board":"{scope.board}","fingerprint":"{scope.fingerprint}","page":{number},'
    rest = f'"full":{"true" if full else "false"},"messages":['
    body = (head + rest).encode() + items + b"]}"
    return Page(body, pack(body), page_tag(row[2] for row in listed), full)


def told_pace(told: TallySnapshot, experiment: Experiment, settings: Settings) -> TallySnapshot:
    """A tally with the pace that suits the fleet, and whether its devices may hold streams."""
    is_settled = told.tally["status"] == "agreed" and not experiment.spec.resets
    return replace(
        told,
        pace=pace(experiment.enrolled, settings, is_settled=is_settled),
        streams=experiment.enrolled <= settings.streams and not is_settled,
    )


def pace(devices: int, settings: Settings, *, is_settled: bool = False) -> int:
    """Seconds between two reads of one of so many devices.

    >>> [pace(n, Settings(pace=15.0, polls=1_000.0)) for n in (100, 20_000, 1_000_000)]
    [15, 30, 1920]
    >>> pace(100, Settings(), is_settled=True)
    3600
    """
    least = settings.pace
    needed = max(1.0, devices / settings.polls / least)
    seconds = math.ceil(least * 2.0 ** math.ceil(math.log2(needed)))
    return max(seconds, math.ceil(settings.settled_pace)) if is_settled else seconds


@dataclass(frozen=True, slots=True)
class ToldTally:
    """A public tally as it is sent, and its name."""

    body: bytes
    tag: str


class LiveBoard:
    """The log of one experiment in pages, its tally, and who waits for more.

    ``number`` is that of the last message read. ``reading`` changes when streams are to end: an
    older file was put in the store's place, or the server is told to stop.
    """

    def __init__(
        self,
        store: SqliteStore,
        spec: ExperimentSpec,
        settings: Settings,
        is_stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self._is_stopping = is_stopping
        self._store = store
        self._spec = spec
        self._settings = settings
        self.notifier = Notifier()
        self.reading = 0
        self._reading = asyncio.Lock()
        self._telling = asyncio.Lock()
        self._asked = self._answered = 0
        self._watch: asyncio.Task[None] | None = None
        self._pages: OrderedDict[int, Page] = OrderedDict()
        self._begin()

    def _begin(self) -> None:
        self.reading += 1
        self.number = 0
        self._last: Row | None = None
        self._rows: list[Row] = []
        self._unfinished: Page | None = None
        self._pages.clear()
        self._read_at = self._told_at = float("-inf")
        self._told: ToldTally | None = None

    def changed(self) -> None:
        """Note that the store has a new message, and tell the listeners soon."""
        self._read_at = self._told_at = float("-inf")
        if len(self.notifier) and self._asked == self._answered:
            self._refreshing = asyncio.create_task(self._refresh_for_listeners())

    async def _refresh_for_listeners(self) -> None:
        with suppress(StoreError):  # the watch reads it later
            await self.refresh()

    async def refresh(self, known: int = 0) -> None:
        """Read what is new in the store, and wake the listeners if something is.

        Of many who ask at once, one reads for all who asked before it began. ``known`` is a number
        that a reader has, perhaps from another server that is ahead.
        """
        if known > self.number:
            await asyncio.to_thread(self._store.rows, self._spec.name, known, 0)
        self._asked += 1
        mine = self._asked
        async with self._reading:
            if self._answered >= mine:
                return
            upto, before = self._asked, (self.reading, self.number)
            self._read_at = asyncio.get_running_loop().time()
            rows = await asyncio.to_thread(self._news)
            if rows is None:  # an older file was put in place
                self._begin()
                self._read_at = asyncio.get_running_loop().time()
                rows = await asyncio.to_thread(self._news) or []
            if rows:
                self._last, self.number = rows[-1], rows[-1][0]
                base = self.number // PAGE * PAGE
                self._rows = [row for row in (*self._rows, *rows) if row[0] > base]
                self._unfinished = None
            self._answered = upto
        if (self.reading, self.number) != before:
            self.notifier.notify()

    def _news(self) -> list[Row] | None:
        """What the store has above ``number``; None if it is not the log that was read before."""
        name = self._spec.name
        if self._last is None:
            last, _ = self._store.rows(name, 0, 0)
            return self._store.rows(name, last // PAGE * PAGE - 1 if last else 0)[1]
        _, rows = self._store.rows(name, self.number - 1)
        return rows[1:] if rows and tuple(rows[0]) == tuple(self._last) else None

    async def fresh(self) -> None:
        """Read the store, unless that was done less than ``poll`` seconds ago."""
        if asyncio.get_running_loop().time() - self._read_at >= self._settings.poll:
            await self.refresh()

    async def page(self, number: int) -> Page | None:
        """A page of the log; None for one beyond the first that is not full."""
        await self.fresh()
        last = page_of(self.number + 1)
        if number > last:
            return None
        if number == last:
            if self._unfinished is None:
                self._unfinished = await asyncio.to_thread(self._make, number, list(self._rows))
            return self._unfinished
        kept = self._pages.pop(number, None)
        if kept is None:
            kept = await asyncio.to_thread(self._make, number)
        if kept.full:
            self._pages[number] = kept
            if len(self._pages) > KEPT:
                self._pages.popitem(last=False)
        return kept

    def _make(self, number: int, rows: list[Row] | None = None) -> Page:
        name = self._spec.name
        if rows is None:
            _, rows = self._store.rows(name, (number - 1) * PAGE, PAGE)
        return make_page(number, rows, self._store.scope(name))

    def told(self) -> ToldTally | None:
        """The public tally, unless the store is to be asked first."""
        is_old = asyncio.get_running_loop().time() - self._told_at >= self._settings.poll
        return None if is_old else self._told

    async def tally(self) -> ToldTally:
        """The public tally; what another process wrote may go unnoticed for ``poll`` seconds."""
        async with self._telling:
            told = self.told()
            if told is None:
                self._told_at = asyncio.get_running_loop().time()
                public = await self.look(self._tell)
                told = self._told = ToldTally(public.to_json().encode(), public.tag)
            return told

    def _tell(self, history: History) -> TallySnapshot:
        experiment = self._store.get(self._spec.name)
        return told_pace(history.public(experiment), experiment, self._settings)

    async def look(self, draw: Callable[[History], T]) -> T:
        """What a function makes of all messages."""
        return await asyncio.to_thread(self._store.look, self._spec.name, draw)

    async def numbers(self, every: float) -> AsyncGenerator[bytes]:
        """The number of the last message now, and again when it changes; heartbeats in between.

        At most every ``every`` seconds, so that it costs no more when many messages come.
        """
        told, reading = -1, self.reading
        with self._listening() as rung:
            while self.reading == reading:
                rung.clear()
                number = self.number
                yield (
                    HEARTBEAT if number == told else encode(NUMBER, number=number, data=str(number))
                )
                told = number
                await asyncio.sleep(every)
                await rung.wait()

    async def follow(self, after: int) -> AsyncGenerator[bytes]:
        """The events above ``after``, the end mark, then events and heartbeats as they come.

        The caller has just called ``refresh``, so that the backlog is whole. It ends with this
        reading of the file.
        """
        reading, end = self.reading, self.number
        place, at_end = min(after, end), False
        with self._listening() as rung:
            while self.reading == reading:
                rung.clear()
                upto = self.number if at_end else end
                if place < upto:
                    rows = await self._between(place, upto)
                    if not rows or self.reading != reading:
                        return
                    place = rows[-1][0]
                    yield b"".join(
                        encode(MESSAGE, number=row[0], data=as_item(*row).decode()) for row in rows
                    )
                elif not at_end:
                    at_end = True
                    yield encode(END, number=end, data=str(end))
                else:
                    await rung.wait()
                    if place == self.number and self.reading == reading:
                        yield HEARTBEAT

    async def _between(self, place: int, upto: int) -> list[Row]:
        """The messages above ``place`` up to ``upto``, or the first of them, at most a page."""
        if self._rows and self._rows[0][0] <= place + 1:
            first = place + 1 - self._rows[0][0]
            return self._rows[first : first + upto - place]
        limit = min(PAGE, upto - place)
        return (await asyncio.to_thread(self._store.rows, self._spec.name, place, limit))[1]

    @contextmanager
    def _listening(self) -> Iterator[asyncio.Event]:
        with self.notifier.listen() as rung:
            if self._watch is None or self._watch.done():
                self._watch = asyncio.create_task(self._keep_watch())
            yield rung

    def close(self) -> None:
        """End all streams."""
        self.reading += 1
        self.notifier.notify()
        if self._watch is not None and self._watch is not asyncio.current_task():
            self._watch.cancel()

    async def _keep_watch(self) -> None:
        loop = asyncio.get_running_loop()
        beat = loop.time() + self._settings.heartbeat
        while len(self.notifier):
            await asyncio.sleep(min(self._settings.poll, self._settings.heartbeat))
            if self._is_stopping():
                self.close()
                return
            try:
                await self.refresh()
            except StoreError:
                pass  # the next poll reads it
            except UnknownExperiment:  # it was deleted, perhaps through another server
                self.close()
                return
            if loop.time() >= beat:
                beat = loop.time() + self._settings.heartbeat
                self.notifier.notify()


class EventStream(StreamingResponse):
    """Server-sent events from a board, until either side leaves.

    A peer that takes nothing for ``patience`` seconds is dropped.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        events: AsyncGenerator[bytes],
        *,
        patience: float,
        count: Callable[[int], None] = lambda size: None,
    ) -> None:
        self._events = events
        self._patience = patience
        self._count = count
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__(self._events, headers=headers)

    async def stream_response(self, send: Send) -> None:
        """Send events until the server ends them; Starlette ends this when the peer leaves."""

        async def send_in_time(message: Message) -> None:
            self._count(len(message.get("body", b"")))
            async with asyncio.timeout(self._patience):
                await send(message)

        async with aclosing(self._events):
            with suppress(TimeoutError):
                await super().stream_response(send_in_time)
