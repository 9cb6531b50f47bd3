"""The log of one experiment: a stream that takes one entry for each subject, and its fold."""

import asyncio
import secrets
import threading
from collections.abc import Callable
from enum import Enum, auto

from nats.errors import Error as NatsError
from nats.js.api import DiscardPolicy, StreamConfig
from nats.js.errors import APIError

from devote.boards.experiment import Experiment, ExperimentState
from devote.boards.jetstream.connection import PATIENCE, Connection, Shared
from devote.boards.jetstream.fold import BARRIER, Fold
from devote.boards.jetstream.follower import Follower

TAKEN = 10077
"""JetStream's code for a subject that has its one message."""

BARRIER_LASTS = 60
"""Seconds after which a barrier expires; far longer than anybody waits for one."""

_TRY = 2.0


class Appended(Enum):
    """What became of an entry: it is in the log, or another one under its subject is."""

    NEW = auto()
    TAKEN = auto()


class Log:
    """What is posted in one experiment, on all servers, in one order.

    ``fold`` is what it comes to, as far as this server has read it; hold ``lock`` to look at it.
    All coroutines run on the connection's loop.
    """

    def __init__(
        self,
        connection: Connection,
        experiment: Experiment,
        standing: Callable[[], tuple[ExperimentState, float]] = lambda: (ExperimentState(), 0.0),
    ) -> None:
        self.experiment = experiment
        self._standing = standing
        self.lock = threading.RLock()
        self.fold: Fold
        self._connection = connection
        self._before = f"{connection.address.name}.{experiment.board}."
        self._barrier = Shared(self._write_barrier)
        self._follower = Follower(
            connection,
            stream_name(connection, experiment),
            begin=self._begin,
            take=self._take,
            passing=lambda subject: subject.startswith(f"{self._before}{BARRIER}."),
        )

    def _begin(self) -> None:
        with self.lock:
            self.fold = Fold(self.experiment, self._standing)

    def _take(self, place: int, subject: str, content: bytes) -> None:
        with self.lock:
            self.fold.take(subject.removeprefix(self._before), content)

    async def make(self) -> None:
        """Make the stream, if it is not there."""
        await self._connection.stream(
            StreamConfig(
                name=stream_name(self._connection, self.experiment),
                subjects=[f"{self._before}>"],
                max_msgs_per_subject=1,
                discard=DiscardPolicy.NEW,
                discard_new_per_subject=True,
                allow_msg_ttl=True,
                deny_delete=True,
                deny_purge=True,
            )
        )

    async def remove(self) -> None:
        """Remove the stream with all that is in it."""
        await self._connection.js.delete_stream(stream_name(self._connection, self.experiment))

    async def start(self) -> None:
        """Begin to follow the log, and read what is there."""
        await self._follower.start()

    async def stop(self) -> None:
        """Follow it no more."""
        await self._follower.stop()

    def check(self) -> None:
        """Raise what has ended the following, if something has."""
        self._follower.check()

    async def append(self, subject: str, content: bytes) -> Appended:
        """Put an entry at the end of the log, and read up to it.

        An unknown outcome is tried again, which is safe: the log takes a subject once. When the
        subject was taken before, what is there has been read when this returns.
        """
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    place = await self._publish(subject, content)
                except APIError as error:
                    if error.err_code != TAKEN:
                        raise
                    await self.catch_up()
                    with self.lock:
                        if self.fold.is_taken(subject):
                            return Appended.TAKEN
                    place = None
                if place is not None:
                    await self._follower.reach(place)
                    return Appended.NEW
                await asyncio.sleep(0.1)

    async def send(self, subject: str, content: bytes) -> None:
        """Put an entry at the end of the log, without reading it or trying again."""
        await self._connection.js.publish(self._before + subject, content, timeout=PATIENCE)

    async def catch_up(self) -> None:
        """Read all that any server has been told before this call.

        A node may be behind, or cut off without knowing it: only an entry that most nodes take
        proves that nothing is missing before it. Callers that wait at once share one.
        """
        await self._barrier.run()

    async def read_on(self) -> None:
        """Read what the node that is asked holds; unlike ``catch_up`` it writes nothing."""
        info = await self._connection.js.stream_info(stream_name(self._connection, self.experiment))
        await self._follower.reach(info.state.last_seq)

    async def _write_barrier(self) -> None:
        async with asyncio.timeout(PATIENCE):
            place = None
            while place is None:
                subject = f"{BARRIER}.{secrets.token_hex(8)}"
                place = await self._publish(subject, b"", lasts=BARRIER_LASTS)
            await self._follower.reach(place)

    async def _publish(self, subject: str, content: bytes, lasts: int | None = None) -> int | None:
        """The place of a new entry; None if the outcome is unknown."""
        try:
            ack = await self._connection.js.publish(
                self._before + subject, content, timeout=_TRY, msg_ttl=lasts
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


def stream_name(connection: Connection, experiment: Experiment) -> str:
    """The stream of an experiment, named for its board: that is never used again."""
    return f"{connection.address.name}_{experiment.board}"
