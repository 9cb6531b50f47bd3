"""A board in memory, for tests: never lossy, never late, gone with the process.

Tests that need a board that fails wrap it (``tests/boards/faults.py``).
"""

import threading
from collections.abc import Callable, Iterable

from devote.boards.admission import Receipt, admit
from devote.boards.board import (
    Envelope,
    Experiment,
    ExperimentState,
    Outcome,
    Posted,
    Snapshot,
    TallySnapshot,
)
from devote.boards.identity import Identity, verify
from devote.boards.sqlite import NotifyingBoard
from devote.protocol import ExperimentSpec, Message
from devote.protocol.messages import Scope

LOCAL = "0" * 32
"""The board that nobody beyond this process can reach."""


class MemoryLedger:
    """What admission asks a board in memory."""

    def __init__(self, spec: ExperimentSpec, enrolled: set[str] | None, board: str) -> None:
        deployable = spec.scheme.about.deployable
        self.experiment = (
            Experiment(spec, board=board) if deployable else _Undeployable(spec, board)
        )
        self.enrolled = enrolled
        self.revoked: set[str] = set()
        self.state = ExperimentState()
        self.tally = spec.scheme.tally(spec)
        self.numbers: dict[Message, int] = {}

    def is_enrolled(self, voter: str) -> bool:
        return self.enrolled is None or voter in self.enrolled

    def is_revoked(self, voter: str) -> bool:
        return voter in self.revoked

    def standing(self) -> tuple[ExperimentState, float]:
        return self.state, 0.0

    def number_of(self, message: Message) -> int | None:
        return self.numbers.get(message)

    def count_of(self, voter: str) -> int:
        return sum(message.voter == voter for message in self.numbers)


class _Undeployable:
    """An experiment of a scheme that devices cannot run."""

    def __init__(self, spec: ExperimentSpec, board: str) -> None:
        self.spec, self.name, self.scope = spec, spec.name, Scope(board, spec.fingerprint)


class MemoryBoard(NotifyingBoard):
    """The messages of one experiment, in a list.

    ``enrolled`` are the voters who may post; None lets everyone. ``check`` is the signature
    check, to be replaced only where no one could forge. All methods but ``stream`` never wait, so
    they can be driven without an event loop.

    >>> board = MemoryBoard(ExperimentSpec(arms=3))
    >>> board.now().number
    0
    """

    def __init__(
        self,
        spec: ExperimentSpec,
        *,
        enrolled: Iterable[str] | None = None,
        board: str = LOCAL,
        check: Callable[[Envelope, Scope], bool] = verify,
    ) -> None:
        super().__init__()
        self.spec = spec
        self.enrolled = None if enrolled is None else set(enrolled)
        self.scope = Scope(board, spec.fingerprint)
        self.ledger = MemoryLedger(spec, self.enrolled, board)
        self._check = check
        self._posted: list[Posted] = []
        self._posting = threading.Lock()

    def now(self) -> Snapshot:
        """Everything on the board, without an event loop."""
        with self._posting:
            return Snapshot(len(self._posted), tuple(self._posted))

    def post(self, envelope: Envelope, most: int | None = None) -> Receipt:
        """Post a message: accepted, duplicate, or refused, and why."""
        with self._posting:
            if receipt := admit(envelope, self.ledger, most, self._check):
                return receipt
            number = self.ledger.numbers[envelope.message] = len(self._posted) + 1
            self._posted.append(Posted(number, envelope))
            self.ledger.tally.add(envelope.message)
        self.notify()
        return Receipt(Outcome.ACCEPTED, number)

    async def fetch_experiment(self) -> Experiment:
        return Experiment(self.spec, enrolled=len(self.enrolled or ()), board=self.scope.board)

    async def enrol(self, identity: Identity, invite: str | None = None) -> Outcome:
        if self.enrolled is None or identity.voter in self.enrolled:
            return Outcome.DUPLICATE
        self.enrolled.add(identity.voter)
        return Outcome.ACCEPTED

    async def publish(self, envelope: Envelope) -> Outcome:
        return self.post(envelope).outcome

    async def snapshot(self, after: int = 0) -> Snapshot:
        with self._posting:
            return Snapshot(len(self._posted), tuple(self._posted[max(after, 0) :]))

    async def tally(self) -> TallySnapshot:
        with self._posting:
            return TallySnapshot.of(self.scope, len(self._posted), self.ledger.tally.public())
