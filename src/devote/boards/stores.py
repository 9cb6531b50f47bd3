"""What a server asks of a store, whatever it is made of, and what every store does alike.

``SqliteStore`` keeps everything in a file, ``JetStreamStore`` in a log that servers share.
"""

import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar, Unpack

from devote.boards.admission import UNSIGNED, Receipt
from devote.boards.board import BoardRefused, Envelope, TallySnapshot
from devote.boards.experiment import Change, Experiment, ExperimentState, written
from devote.boards.history import History
from devote.boards.identity import hash_of, verify_enrolment, verify_join
from devote.checks import Checks
from devote.extras import naming_extras
from devote.protocol import ExperimentSpec
from devote.protocol.wire import Scope

T = TypeVar("T")
Row = tuple[int, str, str]
"""Number, JSON text and signature of a message."""

EnrolmentRequest = tuple[str, str, str | None]
"""An experiment, a voter who has signed that it wants to take part, and its invite."""


@dataclass(frozen=True)
class Revocation:
    """How many devices and invites a request has revoked, and how many it named in vain.

    In vain is a device that is not enrolled, and an invite that was used or is not there.
    """

    devices: int = 0
    invites: int = 0
    unknown: int = 0

    def __add__(self, other: "Revocation") -> "Revocation":
        return Revocation(
            self.devices + other.devices,
            self.invites + other.invites,
            self.unknown + other.unknown,
        )


@dataclass(frozen=True)
class InviteCounts:
    """How many invites can still be used, were used, and have expired unused."""

    open: int
    used: int
    expired: int


@dataclass(frozen=True)
class Content:
    """All that a store keeps of one experiment; invites are hashes and when they expire."""

    experiment: Experiment
    standing: ExperimentState
    voters: list[str]
    revoked: list[str]
    invites: list[tuple[str, int | None]]
    rows: list[Row]


