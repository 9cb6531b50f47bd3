"""What a board is, and the experiment whose messages it keeps.

A board keeps the messages of one experiment in the order in which it accepted them, and numbers
them 1, 2, 3, ... Which arms were played, and what they paid, never reaches it.

Three rules make devices simple. Posting is idempotent: after an unknown outcome, post again. A
stream marks the end of its backlog, so that nobody decides on half of the messages. And a board
decides nothing by itself: it stores, and asks the scheme's tally which messages it may take.

A closed experiment takes no new message and no new device; everything that is there can be read,
and devices play on with what they know. After its end date an experiment is closed, by the clock of
the server. An archived one is closed and not listed. A deleted one is gone, and its name is never
given to another: devices that still ask for it, and caches, would take the new one for it.

A log is read in fixed pages. A full page never changes, so any cache can keep it. The tag of a page
or a tally follows from its contents: a tag that a server chose could identify a device.
"""

import hashlib
import json
import re
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterable
from dataclasses import astuple, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias, TypedDict, get_args
from urllib.parse import urlsplit

from devote.errors import DevoteError, did_you_mean
from devote.protocol import ExperimentSpec, Message, SpecError
from devote.protocol.messages import VERSION, Scope, digest
from devote.protocol.scheme import SCHEMES, check

if TYPE_CHECKING:
    from devote.boards.identity import Identity

VERSION_HEADER = "Devote-Version"
SNAPSHOT_HEADER = "Devote-Snapshot"

Enrolment: TypeAlias = Literal["open", "invite"]
ENROLMENTS: tuple[Enrolment, ...] = get_args(Enrolment)

State: TypeAlias = Literal["open", "closed", "archived"]
STATES: tuple[State, ...] = get_args(State)

Readers: TypeAlias = Literal["public", "operator"]
READERS: tuple[Readers, ...] = get_args(Readers)

BOARD = re.compile(r"[0-9a-f]{32}")
"""The name of a board: 128 random bits, so that no two boards ever have the same."""


