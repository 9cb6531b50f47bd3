"""A board in memory, for tests and simulation: never lossy, never late, gone with the process.

For a board that fails, wrap it in a ``FaultyBoard``, which is here by name too.
"""

import threading
from collections.abc import AsyncIterator, Callable, Iterable

from devote.boards.admission import refusal
from devote.boards.bell import Bell
from devote.boards.board import (
    BoardUnavailable,
    EndOfBacklog,
    Envelope,
    Event,
    Outcome,
    Posted,
    Snapshot,
)
from devote.boards.faults import Faults, FaultyBoard, MockClock
from devote.boards.identity import verify
from devote.boards.standing import Standing
from devote.protocol import ExperimentSpec, Message

__all__ = ["Faults", "FaultyBoard", "MemoryBoard", "MockClock"]


class MemoryBoard:
    """The messages of one experiment, in a list.

    ``seats`` are the voters who may post; None lets everyone. ``check`` is the signature check,
    to be replaced only where no one could forge. ``publish`` and ``snapshot`` never wait, so
    they can be driven without an event loop. ``crash`` makes the board unavailable until
    ``restart``, and loses nothing that was accepted, as a board on disk would.

    >>> board = MemoryBoard(ExperimentSpec(arms=3))
    >>> board.now().number
    0
    """

    def __init__(
        self,
        spec: ExperimentSpec,
        *,
        seats: Iterable[str] | None = None,
        check: Callable[[Envelope], bool] = verify,
    ) -> None:
        self.spec = spec
        self._seats = None if seats is None else set(seats)
        self._check = check
        self._posted: list[Posted] = []
        self._keys: set[Message] = set()
        self._standing = Standing()
        self._lock = threading.Lock()
        self._bell = Bell()
        self._up = True

    def seat(self, voter: str) -> None:
        """Let one more voter post."""
        if self._seats is not None:
            self._seats.add(voter)

    def crash(self) -> None:
        """Answer nothing, until ``restart``."""
        self._up = False
        self._bell.ring()

    def restart(self) -> None:
        """Answer again."""
        self._up = True

    def now(self) -> Snapshot:
        """Everything on the board, whether or not it answers: for the test that watches it."""
        with self._lock:
            return Snapshot(len(self._posted), tuple(self._posted))

    async def publish(self, envelope: Envelope) -> Outcome:
        """Post a message."""
        self._check_up()
        if refusal(envelope, self.spec, self._check) is not None:
            return Outcome.DENIED
        if self._seats is not None and envelope.message.voter not in self._seats:
            return Outcome.DENIED
        with self._lock:
            if envelope.message in self._keys:
                return Outcome.DUPLICATE
            if not self._standing.admit(envelope.message):
                return Outcome.DENIED
            self._keys.add(envelope.message)
            self._posted.append(Posted(len(self._posted) + 1, envelope))
        self._bell.ring()
        return Outcome.ACCEPTED

    async def snapshot(self, after: int = 0) -> Snapshot:
        """All messages with a number above ``after``."""
        self._check_up()
        return self._read(after)

    async def stream(self, after: int = 0) -> AsyncIterator[Event]:
        """The messages above ``after``, one EndOfBacklog, then messages as they come."""
        with self._bell.listen() as rung:
            at_end = False
            while True:
                rung.clear()
                self._check_up()
                snapshot = self._read(after)
                for posted in snapshot.posted:
                    yield posted
                after = snapshot.number
                if not at_end:
                    at_end = True
                    yield EndOfBacklog(after)
                await rung.wait()

    def _read(self, after: int) -> Snapshot:
        with self._lock:
            return Snapshot(len(self._posted), tuple(self._posted[max(after, 0) :]))

    def _check_up(self) -> None:
        if not self._up:
            raise BoardUnavailable("The board has crashed.\nTry again after its restart.")
