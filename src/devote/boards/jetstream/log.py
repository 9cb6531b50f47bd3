"""The log that servers share: a JetStream stream that takes one entry for each subject.

An entry is a command: to open an experiment, to post messages, to enrol voters, to change or delete
something. Every server reads the same entries in the same order and carries each out on its own
copy, by the same rules, so all copies agree, and the server that wrote a command answers by what
became of it there. Two servers may write at the same moment: the order of the log decides.

Entries are pulled from a consumer that counts what it delivers. If a count is left out, or the
consumer is gone with its node, another one goes on after the last entry read: nothing is read twice
or out of order.
"""

import asyncio
import secrets
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from nats.js.api import (
    AckPolicy,
    ConsumerConfig,
    DeliverPolicy,
    DiscardPolicy,
    Header,
    StreamConfig,
    StreamState,
)
from nats.js.errors import APIError, NotFoundError

from devote.boards.database import StoreCorrupt
from devote.boards.jetstream.connection import PATIENCE, Connection

SILENCE = 2.0
"""Seconds without an entry after which the consumer is checked."""

AT_ONCE = 100
"""Entries that are pulled at once, while there is a backlog."""

BARRIER = "barrier"
"""The subject of entries without content, by which a server sees that it has read all."""

GONE = 10059
"""JetStream's code for a stream that is not there."""

BARRIER_LASTS = 60
"""Seconds after which a barrier expires; far longer than anybody waits for one."""

BARRIERS_APART = 0.2
"""Seconds between two barriers at least: what strangers make a server write is bounded by this."""

_TRY = 2.0

IN_PROGRESS = 10158
"""JetStream's code for an entry that it is just writing."""


