"""The log that servers share: a JetStream stream that takes one entry for each subject.

The order of the log is the order of all boards in it, and it is fixed by the log alone: two servers
may post at the same moment, and neither knows before which of the two came first. So what depends
on the order (is there still a seat, a place for one more player, does the survey still ask?) is
decided when an entry is read, and not when it is posted. Every server reads the same entries in the
same order, so all decide alike. An entry's subject says what it is:

    x.<name>                                 an experiment is opened
    s.<board>.<number>                       the number-th change of its state
    d.<board>                                it is deleted, and its name stays taken
    e.<board>.<voter>                        a voter is enrolled
    m.<board>.<voter>.<kind>[.<number>...]   a message; the numbers are those of its question
    r.<board>.<voter>                        the operator has revoked a voter
    b.<any>                                  nothing: by it a server sees that it has read all

The stream takes one entry for each subject, so a name, a change or a vote that comes second is
refused before it is an entry.

A consumer of our own delivers the entries one by one, numbered, with heartbeats in between. A
number that is left out, or silence, means that it is gone, with its node or with the connection:
another one goes on after the last entry read. Nothing is read twice or out of order.
"""

import asyncio
import re
import secrets
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy, DiscardPolicy, StreamConfig
from nats.js.errors import APIError, NotFoundError

from devote.boards.board import Envelope
from devote.boards.database import StoreCorrupt
from devote.boards.jetstream.connection import PATIENCE, Connection, Shared
from devote.protocol import Message, to_json
from devote.protocol.messages import kind_of

OPENED, STATE, DELETED, ENROLMENT, MESSAGE, REVOCATION, BARRIER = "xsdemrb"

BEAT = 1.0
"""Seconds between heartbeats."""

SILENCE = 3.0
"""Seconds of silence after which a consumer is taken to be gone."""

TAKEN = 10077
"""JetStream's code for a subject that has its one entry."""

GONE = 10059
"""JetStream's code for a stream that is not there."""

BARRIER_LASTS = 60
"""Seconds after which a barrier expires; far longer than anybody waits for one."""

_TRY = 2.0
_PLAIN = re.compile("[^A-Za-z0-9_-]")


def token(text: str) -> str:
    """A text as one part of a subject.

    >>> token("a.b:c")
    'a=2eb=3ac'
    """
    return _PLAIN.sub(lambda found: f"={ord(found[0]):02x}", text)


def enrolment_subject(board: str, voter: str) -> str:
    """The subject under which a voter is enrolled."""
    return f"{ENROLMENT}.{board}.{voter}"


def revocation_subject(board: str, voter: str) -> str:
    """The subject under which a voter is revoked."""
    return f"{REVOCATION}.{board}.{voter}"


def message_subject(board: str, message: Message) -> str:
    """The subject of a message: its voter and what it is about."""
    kind = kind_of(message)
    numbers = (str(getattr(message, name)) for name in kind.question)
    return ".".join((MESSAGE, board, message.voter, token(kind.name), *numbers))


def entry(envelope: Envelope) -> bytes:
    """The content of a message's entry: its one JSON spelling, a line's end, its signature."""
    return f"{to_json(envelope.message)}\n{envelope.signature}".encode()


