"""One server's parts, and what it keeps in memory of each board.

The store is asked once per change or ``poll``, however many read the tally or listen. In memory are
the tally and the latest messages; a stream holds no queue but only its place in the log. Pages of
the log are read from the store each time: caches in front of the server keep them.
"""

import asyncio
import gzip
import json
import math
import time
from collections import defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, suppress
from dataclasses import replace
from functools import partial
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar

from devote.boards.admission import Receipt
from devote.boards.board import (
    END,
    HEARTBEAT,
    MESSAGE,
    NUMBER,
    PAGE,
    Envelope,
    Experiment,
    Outcome,
    TallySnapshot,
    UnknownExperiment,
    encode,
    page_of,
    page_tag,
)
from devote.boards.database import StoreError
from devote.boards.store import Row, SqliteStore
from devote.server.days import Days
from devote.server.limits import Bodies, Connections, RateLimit, Refused
from devote.server.log import EventLog
from devote.server.metrics import Metrics
from devote.server.settings import Settings

P = ParamSpec("P")
T = TypeVar("T")

LEAST_READ = 10_000
"""Bytes that every answer counts for at least: to make it costs about as much."""


class Shared(Generic[T]):
    """A value that many ask for and one makes, for all who ask at the same time.

    It is at most ``age`` seconds older than the question, and made at most every ``every`` seconds.
    """

    def __init__(
        self, make: Callable[[], Awaitable[T]], *, age: float = 0.0, every: float = 0.0
    ) -> None:
        self._make = make
        self._age = age
        self._every = every
        self._made_at = -math.inf
        self._is_forgotten = False
        self._lock = asyncio.Lock()
        self._value: T

    async def get(self) -> T:
        """The value."""
        asked = time.monotonic()
        if self._made_at < asked - self._age:
            async with self._lock:
                if self._made_at < asked - self._age:
                    await asyncio.sleep(self._made_at + self._every - time.monotonic())
                    begin, self._is_forgotten = time.monotonic(), False
                    self._value = await self._make()
                    self._made_at = -math.inf if self._is_forgotten else begin
        return self._value

    def forget(self) -> None:
        """Have it made again when it is next asked for."""
        self._made_at, self._is_forgotten = -math.inf, True