class Outcome(StrEnum):
    """What became of a message that was posted, or of a request to be enrolled."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    REFUSED = "refused"


class BoardUnavailable(DevoteError):
    """The board could not be reached, or did not answer: post or read again later.

    ``retry_after`` is how many seconds the server asked to wait, 0 if it did not;
    ``is_sent`` is False if nothing can have reached it.
    """

    def __init__(self, text: str, *, retry_after: float = 0.0, is_sent: bool = True) -> None:
        super().__init__(text)
        self.retry_after = retry_after
        self.is_sent = is_sent


class BoardAlone(BoardUnavailable):
    """A device that needs no server reaches no other device."""


class BoardRefused(DevoteError):
    """The board answers, but not as a board of this experiment does: trying again is useless."""


class EnrolmentRefused(BoardRefused):
    """The board has answered that this voter may not take part, so it surely is not enrolled."""


class PostingRejected(BoardRefused):
    """The board takes nothing from this voter just now, whatever it posts; it can be read."""


class ExperimentClosed(PostingRejected):
    """The experiment is closed; its operator may open it again."""


class VoterRevoked(PostingRejected):
    """The operator has revoked this voter."""


class UnknownExperiment(BoardRefused):
    """There is no experiment of that name."""


class DeletedExperiment(UnknownExperiment):
    """There was an experiment of that name, and its operator has deleted it."""


class UnreadableExperiment(BoardRefused):
    """The experiment is there, but this version of devote cannot read its specification."""


def unknown(name: str, *, deleted: bool) -> UnknownExperiment:
    """The error that an experiment is not there, or not any more."""
    if deleted:
        return DeletedExperiment(
            f"Experiment {name!r} was deleted by its operator.\n"
            "Take part in another; this name is not used again."
        )
    return UnknownExperiment(
        f"There is no experiment {name!r} here.\nCheck the name, or create it."
    )


# The experiment.


@dataclass(frozen=True)
class Experiment:
    """A specification, how devices enrol, at most how many may, how many have, and on which board.

    ``signer`` is the key with which servers sign snapshots of it, empty where no server does.

    ``board`` is drawn when an experiment is opened and goes with its log for good: into a backup,
    and to every server that shares the log. All signatures cover it and the fingerprint.

    Enrolment ``open`` takes whoever asks, which is for trying out: one person with a thousand
    keys has a thousand votes. ``invite`` takes one device per single-use invite.

    ``baseline`` is the option that users have today, with which the page compares; empty for none.
    The ``log`` is read by anybody (public), or by bearers of a token only (operator). No device
    relies on these two, so signatures do not cover them.
    """

    spec: ExperimentSpec
    enrolment: Enrolment = "open"
    players: int | None = None
    enrolled: int = 0
    board: str = field(default_factory=lambda: secrets.token_hex(16))
    baseline: str = ""
    log: Readers = "public"
    signer: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        self._check_facts()
        if self.enrolment not in ENROLMENTS:
            raise SpecError(
                f"enrolment={self.enrolment!r} must be open or invite.\n"
                "Use invite wherever somebody could gain by voting twice."
            )
        if not self.spec.scheme.about.deployable:
            others = ", ".join(
                scheme.name for scheme in SCHEMES.values() if scheme.about.deployable
            )
            raise SpecError(
                f"Devices cannot run the scheme {self.spec.scheme.name}, only simulations can.\n"
                f"Use one of: {others}."
            )
        if not isinstance(self.board, str) or BOARD.fullmatch(self.board) is None:
            raise SpecError(
                f"board={self.board!r} must be 32 digits and letters from a to f.\n"
                "Leave it out to have one drawn."
            )
        check.whole("enrolled", self.enrolled, least=0, remedy="It is how many have enrolled.")
        if self.players is not None:
            self.spec.check_players(self.players)

    def _check_facts(self) -> None:
        names = self.spec.arm_names
        if self.baseline and self.baseline not in names:
            raise SpecError(
                f"baseline={self.baseline!r} is not an option.\n"
                f"{did_you_mean(self.baseline, names)}"
                "Name the option that users have today, or leave it out."
            )
        if self.log not in READERS:
            raise SpecError(
                f"log={self.log!r} must be public or operator.\nWith operator it needs a token."
            )
        if self.log == "operator" and not self.spec.scheme.about.reads_tally:
            raise SpecError(
                f"log='operator' is not possible: devices of {self.spec.scheme.name} read the log."
                "\nUse log='public', or the scheme survey, whose devices read the tally only."
            )

    @property
    def name(self) -> str:
        """The name, which is also the last part of the experiment's address."""
        return self.spec.name

    @property
    def fingerprint(self) -> str:
        """A digest of the specification: devices with another one must not play along."""
        return self.spec.fingerprint

    @property
    def scope(self) -> Scope:
        """Where signatures of this experiment are good."""
        return Scope(self.board, self.fingerprint)

    @property
    def facts(self) -> dict[str, Any]:
        """What never changes of it, for lists of experiments."""
        return {
            "name": self.name,
            "board": self.board,
            "fingerprint": self.fingerprint,
            "scheme": self.spec.scheme.name,
            "enrolment": self.enrolment,
            "players": self.players,
            "baseline": self.baseline,
            "log": self.log,
            "signer": self.signer,
        }

    def fits(self, privacy: float | None, fingerprint: str | None) -> bool:
        """Whether a device takes part that pins a fingerprint, or so much privacy at least."""
        proved = self.spec.scheme.sending.privacy
        is_weaker = privacy is not None and (proved is None or proved > privacy)
        return not is_weaker and fingerprint in (None, self.fingerprint)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form, as the server sends it; the fingerprint covers all of ``spec``."""
        written = {"version": VERSION, "spec": self.spec.to_dict(), "fingerprint": self.fingerprint}
        return {**vars(self), **written}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> "Experiment":
        """Read what ``to_dict`` gave; SpecError, KeyError or TypeError if it is not that."""
        others = {name: fields[name] for name in (*OPENED, "signer")}
        enrolled = fields.get("enrolled", 0)  # only in lists of experiments
        experiment = cls(ExperimentSpec.from_dict(fields["spec"]), enrolled=enrolled, **others)
        if experiment.fingerprint != fields["fingerprint"]:
            raise SpecError(
                f"fingerprint {fields['fingerprint']!r} is not that of the specification "
                f"beside it, {experiment.fingerprint!r}.\nUpgrade the older of the two ends."
            )
        return experiment


OPENED = ("enrolment", "players", "board", "baseline", "log")
"""What is decided for good when an experiment is opened, beside its specification."""


class Change(TypedDict, total=False):
    """What changes of a state: moments of None are taken away."""

    state: State | None
    ends: int | None
    delete_after: int | None


@dataclass(frozen=True)
class ExperimentState:
    """The state that the operator set; moments are in seconds since 1970.

    At ``ends`` the experiment closes by itself, and after ``delete_after`` the server deletes it.

    >>> ExperimentState(ends=100).now(99.0), ExperimentState(ends=100).now(100.0)
    ('open', 'closed')
    """

    state: State = "open"
    ends: int | None = None
    delete_after: int | None = None

    def now(self, moment: float) -> State:
        """The state at a moment."""
        over = self.ends is not None and moment >= self.ends
        return "closed" if self.state == "open" and over else self.state

    @property
    def words(self) -> str:
        """The state as text.

        >>> ExperimentState(ends=1793491200).words
        'open until 2026-11-01 00:00 UTC'
        """
        text = str(self.state)
        if self.ends is not None and self.state != "archived":
            text += f"{' until' if self.state == 'open' else ', end'} {as_date(self.ends)}"
        if self.delete_after is not None:
            text += f", deleted after {as_date(self.delete_after)}"
        return text

    def why_closed(self, name: str, moment: float) -> str | None:
        """Why nothing new is taken at a moment, or None if it is."""
        if self.now(moment) == "open":
            return None
        if self.state == "open":
            assert self.ends is not None
            return f"Experiment {name!r} ended on {as_date(self.ends)}."
        return f"Experiment {name!r} is {self.state}."

    def changed(self, now: float, change: Change) -> "ExperimentState":
        """The state after a change. One that is opened again loses an end that has passed."""
        for moment in (change.get("ends"), change.get("delete_after")):
            if moment is not None and moment <= now:
                raise BoardRefused(
                    f"The moment {as_date(moment)} has passed.\n"
                    "Give a later one, or close or delete the experiment."
                )
        state, ends = change.get("state"), self.ends
        if state == "open" and ends is not None and ends <= now:
            ends = None
        delete_after = change.get("delete_after", self.delete_after)
        return ExperimentState(state or self.now(now), change.get("ends", ends), delete_after)


def as_date(moment: float) -> str:
    """A moment as text.

    >>> as_date(1793491200)
    '2026-11-01 00:00 UTC'
    """
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(moment))


def is_address(text: str) -> bool:
    """Whether a text can be the address of something on a server.

    >>> is_address("http://127.0.0.1:8600"), is_address("http://127.0.0.1:86000")
    (True, False)
    """
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def read_link(text: str) -> tuple[str, str | None]:
    """The address in a link that invites, and the invite; None if there is none.

    >>> read_link("http://127.0.0.1:8600/experiments/banner#invite=q7Lw")
    ('http://127.0.0.1:8600/experiments/banner', 'q7Lw')
    """
    address, found, invite = text.partition("#invite=")
    return address, invite if found else None


# What is posted and read.


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
class Snapshot:
    """What is on the board after a number, and the number to read on from.

    It is everything, unless there is ``more``: then read on. A ``number`` below the one asked for
    says that the board is an older one, from a backup: read it again from 0, and post again what
    it has lost.
    """

    number: int
    posted: tuple[Posted, ...]
    more: bool = False


SNAPSHOT = re.compile(r"(\d{1,15}) (\d{1,11}) ([0-9a-f]{64}) ([0-9a-f]{64}) ([0-9a-f]{128})")


@dataclass(frozen=True, slots=True)
class SignedSnapshot:
    """A server's signature over how an experiment stood: who keeps it can prove what was shown.

    ``head`` is the chain of digests over the log up to ``number``, ``tally`` the digest of the
    public tally. ``at`` is the moment, in seconds since 1970, rounded down to ten minutes.
    """

    number: int
    at: int
    head: str
    tally: str
    signature: str

    def __str__(self) -> str:
        """As a server sends it."""
        return " ".join(map(str, astuple(self)))

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read what a server sent; None if it is no snapshot."""
        found = SNAPSHOT.fullmatch(text)
        return None if found is None else cls(int(found[1]), int(found[2]), *found.groups()[2:])

    @property
    def fields(self) -> dict[str, object]:
        """What is signed."""
        return {"number": self.number, "at": self.at, "head": self.head, "tally": self.tally}


