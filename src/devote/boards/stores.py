"""What a server asks of a store, whatever it is made of."""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Protocol, TypeVar, Unpack

from devote.boards.administration import Revocation
from devote.boards.admission import Receipt
from devote.boards.board import Envelope, PublicTally
from devote.boards.experiment import Experiment
from devote.boards.history import History
from devote.boards.invites import InviteCounts
from devote.boards.standing import Change, Standing
from devote.extras import naming_extras
from devote.protocol import ExperimentSpec
from devote.protocol.wire import Scope

T = TypeVar("T")
Rows = list[tuple[int, str, str]]
"""Number, JSON text and signature of messages."""


class OneByOne(Protocol):
    """Requests one by one, for a store that takes them by the dozen."""

    def enrol_all(
        self, requests: Sequence[tuple[str, str, str, str | None]], *, most: int | None = None
    ) -> list[Receipt]:
        """Let voters post: each request is an experiment, a voter, a signature, an invite."""

    def post_all(
        self, posts: Sequence[tuple[str, Envelope]], *, most: int | None = None
    ) -> list[Receipt]:
        """Post messages in their order."""

    def enrol(
        self,
        name: str,
        *,
        voter: str,
        signature: str,
        invite: str | None = None,
        most: int | None = None,
    ) -> Receipt:
        """Let a voter post: accepted, duplicate if it may already, or refused."""
        return self.enrol_all([(name, voter, signature, invite)], most=most)[0]

    def post(self, name: str, envelope: Envelope, *, most: int | None = None) -> Receipt:
        """Post a message: accepted, duplicate, or refused."""
        return self.post_all([(name, envelope)], most=most)[0]


class BoardStore(OneByOne, Protocol):
    """Experiments, who is enrolled, invites and messages; safe in any thread.

    ``SqliteStore`` keeps them in a file and ``JetStreamStore`` in a log that servers share. What
    each method does is said in the first. ``at_once`` is how many calls it does well at once, and
    ``one_disk`` whether the writes of all experiments wait for the same disk.
    """

    at_once: int
    one_disk: bool
    specs: dict[str, ExperimentSpec]

    @property
    def administration(self) -> "Administering":
        """What the operator does with the experiments once they are open."""

    def close(self) -> None:
        """Close it."""

    def create(self, experiment: Experiment, *, most: int | None = None) -> Receipt:
        """Open an experiment."""

    def experiments(self) -> list[Experiment]:
        """All experiments, by name."""

    def get(self, name: str) -> Experiment:
        """An experiment and how many are enrolled."""

    def spec(self, name: str) -> ExperimentSpec:
        """An experiment's specification."""

    def scope(self, name: str) -> Scope:
        """Where signatures of an experiment are good."""

    def invite(self, name: str, count: int, expires: int | None = None) -> list[str]:
        """New single-use invites."""

    def delete(self, name: str) -> None:
        """Delete an experiment and all that belongs to it."""

    def voters(self, name: str, after: str = "", limit: int | None = None) -> list[str]:
        """The enrolled voters above a key."""

    def check_writable(self) -> None:
        """Write something; StoreError if that does not work."""

    def look(self, name: str, draw: Callable[[History], T]) -> T:
        """What a function makes of an experiment's messages."""

    def tally(self, name: str) -> PublicTally:
        """What an experiment's messages come to."""

    def numbers(self) -> dict[str, int]:
        """How many messages each experiment has that has any."""

    def rows_of(self, name: str, voter: str) -> tuple[int, Rows]:
        """The board's last number, and the messages of one voter."""

    def rows(self, name: str, after: int = 0, limit: int | None = None) -> tuple[int, Rows]:
        """The board's last number, and the messages above a number; at most ``limit``."""


class Administering(Protocol):
    """The operator's side of a store; what each method does is said in ``Administration``."""

    clock: Callable[[], float]

    def standing(self, name: str) -> Standing:
        """How an experiment stands now."""

    def change(self, name: str, **change: Unpack[Change]) -> Standing:
        """Put an experiment into another state, or give it another end."""

    def archived(self) -> set[str]:
        """The experiments that are archived."""

    def revoke(
        self, name: str, *, voters: Collection[str] = (), invites: Collection[str] = ()
    ) -> Revocation:
        """Take nothing more from these voters, and let nobody enrol by these invites."""

    def revoke_all_invites(self, name: str) -> Revocation:
        """Let nobody enrol by any invite made so far."""

    def counts(self, name: str) -> tuple[InviteCounts, int]:
        """How many invites there are of each kind, and how many devices are revoked."""


def open_store(where: str | Path) -> BoardStore:
    """The store at the path of a file, or at an address such as ``nats://127.0.0.1:4222``."""
    from devote.boards.jetstream.address import is_nats

    if is_nats(where):
        with naming_extras():
            from devote.boards.jetstream.store import JetStreamStore
        return JetStreamStore(str(where))
    from devote.boards.store import SqliteStore

    return SqliteStore(where)