class Log:
    """What is posted on all servers, in one order; all coroutines run on the connection's loop.

    ``take`` gets the subject and the content of each entry. If the stream no longer holds what was
    read last, it was put back to an older state: ``begin`` is called, as at the start, and all of
    it is read again.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        begin: Callable[[], None],
        take: Callable[[str, bytes], None],
    ) -> None:
        self._connection = connection
        self.stream = f"{connection.address.name}_log"
        self._before = f"{connection.address.name}.log."
        self._begin = begin
        self._take = take
        self._barrier = Shared(self._write_barrier)
        self._place = 0
        self._last: tuple[int, str, bytes] | None = None
        self._subscription: Subscription | None = None
        self._consumers = 0
        self._delivered = 0
        self._backlog = 0
        self._received_at = 0.0
        self._broken = asyncio.Event()
        self._waiting: dict[asyncio.Future[None], int] = {}
        self._task: asyncio.Task[None] | None = None
        self._fault: Exception | None = None

    async def start(self) -> None:
        """Make the stream if it is not there, and read all that is in it."""
        await self.make()
        self._restart()
        await self._consume()
        self._task = asyncio.create_task(self._watch())
        while self._delivered < self._backlog and self._fault is None:
            await asyncio.sleep(0.005)
        self.check()

    async def make(self) -> None:
        """Make the stream if it is not there."""
        await self._connection.stream(
            StreamConfig(
                name=self.stream,
                subjects=[f"{self._before}>"],
                max_msgs_per_subject=1,
                discard=DiscardPolicy.NEW,
                discard_new_per_subject=True,
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
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
        with suppress(NatsError, TimeoutError):
            await self._drop()

    # Writing.

    async def append(self, subject: str, content: bytes) -> bool:
        """Put an entry at the end of the log, and read up to it; False if its subject was taken.

        An unknown outcome is tried again, which is safe: the log takes a subject once. When the
        subject was taken before, what is there has been read when this returns.
        """
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    place = await self.publish(subject, content)
                except APIError as error:
                    if error.err_code != TAKEN:
                        raise
                    await self.catch_up()
                    if await self._is_there(subject):
                        return False
                    place = None
                if place is not None:
                    await self._reach(place)
                    return True
                await asyncio.sleep(0.1)

    async def _is_there(self, subject: str) -> bool:
        """Whether a subject has its entry; a leader may refuse a second before there is a first."""
        try:
            found = await self._connection.js.get_last_msg(self.stream, self._before + subject)
        except NotFoundError:
            return False
        await self._reach(int(found.seq or 0))
        return True

    async def publish(
        self, subject: str, content: bytes, *, wait: float = _TRY, lasts: int | None = None
    ) -> int | None:
        """Write an entry without reading it: its place, or None if the outcome is unknown."""
        try:
            ack = await self._connection.js.publish(
                self._before + subject, content, timeout=wait, msg_ttl=lasts
            )
        except APIError as error:
            if error.code != 503 or error.err_code == TAKEN:
                raise
        except (NatsError, TimeoutError):
            pass
        else:
            return int(ack.seq)
        await asyncio.sleep(0.1)
        return None

    async def purge(self, board: str) -> None:
        """Erase all entries of a board but that it was opened and deleted."""
        await self._connection.js.purge_stream(self.stream, subject=f"{self._before}*.{board}.>")

    async def catch_up(self) -> None:
        """Read all that any server has posted before this call.

        A node may be behind, or cut off without knowing it: only an entry that most nodes take
        proves that nothing is missing before it. Callers that wait at once share one.
        """
        await self._barrier.run()

    async def _write_barrier(self) -> None:
        async with asyncio.timeout(PATIENCE):
            place = None
            while place is None:
                subject = f"{BARRIER}.{secrets.token_hex(8)}"
                place = await self.publish(subject, b"", lasts=BARRIER_LASTS)
            await self._reach(place)

    async def read_on(self) -> None:
        """Read what the node that is asked holds; unlike ``catch_up`` it writes nothing."""
        info = await self._connection.js.stream_info(self.stream)
        if info.state.messages:
            await self._reach(info.state.last_seq)

    async def _reach(self, place: int) -> None:
        """Wait until the entry at a place has been read; TimeoutError after a while."""
        self.check()
        if self._place >= place:
            return
        reached: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[reached] = place
        try:
            async with asyncio.timeout(PATIENCE):
                await reached
        finally:
            del self._waiting[reached]

    # Reading.

    def _restart(self) -> None:
        self._place, self._last = 0, None
        self._begin()

    async def _consume(self) -> None:
        """Begin with a new consumer, after the last entry read."""
        js, client = self._connection.js, self._connection.client
        await self._drop()
        await self._compare()
        inbox = client.new_inbox()
        self._delivered = self._backlog = 0
        self._broken.clear()
        self._received_at = asyncio.get_running_loop().time()
        self._consumers += 1
        self._subscription = await client.subscribe(
            inbox, cb=partial(self._receive, self._consumers)
        )
        config = ConsumerConfig(
            deliver_subject=inbox,
            deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=self._place + 1,
            ack_policy=AckPolicy.NONE,
            flow_control=True,
            idle_heartbeat=BEAT,
            inactive_threshold=10.0,
            mem_storage=True,
            num_replicas=1,
        )
        made = await js.add_consumer(self.stream, config)
        self._backlog = made.num_pending or 0

    async def _drop(self) -> None:
        subscription, self._subscription = self._subscription, None
        if subscription is not None:
            with suppress(NatsError):
                await subscription.unsubscribe()

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
                    self._fault = StoreCorrupt(
                        f"The log {self.stream!r} is gone from {self._connection.address}.\n"
                        "Restore it from a backup of the nodes."
                    )
                    raise self._fault from None
                await asyncio.sleep(0.5)
                continue
            if (found.subject, found.data or b"") == (subject, content):
                return
            break
        self._restart()

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        while self._fault is None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._broken.wait(), BEAT)
            if self._broken.is_set() or loop.time() - self._received_at > SILENCE:
                with suppress(NatsError, TimeoutError, StoreCorrupt):
                    await self._consume()

    async def _receive(self, consumer: int, message: Msg) -> None:
        if consumer != self._consumers:
            return
        self._received_at = asyncio.get_running_loop().time()
        headers = message.headers or {}
        if headers.get("Status") == "100":
            # Flow control asks for an answer; a heartbeat shows whether an entry was lost.
            if reply := message.reply or headers.get("Nats-Consumer-Stalled"):
                await self._connection.client.publish(reply)
            if headers.get("Nats-Last-Consumer", str(self._delivered)) != str(self._delivered):
                self._broken.set()
            return
        # $JS.ACK.<stream>.<consumer>.<tries>.<place>.<delivered>.<time>.<pending>, or the same
        # with a domain and an account before the stream.
        tokens = message.reply.split(".")
        place, delivered = tokens[-4 if len(tokens) < 12 else -5 :][:2]
        if int(delivered) != self._delivered + 1:
            self._broken.set()
        if self._broken.is_set() or self._fault is not None:
            return
        self._delivered += 1
        self._read(int(place), message.subject, message.data)

    def _read(self, place: int, subject: str, content: bytes) -> None:
        what = subject.removeprefix(self._before)
        if not what.startswith(f"{BARRIER}."):
            try:
                self._take(what, content)
            except Exception as error:
                self._fault = error
            self._last = (place, subject, content)
        self._place = place
        for reached, wanted in self._waiting.items():
            if wanted <= place and not reached.done():
                reached.set_result(None)
