"""Reading a stream in its order, for as long as a server runs, whatever becomes of the nodes.

A consumer of our own tells its messages one by one, numbered, with heartbeats in between. A number
that is left out, or silence, means that it is gone, with its node or with the connection: another
one goes on after the last message taken in. Nothing is taken in twice or out of order.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy
from nats.js.errors import NotFoundError

from devote.boards.database import StoreCorrupt
from devote.boards.jetstream.connection import PATIENCE, Connection

BEAT = 1.0
"""Seconds between heartbeats."""

SILENCE = 3.0
"""Seconds of silence after which a consumer is taken to be gone."""


class Follower:
    """Hands each message of a stream to ``take``: its place, its subject and its content.

    ``passing`` says of a subject that its messages expire. If the stream no longer holds what
    was taken in last, it was put back to an older state: ``begin`` is called, as at the start, and
    all of it is taken in again.
    """

    def __init__(
        self,
        connection: Connection,
        stream: str,
        *,
        begin: Callable[[], None],
        take: Callable[[int, str, bytes], None],
        passing: Callable[[str], bool],
    ) -> None:
        self._connection = connection
        self._stream = stream
        self._begin = begin
        self._take = take
        self._passing = passing
        self.place = 0
        self._last: tuple[int, str, bytes] | None = None
        self._subscription: Subscription | None = None
        self._consumers = 0
        self._delivered = 0
        self._backlog = 0
        self._heard = 0.0
        self._broken = asyncio.Event()
        self._waiting: dict[asyncio.Future[None], int] = {}
        self._task: asyncio.Task[None] | None = None
        self.fault: Exception | None = None

    def _restart(self) -> None:
        self.place, self._last = 0, None
        self._begin()

    async def start(self) -> None:
        """Begin to follow, and return when all that is there has been taken in."""
        self._restart()
        await self._consume()
        self._task = asyncio.create_task(self._watch())
        while self._delivered < self._backlog and self.fault is None:
            await asyncio.sleep(0.005)
        self.check()

    def check(self) -> None:
        """Raise what has ended the following."""
        if self.fault is not None:
            raise self.fault

    async def reach(self, place: int) -> None:
        """Wait until the message at a place has been taken in; TimeoutError after a while."""
        self.check()
        if self.place >= place:
            return
        reached: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[reached] = place
        try:
            async with asyncio.timeout(PATIENCE):
                await reached
        finally:
            del self._waiting[reached]

    async def stop(self) -> None:
        """Follow no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
        with suppress(NatsError, TimeoutError):
            await self._drop()

    async def _consume(self) -> None:
        """Begin with a new consumer, after the last message taken in."""
        js, client = self._connection.js, self._connection.client
        await self._drop()
        await self._compare()
        inbox = client.new_inbox()
        self._delivered = self._backlog = 0
        self._broken.clear()
        self._heard = asyncio.get_running_loop().time()
        self._consumers += 1
        self._subscription = await client.subscribe(
            inbox, cb=partial(self._receive, self._consumers)
        )
        config = ConsumerConfig(
            deliver_subject=inbox,
            deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=self.place + 1,
            ack_policy=AckPolicy.NONE,
            flow_control=True,
            idle_heartbeat=BEAT,
            inactive_threshold=10.0,
            mem_storage=True,
            num_replicas=1,
        )
        made = await js.add_consumer(self._stream, config)
        self._backlog = made.num_pending or 0

    async def _drop(self) -> None:
        subscription, self._subscription = self._subscription, None
        if subscription is not None:
            with suppress(NatsError):
                await subscription.unsubscribe()

    async def _compare(self) -> None:
        """See that the stream still holds what was taken in last; if not, begin anew."""
        if self._last is None:
            return
        place, subject, content = self._last
        for _ in range(5):  # a leader that is new may be behind for a moment
            try:
                found = await self._connection.js.get_msg(self._stream, place)
            except NotFoundError as error:
                if error.err_code == 10059:
                    self.fault = StoreCorrupt(
                        f"The log {self._stream!r} is gone from {self._connection.address}.\n"
                        "Restore it from a backup of the nodes."
                    )
                    raise self.fault from None
                await asyncio.sleep(0.5)
                continue
            if (found.subject, found.data or b"") == (subject, content):
                return
            break
        self._restart()

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        while self.fault is None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._broken.wait(), BEAT)
            if self._broken.is_set() or loop.time() - self._heard > SILENCE:
                with suppress(NatsError, TimeoutError, StoreCorrupt):
                    await self._consume()

    async def _receive(self, consumer: int, message: Msg) -> None:
        if consumer != self._consumers:
            return
        self._heard = asyncio.get_running_loop().time()
        if message.headers and message.headers.get("Status") == "100":
            await self._keep_up(message)
            return
        # $JS.ACK.<stream>.<consumer>.<tries>.<place>.<delivered>.<time>.<pending>, or the same
        # with a domain and an account before the stream.
        tokens = message.reply.split(".")
        place, delivered = tokens[-4 if len(tokens) < 12 else -5 :][:2]
        if int(delivered) != self._delivered + 1:
            self._broken.set()
        if self._broken.is_set() or self.fault is not None:
            return
        self._delivered += 1
        self._accept(int(place), message.subject, message.data)

    def _accept(self, place: int, subject: str, content: bytes) -> None:
        try:
            self._take(place, subject, content)
        except Exception as error:
            self.fault = error
        self.place = place
        if not self._passing(subject):
            self._last = (place, subject, content)
        for reached, wanted in self._waiting.items():
            if wanted <= place and not reached.done():
                reached.set_result(None)

    async def _keep_up(self, message: Msg) -> None:
        """Answer flow control, and notice messages that were lost before a heartbeat."""
        headers = message.headers or {}
        reply = message.reply or headers.get("Nats-Consumer-Stalled")
        if reply:
            await self._connection.client.publish(reply)
        last = headers.get("Nats-Last-Consumer")
        if last is not None and int(last) != self._delivered:
            self._broken.set()