class BoardStore(ABC):
    """Experiments, who is enrolled, invites and messages; every method is safe in any thread.

    ``at_once`` is how many calls it does well at once, ``one_disk`` whether the writes of all
    experiments wait for the same disk. ``specs`` are the specifications read so far: they never
    change. ``clock`` says when experiments and invites end.
    """

    at_once: int
    one_disk: bool

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self.clock = clock
        self.specs: dict[str, ExperimentSpec] = {}

    @abstractmethod
    def close(self) -> None:
        """Close it."""

    @abstractmethod
    def create(self, experiment: Experiment, *, most: int | None = None) -> Receipt:
        """Open an experiment; duplicate if the very same is there, refused if another is.

        ``most`` is how many experiments there may be.
        """

    @abstractmethod
    def experiments(self) -> list[Experiment]:
        """All experiments that this version of devote can read, by name."""

    @abstractmethod
    def get(self, name: str) -> Experiment:
        """An experiment and how many are enrolled; UnknownExperiment if it is not there."""

    @abstractmethod
    def scope(self, name: str) -> Scope:
        """Where signatures of an experiment are good."""

    @abstractmethod
    def delete(self, name: str) -> None:
        """Delete an experiment and all that belongs to it; its name stays taken."""

    @abstractmethod
    def enrol_all(
        self, requests: Sequence[EnrolmentRequest], *, most: int | None = None
    ) -> list[Receipt]:
        """Let voters post whose requests are signed; what became of each.

        ``most`` bounds the voters of an experiment beside its own players. Afterwards nothing
        that is kept tells which invite came with which voter.
        """

    @abstractmethod
    def post_all(
        self, posts: Sequence[tuple[str, Envelope]], *, most: int | None = None
    ) -> list[Receipt]:
        """Post messages in their order; what became of each.

        ``most`` bounds the messages of one voter, who could otherwise fill the disk.
        """

    @abstractmethod
    def voters(self, name: str, after: str = "", limit: int | None = None) -> list[str]:
        """The enrolled voters above ``after``, in order of their keys; at most ``limit``.

        Not in the order in which they enrolled, which is nobody's business.
        """

    @abstractmethod
    def check_writable(self) -> None:
        """Write something; StoreError if that does not work."""

    @abstractmethod
    def look(self, name: str, draw: Callable[[History], T]) -> T:
        """What a function makes of an experiment's messages; nothing is posted meanwhile."""

    @abstractmethod
    def numbers(self) -> dict[str, int]:
        """How many messages each experiment has that has any."""

    @abstractmethod
    def rows_of(self, name: str, voter: str) -> tuple[int, list[Row]]:
        """The board's last number, and the messages of one voter."""

    @abstractmethod
    def rows(self, name: str, after: int = 0, limit: int | None = None) -> tuple[int, list[Row]]:
        """The board's last number, and the messages above ``after``; at most ``limit``, the first.

        A last number below ``after`` says that the board is an older one, from a backup.
        """

    @abstractmethod
    def standing_of(self, name: str) -> ExperimentState:
        """The state of an experiment as it was set; UnknownExperiment if it is not there."""

    @abstractmethod
    def change(self, name: str, **change: Unpack[Change]) -> ExperimentState:
        """Put an experiment into another state, or give it another end; the rest stays.

        ``endless`` takes its end away. One that is opened again loses an end that has passed.
        """

    @abstractmethod
    def archived(self) -> set[str]:
        """The experiments that are archived."""

    @abstractmethod
    def add_invites(self, name: str, hashes: Sequence[str], expires: int | None) -> None:
        """Keep new invites, of which only the hashes are known here."""

    @abstractmethod
    def revoke(
        self, name: str, *, voters: Collection[str] = (), invites: Collection[str] = ()
    ) -> Revocation:
        """Take nothing more from these voters, and let nobody enrol by these invites.

        A revoked device stays in the list of voters, and what it sent before stays and counts: the
        log only ever grows, so that whoever has read it can check it.
        """

    @abstractmethod
    def revoke_all_invites(self, name: str) -> Revocation:
        """Let nobody enrol by any invite made so far."""

    @abstractmethod
    def counts(self, name: str) -> tuple[InviteCounts, int]:
        """How many invites there are of each kind, and how many devices are revoked."""

    @abstractmethod
    def content(self, name: str) -> Content:
        """All that is kept of an experiment, as of one moment."""

    def spec(self, name: str) -> ExperimentSpec:
        """An experiment's specification, which is read once."""
        return self.specs.get(name) or self.get(name).spec

    def enrol(
        self,
        name: str,
        *,
        voter: str,
        signature: str,
        invite: str | None = None,
        most: int | None = None,
    ) -> Receipt:
        """Let a voter post who has signed that: accepted, duplicate, or refused."""
        if not verify_enrolment(voter=voter, scope=self.scope(name), signature=signature):
            return UNSIGNED
        return self.enrol_all([(name, voter, invite)], most=most)[0]

    def join(self, name: str, *, voter: str, signature: str, invite: str | None = None) -> Receipt:
        """The same by the signature of a request to join."""
        if not verify_join(voter=voter, experiment=name, invite=invite, signature=signature):
            return UNSIGNED
        return self.enrol_all([(name, voter, invite)])[0]

    def post(self, name: str, envelope: Envelope, *, most: int | None = None) -> Receipt:
        """Post a message: accepted, duplicate, or refused."""
        return self.post_all([(name, envelope)], most=most)[0]

    def tally(self, name: str) -> TallySnapshot:
        """What an experiment's messages come to."""
        experiment = self.get(name)
        return self.look(name, lambda history: history.public(experiment))

    def standing(self, name: str) -> ExperimentState:
        """The state of an experiment now."""
        standing = self.standing_of(name)
        return replace(standing, state=standing.now(self.clock()))

    def invite(self, name: str, count: int, expires: int | None = None) -> list[str]:
        """New single-use invites: the only time they can be read, as only hashes are kept.

        An invite is 128 random bits, so that nobody finds one by trying. ``expires`` is the moment,
        in seconds since 1970, from which on they are no longer good.
        """
        Checks(BoardRefused).whole("count", count, least=1, remedy="It is how many to make.")
        if expires is not None and expires <= self.clock():
            raise BoardRefused(f"The moment {written(expires)} has passed.\nGive a later one.")
        self.spec(name)
        invites = [secrets.token_urlsafe(16) for _ in range(count)]
        self.add_invites(name, [hash_of(invite) for invite in invites], expires)
        return invites


def is_nats(where: object) -> bool:
    """Whether a place is an address on NATS, and not the path of a file.

    >>> is_nats("nats://127.0.0.1:4222"), is_nats("devote-server.db")
    (True, False)
    """
    return isinstance(where, str) and where.startswith(("nats://", "tls://"))


def open_store(where: str | Path) -> BoardStore:
    """The store at the path of a file, or at an address such as ``nats://127.0.0.1:4222``."""
    if is_nats(where):
        with naming_extras():
            from devote.boards.jetstream.store import JetStreamStore
        return JetStreamStore(str(where))
    from devote.boards.store import SqliteStore

    return SqliteStore(where)
