"""The board of a store in this process: the default where devices share a disk and no server runs.

The calls run in a worker thread: a commit waits for the disk, and for other processes up to
seconds, and an event loop must not wait with it.
"""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from devote.boards.board import (
    BoardUnavailable,
    EnrolmentRefused,
    Envelope,
    Experiment,
    NotifyingBoard,
    Outcome,
    Posted,
    Snapshot,
    TallySnapshot,
)
from devote.boards.database import StoreError
from devote.boards.identity import Identity
from devote.boards.store import SqliteStore
from devote.protocol import from_json

P = ParamSpec("P")
T = TypeVar("T")


class SqliteBoard(NotifyingBoard):
    """The board of one experiment of a store; BoardRefused if the store has none of that name.

    ``poll`` is how many seconds what another process has posted may go unnoticed by a stream.
    Whoever opened the store closes it.
    """

    def __init__(self, store: SqliteStore, name: str, *, poll: float = 0.5) -> None:
        super().__init__()
        self.spec = store.spec(name)
        self.scope = store.scope(name)
        self.store = store
        self.poll = poll

    async def fetch_experiment(self) -> Experiment:
        """The experiment."""
        return await _in_thread(self.store.get, self.spec.name)

    async def enrol(self, identity: Identity, invite: str | None = None) -> Outcome:
        """Let this voter post; EnrolmentRefused if the store refuses."""
        receipt = await _in_thread(
            self.store.enrol,
            self.spec.name,
            voter=identity.voter,
            signature=identity.sign_enrolment(self.scope),
            invite=invite,
        )
        if receipt.outcome is Outcome.REFUSED:
            raise EnrolmentRefused(receipt.reason)
        return receipt.outcome

    async def publish(self, envelope: Envelope) -> Outcome:
        """Post a message; on disk when this returns."""
        receipt = await _in_thread(self.store.post, self.spec.name, envelope)
        if receipt.outcome is Outcome.ACCEPTED:
            self.notifier.notify()
        return receipt.outcome_or_raise()

    async def snapshot(self, after: int = 0) -> Snapshot:
        """All messages with a number above ``after``."""
        return await _in_thread(self._read, after)

    async def tally(self) -> TallySnapshot:
        """What the messages come to."""
        return await _in_thread(self.store.tally, self.spec.name)

    async def sent_by(self, voter: str) -> tuple[Envelope, ...]:
        """All messages of one voter."""
        _, rows = await _in_thread(self.store.rows_of, self.spec.name, voter)
        return tuple(posted.envelope for posted in self._decoded(rows))

    def _read(self, after: int) -> Snapshot:
        number, rows = self.store.rows(self.spec.name, after)
        return Snapshot(number, self._decoded(rows))

    def _decoded(self, rows: list[tuple[int, str, str]]) -> tuple[Posted, ...]:
        return tuple(
            Posted(number, Envelope(from_json(message, self.spec.n_arms), signature))
            for number, message, signature in rows
        )


async def _in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    try:
        return await asyncio.to_thread(work, *args, **kwargs)
    except StoreError as error:
        raise BoardUnavailable(str(error)) from error
