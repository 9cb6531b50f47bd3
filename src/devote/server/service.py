"""What the routes share: the store, the settings, the live boards, the limits and the counters."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Generic, ParamSpec, TypeVar

from devote.boards.admission import Receipt
from devote.boards.board import Envelope, Experiment, Outcome
from devote.boards.database import StoreError
from devote.boards.store import EnrolmentRequest, SqliteStore
from devote.server.answers import cause_of
from devote.server.bodies import Bodies
from devote.server.events import EventLog
from devote.server.limits import Connections, Origins, RateLimit, Refused, too_many
from devote.server.live import LiveBoard
from devote.server.metrics import Metrics
from devote.server.settings import Settings, Tokens

P = ParamSpec("P")
T = TypeVar("T")
A = TypeVar("A")
R = TypeVar("R")

LEAST_READ = 10_000
"""Bytes that every answer counts for at least: to make it costs about as much."""


class WriteBatcher(Generic[A, R]):
    """Hands what is asked for to ``work`` in batches, in the order in which it came.

    While one batch is being written, what comes meanwhile waits and becomes the next: so the
    slower the disk, the larger the batches, and nobody waits for more than two of them. ``work``
    runs in a thread, to which ``call`` hands it, and gives one result for each; what it raises,
    all of its batch get. At most ``most`` are written at once: whoever reads waits for that long.
    """

    def __init__(
        self,
        work: Callable[[Sequence[A]], Sequence[R]],
        most: int = 1_000,
        call: Callable[..., Awaitable[Sequence[R]]] = asyncio.to_thread,
    ) -> None:
        self._work = work
        self._call = call
        self._most = most
        self._waiting: list[tuple[A, asyncio.Future[R]]] = []
        self._running: asyncio.Task[None] | None = None

    async def do(self, item: A) -> R:
        """Have one thing done, and wait for it."""
        future: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, future))
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._run())
        return await future

    async def _run(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
            futures = [future for _, future in batch]
            try:
                results = await self._call(self._work, [item for item, _ in batch])
            except Exception as error:
                for future in futures:
                    if not future.done():
                        future.set_exception(error)
            else:
                for future, result in zip(futures, results, strict=True):
                    if not future.done():  # nobody may wait any more
                        future.set_result(result)


class Service:
    """One server's parts."""

    def __init__(self, store: SqliteStore, settings: Settings) -> None:
        self.store = store
        self.settings = settings
        self.log = EventLog()
        self.tokens = Tokens(settings)
        self.metrics = Metrics()
        self.origins = Origins(settings.origins)
        self.bodies = Bodies(settings.patience, settings.bodies)
        self.voters = RateLimit(rate=settings.voter_rate, burst=settings.voter_burst)
        self.writes = RateLimit(rate=settings.write_rate, burst=settings.write_burst)
        self.reads = RateLimit(rate=settings.read_rate, burst=settings.read_burst)
        self.refused_tokens = RateLimit(rate=1 / 60, burst=10.0)
        self.connections: Connections | None = None
        self.admin_port: int | None = None
        self.is_stopping: Callable[[], bool] = lambda: False
        self._threads = ThreadPoolExecutor(store.at_once, "devote-store")
        self._boards: dict[str, LiveBoard] = {}
        self._checking = asyncio.Lock()
        self._checked_at = float("-inf")
        self._trouble: StoreError | None = None
        self._logged = ""
        self._posts: dict[str, WriteBatcher[tuple[str, Envelope], Receipt]] = {}
        self._enrolments: dict[str, WriteBatcher[EnrolmentRequest, Receipt]] = {}

    def listed(self) -> list[Experiment]:
        """The experiments that are not archived."""
        hidden = self.store.archived()
        return [item for item in self.store.experiments() if item.name not in hidden]

    async def call(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Do something with the store, in a thread: it waits for a disk or for others."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, partial(work, *args, **kwargs))

    async def post(self, name: str, envelope: Envelope) -> Receipt:
        """Post a message, together with others; it is kept when this returns."""
        key = self._batch(name)
        if key not in self._posts:
            work = partial(self.store.post_all, most=self.settings.messages)
            self._posts[key] = WriteBatcher(work, call=self.call)
        receipt = await self._posts[key].do((name, envelope))
        self.metrics.count_message(name, receipt.outcome)
        if receipt.outcome is Outcome.ACCEPTED and name in self._boards:
            self._boards[name].changed()
        return receipt

    async def enrol(self, name: str, voter: str, invite: str | None) -> Receipt:
        """Enrol a voter who has signed that, together with others."""
        key = self._batch(name)
        if key not in self._enrolments:
            work = partial(self.store.enrol_all, most=self.settings.enrolments)
            self._enrolments[key] = WriteBatcher(work, call=self.call)
        return await self._enrolments[key].do((name, voter, invite))

    def _batch(self, name: str) -> str:
        """With whom an experiment's writes wait: with all where there is one disk, else alone."""
        return "" if self.store.one_disk else name

    async def existing(self, name: str) -> None:
        """Refuse an experiment that does not exist."""
        if not self.store.is_known(name):  # else nothing waits for the disk
            await self.call(self.store.spec, name)

    async def reading(self, name: str) -> LiveBoard:
        """The board of an experiment that exists and is not read too often."""
        await self.existing(name)
        if seconds := self.reads.wait(name, LEAST_READ):
            raise too_many(seconds, "for this experiment")
        return self.board(name)

    def read(self, name: str, size: int) -> None:
        """Count an answer of so many bytes."""
        self.reads.charge(name, size - LEAST_READ)

    def board(self, name: str) -> LiveBoard:
        """An experiment's board; UnknownExperiment if there is none."""
        if name not in self._boards:
            self._boards[name] = LiveBoard(
                self.store, self.store.spec(name), self.settings, lambda: self.is_stopping()
            )
        return self._boards[name]

    def forget(self, name: str) -> None:
        """End the streams of an experiment that was deleted, and keep nothing of it."""
        for batches in (self._posts, self._enrolments):
            batches.pop(name, None)
        if name in self._boards:
            self._boards.pop(name).close()

    @property
    def listeners(self) -> int:
        """How many streams are open, of all experiments."""
        return sum(len(board.notifier) for board in self._boards.values())

    async def check_health(self) -> None:
        """Write to the store, at most once a second; StoreError if that does not work."""
        async with self._checking:
            now = asyncio.get_running_loop().time()
            if now - self._checked_at >= 1.0:
                try:
                    await self.call(self.store.check_writable)
                    self._trouble = None
                    self._note("")
                except StoreError as error:
                    self._trouble = error
                self._checked_at = now
        if self._trouble is not None:
            raise self._trouble

    def note_trouble(self, problem: StoreError) -> None:
        """Log that the store fails, once until it works again or fails otherwise."""
        self._note(cause_of(problem))

    def _note(self, cause: str) -> None:
        if cause != self._logged:
            self._logged = cause
            self.log.write(cause or "store_available")

    def check_streams(self) -> None:
        """Refuse one more stream when too many are open."""
        room = self.settings.streams
        if self.connections is not None:
            room = min(room, self.connections.streams)
        if self.listeners >= room:
            raise Refused(
                503,
                "There is no room for one more stream.\nRead the tally at its pace instead.",
                Retry_After=str(math.ceil(max(60.0, self.settings.pace))),
            )

    def public_url(self, path: str) -> str | None:
        """Where devices and people find something on this server, None if that was not set."""
        base = self.settings.public_url.rstrip("/")
        return f"{base}{path}" if base else None
