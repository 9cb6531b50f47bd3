"""What a board is: a place where messages are posted once and read by all.

A board keeps the messages of one experiment in the order in which it accepted them and numbers
them 1, 2, 3, ... It never learns which arms were played or what they paid: nobody tells it.

Three rules make devices simple. Posting is idempotent: after an unknown outcome, post again. A
stream says when its backlog ends, so that nobody decides on half of the messages. And a board
decides nothing by itself: it stores, and asks the scheme's tally which messages it may take.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias

from devote.errors import DevoteError
from devote.protocol import Message
from devote.protocol.wire import Scope, digest

if TYPE_CHECKING:
    from devote.boards.experiment import Experiment
    from devote.boards.identity import Identity


class Outcome(StrEnum):
    """What became of a message that was posted, or of a request to be enrolled."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    REFUSED = "refused"


class BoardUnavailable(DevoteError):
    """The board could not be reached, or did not answer: post or read again later.

    ``retry_after`` is how many seconds the server has asked to be left alone, 0 if it has not;
    ``is_sent`` is False if nothing can have reached it.
    """

    def __init__(self, text: str, *, retry_after: float = 0.0, is_sent: bool = True) -> None:
        super().__init__(text)
        self.retry_after = retry_after
        self.is_sent = is_sent


class BoardAlone(BoardUnavailable):
    """A device that needs no server hears of no other device."""


class BoardRefused(DevoteError):
    """The board answers, but not as a board of this experiment does: trying again is useless."""


class EnrolmentRefused(BoardRefused):
    """The board has answered that this voter may not take part, so it surely is not enrolled."""


class PostingRejected(BoardRefused):
    """The board takes nothing from this voter just now, whatever it says; it can be read."""


class ExperimentClosed(PostingRejected):
    """The experiment is closed; its operator may open it again."""


class VoterRevoked(PostingRejected):
    """The operator has revoked this voter."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """A message and its voter's signature."""

    message: Message
    signature: str


@dataclass(frozen=True, slots=True)
class Posted:
    """An envelope as the board holds it, with its number."""

    number: int
    envelope: Envelope


@dataclass(frozen=True, slots=True)
class EndOfBacklog:
    """All that the board held when the stream began has been read, up to this number."""

    number: int


Event: TypeAlias = Posted | EndOfBacklog


@dataclass(frozen=True, slots=True)
class Joined:
    """All that a device needs to take part, as one request to join is answered.

    ``outcome`` is that of its enrolment: accepted, duplicate, refused for a ``reason`` (with a
    ``cause`` if the board takes nothing, or nothing from this voter), or mismatch: the experiment
    is not what the device pins, and nothing was enrolled. ``said`` are its own earlier messages.
    """

    experiment: "Experiment"
    tally: "TallySnapshot"
    outcome: Literal["accepted", "duplicate", "refused", "mismatch"]
    reason: str = ""
    cause: str | None = None
    said: tuple[Envelope, ...] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What is on the board after a number, and the number to read on from.

    It is everything, unless there is ``more``: then read on. A ``number`` below the one asked for
    says that the board is an older one, from a backup: read it again from 0, and post again what
    it has lost.
    """

    number: int
    posted: tuple[Posted, ...]
    more: bool = False


@dataclass(frozen=True, slots=True)
class TallySnapshot:
    """What the messages up to ``number`` come to, in a few hundred bytes.

    ``tally`` is what the scheme's tally makes public, as JSON values. ``board`` is where they
    were posted, ``fingerprint`` that of the specification by which they were counted. A server
    tells its ``pace`` too, the seconds between two reads of a device, and whether it has room for
    ``streams`` of devices.

    >>> TallySnapshot("b0a2", "9f3c", 2, {"status": "open"}).to_json()
    '{"board":"b0a2","fingerprint":"9f3c","number":2,"tally":{"status":"open"}}'
    """

    board: str
    fingerprint: str
    number: int
    tally: dict[str, Any]
    pace: int | None = None
    streams: bool = True

    @classmethod
    def of(cls, scope: Scope, number: int, tally: dict[str, Any]) -> Self:
        """The tally of an experiment."""
        return cls(scope.board, scope.fingerprint, number, tally)

    @property
    def scope(self) -> Scope:
        """Which experiment it is of."""
        return Scope(self.board, self.fingerprint)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; without what only servers tell, if none has told it."""
        values = {
            "board": self.board,
            "fingerprint": self.fingerprint,
            "number": self.number,
            "tally": self.tally,
        }
        if self.pace is None:
            return values
        return {**values, "pace": self.pace, "streams": self.streams}

    def to_json(self) -> str:
        """The JSON text, as a server sends it."""
        return json.dumps(self.to_dict(), separators=(",", ":"), sort_keys=True)

    @property
    def tag(self) -> str:
        """A name that follows from the contents alone.

        A device that asks whether there is another tally works the name out for itself: a server
        that could choose it would know the device again.
        """
        return digest(self.to_dict())[:32]


