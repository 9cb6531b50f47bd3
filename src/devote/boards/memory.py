"""A board in memory, for tests and simulation: never lossy, never late, gone with the process.

Tests that need a board that fails wrap it (``tests/boards/faults.py``).
"""

import threading
from collections.abc import Callable, Iterable

from devote.boards.admission import NOT_ENROLLED, Receipt, refusal, refused
from devote.boards.bell import RingingBoard
from devote.boards.board import Envelope, Outcome, Posted, PublicTally, Snapshot
from devote.boards.experiment import Experiment
from devote.boards.identity import Identity, verify
from devote.protocol import ExperimentSpec, Message
from devote.protocol.wire import Scope

LOCAL = "0" * 32
"""The board that nobody beyond this process can reach."""


class MemoryBoard(RingingBoard):
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
        self._check = check
        self._posted: list[Posted] = []
        self._numbers: dict[Message, int] = {}
        self._tally = spec.scheme.tally(spec)
        self._lock = threading.Lock()

    def now(self) -> Snapshot:
        """Everything on the board, without an event loop."""
        with self._lock:
            return Snapshot(len(self._posted), tuple(self._posted))

    def post(self, envelope: Envelope) -> Receipt:
        """Post a message: accepted, duplicate, or refused, and why."""
        message = envelope.message
        if reason := refusal(envelope, self.spec, self.scope, self._check):
            return refused(reason)
        if self.enrolled is not None and message.voter not in self.enrolled:
            return NOT_ENROLLED
        with self._lock:
            if message in self._numbers:
                return Receipt(Outcome.DUPLICATE, self._numbers[message])
            if reason := self._tally.refusal(message):
                return refused(reason)
            number = self._numbers[message] = len(self._posted) + 1
            self._posted.append(Posted(number, envelope))
            self._tally.add(message)
        self._bell.ring()
        return Receipt(Outcome.ACCEPTED, number)

    async def fetch_experiment(self) -> Experiment:
        """The experiment."""
        return Experiment(self.spec, enrolled=len(self.enrolled or ()), board=self.scope.board)

    async def enrol(self, identity: Identity, invite: str | None = None) -> Outcome:
        """Let this voter post."""
        if self.enrolled is None or identity.voter in self.enrolled:
            return Outcome.DUPLICATE
        self.enrolled.add(identity.voter)
        return Outcome.ACCEPTED

    async def publish(self, envelope: Envelope) -> Outcome:
        """Post a message."""
        return self.post(envelope).outcome

    async def snapshot(self, after: int = 0) -> Snapshot:
        """All messages with a number above ``after``."""
        with self._lock:
            return Snapshot(len(self._posted), tuple(self._posted[max(after, 0) :]))

    async def tally(self) -> PublicTally:
        """What the messages come to."""
        with self._lock:
            return PublicTally.of(self.scope, len(self._posted), self._tally.public())