class Log:
    """What is posted on all servers, in one order; all coroutines run on the connection's loop.

    ``take`` gets the content of each entry. If the stream no longer holds what was
    read last, it was put back to an older state: ``begin`` is called, as at the start, and all of
    it is read again.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        begin: Callable[[], None],
        take: Callable[[bytes], None],
    ) -> None:
        self._connection = connection
        self.stream = f"{connection.address.name}_log"
        self._before = f"{connection.address.name}.log."
        self._begin = begin
        self._take = take
        self._place = 0
        self._last: tuple[int, str, bytes] | None = None
        self._waiting: dict[asyncio.Future[None], int] = {}
        self._reading: asyncio.Task[None] | None = None
        self._fault: Exception | None = None
        self._barrier: asyncio.Task[None] | None = None
        self._barrier_at = float("-inf")

    async def start(self) -> None:
        """Make the stream if it is not there, and read all that is in it."""
        await self.make()
        self._restart()
        self._reading = asyncio.create_task(self._read_forever())
        await self._reach((await self._state()).last_seq, patience=None)

    async def make(self) -> None:
        """Make the stream if it is not there."""
        await self._connection.stream(
            StreamConfig(
                name=self.stream,
                subjects=[f"{self._before}>"],
                max_msgs_per_subject=-1,
                discard=DiscardPolicy.NEW,
                allow_msg_ttl=True,
                deny_delete=True,
            )
        )

    def check(self) -> None:
        """Raise what has ended the reading."""
        if self._fault is not None:
            raise self._fault

    async def stop(self) -> None:
        """Read no more."""
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait({self._reading})

    # Writing.

    async def append(self, subject: str, content: bytes, *, lasts: int | None = None) -> None:
        """Put an entry at the end of the log, once, and read up to it.

        An unknown outcome is tried again: the nodes take an entry of one id once.
        """
        once: dict[str, Any] = {Header.MSG_ID: secrets.token_hex(16)}
        place, js = self._before + subject, self._connection.js
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    written = await js.publish(
                        place, content, timeout=_TRY, headers=once, msg_ttl=lasts
                    )
                    break
                except APIError as error:
                    if error.code != 503 and error.err_code != IN_PROGRESS:
                        raise
                except (NatsError, TimeoutError):
                    pass
                await asyncio.sleep(0.1)
            await self._reach(written.seq)

    async def purge(self, subject: str) -> None:
        """Erase all entries of a subject."""
        await self._connection.js.purge_stream(self.stream, subject=self._before + subject)

    async def catch_up(self) -> None:
        """Read all that any server has posted before this call.

        A node may be behind, or cut off without knowing it: only an entry that most nodes take
        proves that nothing is missing before it. All who ask before it is written share one.
        """
        if self._barrier is None:
            self._barrier = asyncio.create_task(self._pass_barrier())
            # Whoever waited for it may have given up: then its fault is nobody's.
            self._barrier.add_done_callback(lambda task: task.cancelled() or task.exception())
        await asyncio.shield(self._barrier)

    async def _pass_barrier(self) -> None:
        now = asyncio.get_running_loop().time
        await asyncio.sleep(self._barrier_at + BARRIERS_APART - now())
        self._barrier_at, self._barrier = now(), None  # who asks from here on gets another one
        await self.append(BARRIER, b"", lasts=BARRIER_LASTS)

    async def read_on(self) -> None:
        """Read what the node that is asked holds; unlike ``catch_up`` it writes nothing."""
        await self._reach((await self._state()).last_seq)

    async def _state(self) -> StreamState:
        return (await self._connection.js.stream_info(self.stream)).state

    async def _reach(self, place: int, patience: float | None = PATIENCE) -> None:
        """Wait until all up to a place has been read; TimeoutError after a while."""
        self.check()
        if self._place >= place:
            return
        reached: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[reached] = place
        try:
            async with asyncio.timeout(patience):
                await reached
        finally:
            del self._waiting[reached]

    # Reading.

    def _restart(self) -> None:
        self._place, self._last = 0, None
        self._begin()

    async def _read_forever(self) -> None:
        """Read on from one consumer after the other, until an entry cannot be read."""
        while self._fault is None:
            try:
                await self._compare()
                await self._read_from_consumer()
            except (NatsError, TimeoutError):
                await asyncio.sleep(0.2)
            except Exception as fault:
                self._fault = fault
        for reached in self._waiting:
            if not reached.done():
                reached.set_exception(self._fault)

    async def _compare(self) -> None:
        """Check that the stream still holds what was read last; if not, begin anew."""
        if self._last is None:
            return
        place, subject, content = self._last
        for _ in range(5):  # a leader that is new may be behind for a moment
            try:
                found = await self._connection.js.get_msg(self.stream, place)
            except NotFoundError as error:
                if error.err_code == GONE:
                    raise StoreCorrupt(
                        f"The log {self.stream!r} is gone from {self._connection.address}.\n"
                        "Restore it from a backup of the nodes."
                    ) from None
                await asyncio.sleep(0.5)
                continue
            if (found.subject, found.data or b"") == (subject, content):
                return
            break
        self._restart()

    async def _read_from_consumer(self) -> None:
        """Read what comes after the last entry, until the consumer has lost one or is gone."""
        last = (await self._state()).last_seq
        config = ConsumerConfig(
            deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=self._place + 1,
            ack_policy=AckPolicy.NONE,
            inactive_threshold=10.0,
            mem_storage=True,
            num_replicas=1,
        )
        consumer = await self._connection.js.pull_subscribe(
            f"{self._before}>", stream=self.stream, config=config
        )
        delivered, pending = 0, (await consumer.consumer_info()).num_pending or 0
        try:
            while True:
                if pending == 0:  # the last entries may have expired, and are never delivered
                    self._advance(last)
                for message in await self._pull(consumer, pending, delivered):
                    found = message.metadata
                    delivered, pending = delivered + 1, found.num_pending
                    if found.sequence.consumer != delivered:
                        return
                    self._read(found.sequence.stream, message.subject, message.data)
        finally:
            with suppress(NatsError):
                await consumer.unsubscribe()

    async def _pull(
        self, consumer: JetStreamContext.PullSubscription, pending: int, delivered: int
    ) -> list[Msg]:
        """The next entries, none after a while; TimeoutError if one was delivered and is lost."""
        try:
            return await consumer.fetch(max(1, min(pending, AT_ONCE)), timeout=SILENCE)
        except TimeoutError:
            info = await consumer.consumer_info()
            if info.delivered is None or info.delivered.consumer_seq != delivered:
                raise
            return []

    def _read(self, place: int, subject: str, content: bytes) -> None:
        if content:
            self._take(content)
            self._last = (place, subject, content)
        self._advance(place)

    def _advance(self, place: int) -> None:
        self._place = max(self._place, place)
        for reached, wanted in self._waiting.items():
            if wanted <= self._place and not reached.done():
                reached.set_result(None)