class WriteBatcher:
    """Hands requests to ``work`` in batches, in the order in which they came.

    While one batch is being written, what comes meanwhile waits and becomes the next: so the
    slower the disk, the larger the batches, and nobody waits for more than two of them. ``work``
    gives a receipt for each; what it raises, all of its batch get. At most ``most`` are written
    at once: whoever reads waits for that long.
    """

    def __init__(self, work: Callable[..., Awaitable[list[Any]]], most: int = 1_000) -> None:
        self._work = work
        self._most = most
        self._waiting: list[tuple[Any, asyncio.Future[Any]]] = []
        self._running: asyncio.Task[None] | None = None

    async def do(self, request: Any) -> Any:
        """Have one request written, and wait for it."""
        future = asyncio.get_running_loop().create_future()
        self._waiting.append((request, future))
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._run())
        return await future

    async def _run(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
            try:
                results = await self._work([request for request, _ in batch])
            except Exception as error:
                results = [error] * len(batch)
            for (_, future), result in zip(batch, results, strict=True):
                if future.done():  # nobody waits any more
                    continue
                if isinstance(result, Exception):
                    future.set_exception(result)
                else:
                    future.set_result(result)


class Document(NamedTuple):
    """A body as it is sent, its name, and perhaps the same compressed; final: it never changes.

    ``signed`` is the server's signature over it, which is sent beside it.
    """

    body: bytes
    tag: str
    packed: bytes | None = None
    is_final: bool = False
    signed: str = ""


def as_item(row: Row) -> str:
    """A message of the store as JSON, as it is sent."""
    number, message, signature = row
    return f'{{"number":{number},"message":{message},"signature":"{signature}"}}'


def seconds_between_reads(devices: int, settings: Settings, *, is_settled: bool = False) -> int:
    """Seconds between two reads of one of so many devices.

    >>> [seconds_between_reads(n, Settings()) for n in (100, 20_000, 1_000_000)]
    [15, 30, 1920]
    >>> seconds_between_reads(100, Settings(), is_settled=True)
    3600
    """
    least = settings.pace
    needed = max(1.0, devices / settings.polls / least)
    seconds = math.ceil(least * 2.0 ** math.ceil(math.log2(needed)))
    return max(seconds, math.ceil(settings.settled_pace)) if is_settled else seconds


class LiveBoard:
    """The board of one experiment: its tally, its log in pages, and streams of what is new.

    ``end`` is the number of the last message. The streams, of which there are ``listeners``, end
    when another log is found in the store (a backup, or messages taken back), when the experiment
    is deleted, and when the server is told to stop.
    """

    def __init__(self, service: "Service", name: str) -> None:
        poll = service.settings.poll
        self.tally: Shared[Document] = Shared(self._read_tally, age=poll)
        self.end: Shared[int] = Shared(self._read_on, age=poll)
        self.listeners = 0
        self._service = service
        self._store = service.store
        self._name = name
        self._recent: list[Row] = []
        self._log = 0
        self._changed, self._posted = asyncio.Event(), asyncio.Event()
        self._watch: asyncio.Task[None] | None = None

    def changed(self) -> None:
        """Note that the store has a new message."""
        self.tally.forget()
        self.end.forget()
        self._posted.set()

    async def _read_tally(self) -> Document:
        tally = await self._service.call(self.snapshot)
        signed = "" if tally.signed is None else str(tally.signed)
        return Document(tally.to_json().encode(), tally.tag, signed=signed)

    def snapshot(self) -> TallySnapshot:
        """What the messages come to, with the pace that suits the fleet."""
        experiment, settings = self._store.get(self._name), self._service.settings
        snapshot = self._store.tally(self._name)
        is_settled = snapshot.tally["status"] == "agreed" and not experiment.spec.resets
        return replace(
            snapshot,
            pace=seconds_between_reads(experiment.enrolled, settings, is_settled=is_settled),
            streams=experiment.enrolled <= settings.streams and not is_settled,
        )

    def read_page(self, number: int) -> Document | int:
        """A page of the log, or the number of the last if it is beyond that."""
        scope = self._store.scope(self._name)
        end, rows = self._store.rows(self._name, (number - 1) * PAGE, PAGE)
        if number > page_of(end + 1):
            return page_of(end + 1)
        is_full, listed = len(rows) == PAGE, ",".join(map(as_item, rows))
        body = (
            f'{{"board":"{scope.board}","fingerprint":"{scope.fingerprint}","page":{number},'
            f'"full":{json.dumps(is_full)},"messages":[{listed}]}}'
        ).encode()
        # The same bytes on every server and at any time: no moment is written into it.
        packed = gzip.compress(body, compresslevel=4, mtime=0)
        return Document(body, page_tag(row[2] for row in rows), packed, is_full)

    async def _read_on(self) -> int:
        """Read what is new in the store, and wake the streams if something is."""
        rows = await self._service.call(self._news)
        if rows is None:
            self.close()
            self._recent = []
            rows = await self._service.call(self._news) or []
        if rows:
            self._recent = [*self._recent, *rows][-PAGE:]
            self._wake()
        return self._number

    def _news(self) -> list[Row] | None:
        """The messages that are new; None if the log is not the one that was read before."""
        known = self._recent[-1:]  # of a log that is new here only the last message is needed
        last = self._number if known else self._store.rows(self._name, 0, 0)[0]
        _, rows = self._store.rows(self._name, max(0, last - 1))
        return rows[len(known) :] if rows[: len(known)] == known else None

    @property
    def _number(self) -> int:
        return self._recent[-1][0] if self._recent else 0

    async def catch_up(self, known: int = 0) -> None:
        """Read up to a number that a reader has, perhaps from another server that is ahead."""
        if known > await self.end.get():
            await self._service.call(self._store.rows, self._name, known, 0)
            self.end.forget()
            await self.end.get()

    def close(self) -> None:
        """End all streams."""
        self._log += 1
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def _numbers(self) -> AsyncGenerator[int]:
        """The number of the last message now, again when it changes, and as a heartbeat."""
        log = self._log
        self.listeners += 1
        if self._watch is None or self._watch.done():
            self._watch = asyncio.create_task(self._keep_watch())
        try:
            while self._log == log:
                changed = self._changed
                yield self._number
                await changed.wait()
        finally:
            self.listeners -= 1

    async def _keep_watch(self) -> None:
        """Read on while anybody listens: after each post, and for what others write."""
        settings = self._service.settings
        beat = time.monotonic() + settings.heartbeat
        while self.listeners:
            with suppress(TimeoutError):
                async with asyncio.timeout(min(settings.poll, settings.heartbeat)):
                    await self._posted.wait()
            self._posted.clear()
            self.end.forget()
            try:
                await self.end.get()
            except StoreError:
                pass  # it is read later
            except UnknownExperiment:  # it was deleted, perhaps through another server
                self.close()
            if self._service.is_stopping:
                self.close()
            if time.monotonic() >= beat:
                beat = time.monotonic() + settings.heartbeat
                self._wake()

    async def numbers(self, every: float) -> AsyncGenerator[bytes]:
        """Events of the last message's number; heartbeats in between.

        At most every ``every`` seconds, so that it costs no more when many messages come.
        """
        sent = -1
        async with aclosing(self._numbers()) as numbers:
            async for number in numbers:
                news = encode(NUMBER, number=number, data=str(number))
                yield HEARTBEAT if number == sent else news
                sent = number
                await asyncio.sleep(every)

    async def follow(self, after: int) -> AsyncGenerator[bytes]:
        """Events of the messages above ``after``, the end mark, then messages and heartbeats."""
        log, place, is_at_end = self._log, min(after, self._number), False
        async with aclosing(self._numbers()) as numbers:
            async for number in numbers:
                if is_at_end and place == number:
                    yield HEARTBEAT
                while place < number:
                    rows = await self._between(place, number)
                    if not rows or self._log != log:
                        return
                    place = rows[-1][0]
                    events = (encode(MESSAGE, number=row[0], data=as_item(row)) for row in rows)
                    yield b"".join(events)
                if not is_at_end:
                    is_at_end = True
                    yield encode(END, number=number, data=str(number))

    async def _between(self, place: int, upto: int) -> list[Row]:
        """The messages above ``place`` up to ``upto``, or the first of them, at most a page."""
        if self._recent and self._recent[0][0] <= place + 1:
            first = place + 1 - self._recent[0][0]
            return self._recent[first : first + upto - place]
        limit = min(PAGE, upto - place)
        return (await self._service.call(self._store.rows, self._name, place, limit))[1]


class Service:
    """What the routes share: the store, the settings, the boards, the limits and the counters."""

    def __init__(self, store: SqliteStore, settings: Settings) -> None:
        self.store = store
        self.settings = settings
        self.log = EventLog()
        self.metrics = Metrics()
        self.bodies = Bodies(settings.patience, settings.bodies)
        self.voters = RateLimit(rate=settings.voter_rate, burst=settings.voter_burst)
        self.writes = RateLimit(rate=settings.write_rate, burst=settings.write_burst)
        self.reads = RateLimit(rate=settings.read_rate, burst=settings.read_burst)
        self.refused_tokens = RateLimit(rate=1 / 60, burst=10.0)
        self.days: defaultdict[str, Days] = defaultdict(Days)
        self._minute = RateLimit(rate=1 / 60, burst=1.0)
        self.connections: Connections | None = None
        self.admin_port: int | None = None
        self._threads = ThreadPoolExecutor(store.at_once, "devote-store")
        self._boards: dict[str, LiveBoard] = {}
        self._health: Shared[StoreError | None] = Shared(self._check_health, age=1.0)
        self._trouble = ""
        self._batchers: dict[tuple[str, str], WriteBatcher] = {}

    async def call(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Do something with the store, in a thread: it waits for a disk or for others."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, partial(work, *args, **kwargs))

    async def post(self, name: str, envelope: Envelope) -> Receipt:
        """Post a message; it is kept when this returns."""
        self.writes.check(name, "for this experiment")
        most = self.settings.messages
        receipt = await self._write(self.store.post_all, name, (name, envelope), most)
        self.metrics.messages.labels(name, receipt.outcome).inc()
        if receipt.outcome is Outcome.ACCEPTED and name in self._boards:
            self._boards[name].changed()
        return receipt

    async def enrol(self, name: str, voter: str, invite: str | None) -> Receipt:
        """Enrol a voter who has signed that."""
        self.writes.check(name, "for this experiment")
        most = self.settings.enrolments
        return await self._write(self.store.enrol_all, name, (name, voter, invite), most)

    async def _write(self, work: Callable[..., Any], name: str, item: Any, most: int) -> Receipt:
        """Write together with others: with all where there is one disk, else per experiment."""
        batch = (work.__name__, "" if self.store.one_disk else name)
        if batch not in self._batchers:
            self._batchers[batch] = WriteBatcher(partial(self.call, work, most=most))
        receipt: Receipt = await self._batchers[batch].do(item)
        return receipt

    async def listed(self) -> list[Experiment]:
        """The experiments that are not archived."""
        hidden = await self.call(self.store.archived)
        found = await self.call(self.store.experiments)
        return [experiment for experiment in found if experiment.name not in hidden]

    async def existing(self, name: str) -> None:
        """Refuse an experiment that does not exist."""
        if not self.store.is_known(name):  # else nothing waits for the disk
            await self.call(self.store.spec, name)

    async def reading(self, name: str) -> LiveBoard:
        """The board of an experiment that exists and is not read too often."""
        await self.existing(name)
        self.reads.check(name, "for this experiment", LEAST_READ)
        return self.board(name)

    def charge_read(self, name: str, size: int) -> None:
        """Count an answer of so many bytes."""
        self.reads.charge(name, max(0, size - LEAST_READ))

    def board(self, name: str) -> LiveBoard:
        """An experiment's board."""
        if name not in self._boards:
            self._boards[name] = LiveBoard(self, name)
        return self._boards[name]

    def forget(self, name: str) -> None:
        """End the streams of an experiment that was deleted, and keep nothing of it."""
        self._batchers = {key: each for key, each in self._batchers.items() if key[1] != name}
        self.days.pop(name, None)
        if name in self._boards:
            self._boards.pop(name).close()

    @property
    def listeners(self) -> int:
        """How many streams are open, of all experiments."""
        return sum(board.listeners for board in self._boards.values())

    @property
    def is_stopping(self) -> bool:
        """Whether the server has been told to stop."""
        return self.connections is not None and self.connections.is_stopping

    def check_streams(self) -> None:
        """Refuse one more stream when too many are open."""
        room = self.settings.streams
        if self.connections is not None:
            room = min(room, self.connections.streams)
        if self.listeners >= room:
            wait = str(math.ceil(max(60.0, self.settings.pace)))
            text = "There is no room for one more stream.\nRead the tally at its pace instead."
            raise Refused(503, text, {"Retry-After": wait})

    async def check_health(self) -> None:
        """Write to the store, at most once a second; StoreError if that does not work."""
        if (problem := await self._health.get()) is not None:
            raise problem

    async def each_minute(self) -> None:
        """Delete experiments that are due and count answers, at most once a minute."""
        if self._minute.wait("all"):
            return
        for name in await self.call(self.store.overdue):
            with suppress(UnknownExperiment):  # another server was faster
                await self.call(self.store.delete, name)
            self.forget(name)
            self.log.write("delete", experiment=name, scope="delete_after")
        for name in list(self._boards):
            with suppress(UnknownExperiment):
                experiment = await self.call(self.store.get, name)
                number, _ = await self.call(self.store.rows, name, 0, 0)
                self.days[name].note(self.store.clock(), number, experiment.enrolled)

    async def _check_health(self) -> StoreError | None:
        try:
            await self.call(self.store.check_writable)
        except StoreError as problem:
            return problem
        self.note_store("")
        return None

    def note_store(self, cause: str) -> None:
        """Log why the store fails, once until it works again (no cause) or fails otherwise."""
        if cause != self._trouble:
            self._trouble = cause
            self.log.write(cause or "store_available")

    def public_url(self, name: str) -> str | None:
        """Where devices find an experiment, None if that was not set."""
        base = self.settings.public_url.rstrip("/")
        return f"{base}/experiments/{name}" if base else None