@dataclass(frozen=True, slots=True)
class TallySnapshot:
    """What the messages up to ``number`` come to, in a few hundred bytes.

    ``tally`` is what the scheme's tally makes public, as JSON values. ``board`` is where they
    were posted, ``fingerprint`` that of the specification by which they were counted. A server adds
    its ``pace``, the seconds between two reads of a device, and whether it has room for
    ``streams`` of devices. ``signed`` comes beside it, and its tag does not cover it.

    >>> TallySnapshot("b0a2", "9f3c", 2, {"status": "open"}).to_json()
    '{"board":"b0a2","fingerprint":"9f3c","number":2,"tally":{"status":"open"}}'
    """

    board: str
    fingerprint: str
    number: int
    tally: dict[str, Any]
    pace: int | None = None
    streams: bool = True
    signed: SignedSnapshot | None = None

    @classmethod
    def of(cls, scope: Scope, number: int, tally: dict[str, Any]) -> Self:
        """The tally of an experiment."""
        return cls(scope.board, scope.fingerprint, number, tally)

    @property
    def scope(self) -> Scope:
        """Which experiment it is of."""
        return Scope(self.board, self.fingerprint)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; pace and streams only if a server has set them."""
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
        """Its tag, which a device computes itself to ask whether there is another tally."""
        return digest(self.to_dict())[:32]


@dataclass(frozen=True, slots=True)
class Joined:
    """All that a device needs to take part: the answer to a request to join.

    ``outcome`` is that of its enrolment: accepted, duplicate, refused for a ``reason`` (with a
    ``cause`` if the board takes nothing, or nothing from this voter), or mismatch: the experiment
    is not what the device pins, and nothing was enrolled. ``sent`` are its own earlier messages.
    """

    experiment: Experiment
    tally: TallySnapshot
    outcome: Literal["accepted", "duplicate", "refused", "mismatch"]
    reason: str = ""
    cause: str | None = None
    sent: tuple[Envelope, ...] = ()


PAGE = 1_000
"""Messages on a full page."""


def page_of(number: int) -> int:
    """The page that holds a message; pages and messages are counted from 1.

    >>> page_of(1), page_of(1_000), page_of(1_001)
    (1, 1, 2)
    """
    return (number - 1) // PAGE + 1


def page_tag(signatures: Iterable[str]) -> str:
    """The tag of a page with these signatures, which stand for all that it holds.

    >>> page_tag([])
    'e3b0c44298fc1c149afbf4c8996fb924'
    """
    return hashlib.sha256("".join(signatures).encode()).hexdigest()[:32]


# Server-sent events (WHATWG HTML, section 9.2): the kinds, and a comment as heartbeat.
MESSAGE = "message"
END = "end"
NUMBER = "number"
HEARTBEAT = b": still here\n\n"


def encode(event: str, *, number: int, data: str) -> bytes:
    r"""A server-sent event as it goes over the wire.

    >>> encode("end", number=7, data="7")
    b'id: 7\nevent: end\ndata: 7\n\n'
    """
    return f"id: {number}\nevent: {event}\ndata: {data}\n\n".encode()


# The board.


class Board(ABC):
    """Where the messages of one experiment are posted and read, as a device sees it.

    A new board is a subclass; ``tests/contracts`` runs every check on it. Any method may raise
    BoardUnavailable (the outcome is unknown: try again) or BoardRefused (trying again is
    useless). ``takes_back``: what it no longer shows was taken back, not lost.
    """

    takes_back: ClassVar[bool] = False

    @abstractmethod
    async def fetch_experiment(self) -> Experiment:
        """The experiment's specification and how to take part in it."""

    @abstractmethod
    async def enrol(self, identity: "Identity", invite: str | None = None) -> Outcome:
        """Let this voter post: accepted, or duplicate if it may already.

        EnrolmentRefused if the board answers that it may not.
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
        if not experiment.fits(privacy, fingerprint):
            return Joined(experiment, await self.tally(), "mismatch")
        try:
            outcome = await self.enrol(identity, invite)
        except EnrolmentRefused as error:
            return Joined(experiment, await self.tally(), "refused", str(error))
        sent = await self.sent_by(identity.voter) if outcome is Outcome.DUPLICATE else ()
        return Joined(experiment, await self.tally(), outcome.value, sent=sent)

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
        """The same as ``snapshot``, past any cache: only where a snapshot seems too old."""
        return await self.snapshot(after)

    async def sent_by(self, voter: str) -> tuple[Envelope, ...]:
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