class Board(ABC):
    """Where the messages of one experiment are posted and read, as a device sees it.

    A new board is a subclass; ``tests/contracts`` runs every check on it. Any method may raise
    BoardUnavailable (the outcome is unknown: try again) or BoardRefused (trying again is
    useless). ``takes_back``: what it no longer shows was taken back, not lost.
    """

    takes_back: ClassVar[bool] = False

    @abstractmethod
    async def fetch_experiment(self) -> "Experiment":
        """The experiment's specification and how to take part in it."""

    @abstractmethod
    async def enrol(self, identity: "Identity", invite: str | None = None) -> Outcome:
        """Let this voter post: accepted, or duplicate if it may already.

        EnrolmentRefused if the board says that it may not.
        """

    async def join(
        self,
        identity: "Identity",
        invite: str | None = None,
        *,
        privacy: float | None = None,
        fingerprint: str | None = None,
    ) -> Joined:
        """All that it takes to take part, and to be enrolled; in one request where it can be.

        With ``privacy`` or ``fingerprint`` it enrols only if the experiment has this fingerprint,
        and at most this e of local differential privacy is proved for it.
        """
        try:
            experiment = await self.fetch_experiment()
        except BoardUnavailable as error:
            error.is_sent = False  # it has not been asked to enrol
            raise
        spec = experiment.spec
        proved = spec.scheme.sending.privacy
        is_weaker = privacy is not None and (proved is None or proved > privacy)
        if is_weaker or fingerprint not in (None, spec.fingerprint):
            return Joined(experiment, await self.tally(), "mismatch")
        try:
            outcome = await self.enrol(identity, invite)
        except EnrolmentRefused as error:
            return Joined(experiment, await self.tally(), "refused", str(error))
        said = await self.said_by(identity.voter) if outcome is Outcome.DUPLICATE else ()
        return Joined(experiment, await self.tally(), outcome.value, said=said)

    @abstractmethod
    async def publish(self, envelope: Envelope) -> Outcome:
        """Post a message: accepted, duplicate if it is there already, or refused.

        PostingRejected if the board takes nothing from this voter just now: keep the message.
        """

    @abstractmethod
    async def snapshot(self, after: int = 0) -> Snapshot:
        """All messages with a number above ``after``, as of now, or the first of them."""

    @abstractmethod
    def stream(self, after: int = 0) -> AsyncIterator[Event]:
        """The messages above ``after``, one EndOfBacklog, then messages as they come."""

    @abstractmethod
    async def tally(self) -> TallySnapshot:
        """What the messages come to, as of now or a second or two ago."""

    async def latest(self, after: int = 0) -> Snapshot:
        """The same, past any cache that stands between: only where a snapshot seems too old."""
        return await self.snapshot(after)

    async def said_by(self, voter: str) -> tuple[Envelope, ...]:
        """All messages of one voter that the board holds, in its order."""
        posted = [posted async for posted in self.read()]
        return tuple(p.envelope for p in posted if p.envelope.message.voter == voter)

    async def begin(self, identity: "Identity") -> None:
        """Begin what the board does by itself while this device takes part; most do nothing."""
        return

    async def read(self, after: int = 0) -> AsyncIterator[Posted]:
        """All messages with a number above ``after``, however many there are."""
        more = True
        while more:
            snapshot = await self.snapshot(after)
            for posted in snapshot.posted:
                yield posted
            after, more = snapshot.number, snapshot.more and bool(snapshot.posted)

    async def aclose(self) -> None:
        """Close what the board has opened; it cannot be used afterwards."""
        return

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
