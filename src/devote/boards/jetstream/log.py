"""The log of one experiment: a stream that takes one entry for each subject, and what it comes to.

The order of the log is the order of the board, and it is fixed by the log alone: two servers may
post at the same moment, and neither knows before which of the two came first. So what depends on
the order (is there still a seat, a place for one more player, does the survey still ask?) is
decided here, when an entry is taken in, and not when it is posted. Every server takes in the same
entries in the same order, so all decide alike. An entry that is refused here stays in the log and
has no number on the board.

An entry's subject says what it is:

    e.<voter>                            the voter is enrolled
    m.<voter>.<kind>[.<number>...]       a message; the numbers are those of its question
    r.<voter>                            the operator has revoked the voter
    b.<any>                              nothing: by it a server sees that it has read all

The stream takes one entry for each subject, so a second vote is refused before it is an entry.
So nothing is refused here because of a revocation: whoever posts looks for one first.
"""

import asyncio
import re
import secrets
from collections.abc import Callable
from typing import TypeVar

from nats.errors import Error as NatsError
from nats.js.api import DiscardPolicy, StreamConfig
from nats.js.errors import APIError

from devote.boards.admission import NOT_ENROLLED, no_place
from devote.boards.board import Envelope, Experiment
from devote.boards.jetstream.connection import PATIENCE, Connection, Shared
from devote.boards.jetstream.follower import Follower
from devote.boards.store import Ledger, SqliteStore, insert_revoked
from devote.protocol import Message, from_json, to_json
from devote.protocol.messages import kind_of

T = TypeVar("T")

ENROLMENT, MESSAGE, REVOCATION, BARRIER = "e", "m", "r", "b"

TAKEN = 10077
"""JetStream's code for a subject that has its one message."""

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


def enrolment_subject(voter: str) -> str:
    """The subject under which a voter is enrolled."""
    return f"{ENROLMENT}.{voter}"


def revocation_subject(voter: str) -> str:
    """The subject under which a voter is revoked."""
    return f"{REVOCATION}.{voter}"


def message_subject(message: Message) -> str:
    """The subject of a message: its voter and what it is about."""
    kind = kind_of(message)
    numbers = (str(getattr(message, name)) for name in kind.question)
    return ".".join((MESSAGE, message.voter, token(kind.name), *numbers))


def entry(envelope: Envelope) -> bytes:
    """The content of a message's entry: its one JSON spelling, a line's end, its signature."""
    return f"{to_json(envelope.message)}\n{envelope.signature}".encode()


class Log:
    """What is posted in one experiment, on all servers, in one order.

    ``store`` is where this server keeps what it has read; ``refused`` has the subjects of entries
    that were refused, with the reasons. All coroutines run on the connection's loop.
    """

    def __init__(self, connection: Connection, store: SqliteStore, experiment: Experiment) -> None:
        self.experiment = experiment
        self.refused: dict[str, str] = {}
        self._store = store
        self._connection = connection
        self._stream = stream_name(connection, experiment)
        self._before = f"{connection.address.name}.{experiment.board}."
        self._barrier = Shared(self._write_barrier)
        self._follower = Follower(
            connection,
            self._stream,
            begin=self._begin,
            take=lambda place, subject, content: self.take(subject, content),
            passing=lambda subject: subject.startswith(f"{self._before}{BARRIER}."),
        )

    def _begin(self) -> None:
        self.refused.clear()
        with self._store.database.write() as db:
            self._store.empty(db, self.experiment.name)

    def take(self, subject: str, content: bytes) -> None:
        """Take in the next entry of the log."""
        subject = subject.removeprefix(self._before)
        what, _, voter = subject.partition(".")
        if what == BARRIER:
            return
        with self._store.database.write() as db:
            if what == REVOCATION:
                insert_revoked(db, self.experiment.name, voter)
                return
            ledger = Ledger(self._store, db, self.experiment.name)
            if what == ENROLMENT and (receipt := no_place(ledger.experiment)):
                self.refused[subject] = receipt.reason
            elif what == ENROLMENT:
                ledger.enrol(voter)
            elif what == MESSAGE:
                self._post(ledger, subject, content)

    def _post(self, ledger: Ledger, subject: str, content: bytes) -> None:
        text, _, signature = content.decode().partition("\n")
        message = from_json(text, self.experiment.spec.n_arms)
        if not ledger.is_enrolled(message.voter):
            self.refused[subject] = NOT_ENROLLED.reason
        elif reason := ledger.tally.refusal(message):
            self.refused[subject] = reason
        else:
            ledger.add(Envelope(message, signature))

    def ask(self, question: Callable[[Ledger], T]) -> T:
        """What a function makes of all that this server has read."""
        self.check()
        with self._store.database.read() as db:
            return question(Ledger(self._store, db, self.experiment.name))

    def _is_taken(self, subject: str) -> bool:
        """Whether the log, as it was read, has an entry under a subject."""
        what, voter, *_ = subject.split(".")
        if what == REVOCATION:
            return self.ask(lambda ledger: ledger.is_revoked(voter))
        if what == ENROLMENT:
            return subject in self.refused or self.ask(lambda ledger: ledger.is_enrolled(voter))
        _, rows = self._store.rows_of(self.experiment.name, voter)
        said = (from_json(text, self.experiment.spec.n_arms) for _, text, _ in rows)
        return subject in self.refused or subject in map(message_subject, said)

    async def make(self) -> None:
        """Make the stream, if it is not there."""
        await self._connection.stream(
            StreamConfig(
                name=self._stream,
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
        await self._connection.js.delete_stream(self._stream)

    async def start(self) -> None:
        """Begin to follow the log, and read what is there."""
        await self._follower.start()

    async def stop(self) -> None:
        """Follow it no more."""
        await self._follower.stop()

    def check(self) -> None:
        """Raise what has ended the following, if something has."""
        self._follower.check()

    async def append(self, subject: str, content: bytes) -> bool:
        """Put an entry at the end of the log, and read up to it; False if its subject was taken.

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
                    if self._is_taken(subject):
                        return False
                    place = None
                if place is not None:
                    await self._follower.reach(place)
                    return True
                await asyncio.sleep(0.1)

    async def send(self, subject: str, content: bytes) -> None:
        """Put an entry at the end of the log, without reading it or trying again."""
        await self._connection.js.publish(self._before + subject, content, timeout=PATIENCE)

    async def catch_up(self) -> None:
        """Read all that any server has posted before this call.

        A node may be behind, or cut off without knowing it: only an entry that most nodes take
        proves that nothing is missing before it. Callers that wait at once share one.
        """
        await self._barrier.run()

    async def read_on(self) -> None:
        """Read what the node that is asked holds; unlike ``catch_up`` it writes nothing."""
        info = await self._connection.js.stream_info(self._stream)
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
