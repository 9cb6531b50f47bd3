"""A board seen through a bad network: loss, duplication, delay, reordering, partitions.

Time is a clock that a test moves by hand and chance is one seeded generator, so a run that
fails can be run again. Nothing here sleeps: ``publish`` and ``snapshot`` complete at once, and
what is delayed arrives when the clock has passed its time and somebody uses the link or calls
``deliver``.
"""

import random
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from tests.boards.memory import MemoryBoard

from devote.boards.board import (
    Board,
    BoardUnavailable,
    EndOfBacklog,
    Envelope,
    Event,
    Experiment,
    Outcome,
    Snapshot,
    TallySnapshot,
)
from devote.boards.identity import Identity


class Clock(Protocol):
    """Anything that gives the time in seconds."""

    def now(self) -> float: ...


class MockClock:
    """A clock that a test moves by hand, also backwards.

    >>> clock = MockClock()
    >>> clock.advance(2.5)
    >>> clock.now()
    2.5
    """

    def __init__(self, start: float = 0.0) -> None:
        self._now = start

    def now(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        self._now += seconds


@dataclass(frozen=True)
class Faults:
    """What goes wrong on a link, each with its probability per call.

    ``lost_request``: never reaches the board. ``lost_reply``: done, but the answer is lost.
    ``duplicated``: arrives twice, the second time up to ``longest_delay`` later. ``delayed``: the
    caller gives up, and the message arrives up to ``longest_delay`` seconds later, in whatever
    order that gives. ``stale``: a snapshot or stream as it was some messages ago. ``shuffled``:
    a snapshot's messages in another order. ``partitions``: spans (from, to) of the clock in
    which nothing passes.

    >>> Faults(lost_reply=0.1, partitions=((5.0, 9.0),)).lost_request
    0.0
    """

    lost_request: float = 0.0
    lost_reply: float = 0.0
    duplicated: float = 0.0
    delayed: float = 0.0
    longest_delay: float = 10.0
    stale: float = 0.0
    shuffled: float = 0.0
    partitions: tuple[tuple[float, float], ...] = ()


class FaultyBoard(Board):
    """One device's link to a board, with faults.

    Wrap one shared board once per device, each with its own seed. ``partitioned`` cuts the link
    by hand.
    """

    def __init__(self, board: Board, faults: Faults, clock: Clock, seed: int) -> None:
        self.board = board
        self.faults = faults
        self.clock = clock
        self.partitioned = False
        self._random = random.Random(seed)
        self._in_flight: list[tuple[float, Envelope]] = []
        self._tally: TallySnapshot | None = None

    @property
    def in_flight(self) -> tuple[Envelope, ...]:
        return tuple(envelope for _, envelope in self._in_flight)

    async def fetch_experiment(self) -> Experiment:
        self._check_link()
        return await self.board.fetch_experiment()

    async def enrol(self, identity: Identity, invite: str | None = None) -> Outcome:
        self._check_link()
        return await self.board.enrol(identity, invite)

    async def publish(self, envelope: Envelope) -> Outcome:
        await self.deliver()
        self._check_link()
        if self._happens(self.faults.lost_request):
            raise _lost()
        if self._happens(self.faults.delayed):
            self._send_later(envelope)
            raise _lost()
        outcome = await self.board.publish(envelope)
        if self._happens(self.faults.duplicated):
            self._send_later(envelope)
        if self._happens(self.faults.lost_reply):
            raise _lost()
        return outcome

    async def _ask(self) -> None:
        await self.deliver()
        self._check_link()
        if self._happens(self.faults.lost_request) or self._happens(self.faults.lost_reply):
            raise _lost()

    async def snapshot(self, after: int = 0) -> Snapshot:
        """All messages above ``after``, perhaps as of some time ago, in whatever order."""
        await self._ask()
        return self._age(await self.board.snapshot(after), after)

    async def stream(self, after: int = 0) -> AsyncIterator[Event]:
        """The board's stream, with events twice, a stale backlog, and cuts."""
        first = await self.snapshot(after)
        for posted in first.posted:
            yield posted
        yield EndOfBacklog(first.number)
        async for event in self.board.stream(first.number):
            self._check_link()
            if self._happens(self.faults.lost_reply):
                raise _lost()
            if isinstance(event, EndOfBacklog):
                continue
            yield event
            if self._happens(self.faults.duplicated):
                yield event

    async def tally(self) -> TallySnapshot:
        await self._ask()
        fresh = await self.board.tally()
        if self._tally is None or not self._happens(self.faults.stale):
            self._tally = fresh
        return self._tally

    async def sent_by(self, voter: str) -> tuple[Envelope, ...]:
        await self._ask()
        return await self.board.sent_by(voter)

    async def deliver(self, *, everything: bool = False) -> None:
        """Hand over what is due by now, or all that is in flight."""
        if not self._in_flight:
            return
        now = self.clock.now()
        due = [item for item in self._in_flight if everything or item[0] <= now]
        if not due or self._is_cut():
            return
        self._in_flight = [item for item in self._in_flight if item not in due]
        for _, envelope in sorted(due, key=lambda item: item[0]):
            try:
                await self.board.publish(envelope)
            except BoardUnavailable:
                continue  # it reached a board that was down: lost, and nobody knows

    def _send_later(self, envelope: Envelope) -> None:
        delay = self._random.random() * self.faults.longest_delay
        self._in_flight.append((self.clock.now() + delay, envelope))

    def _age(self, snapshot: Snapshot, after: int) -> Snapshot:
        posted = list(snapshot.posted)
        number = snapshot.number
        if posted and self._happens(self.faults.stale):
            posted = posted[: self._random.randrange(len(posted))]
            number = posted[-1].number if posted else after
        if self._happens(self.faults.shuffled):
            self._random.shuffle(posted)
        return Snapshot(number, tuple(posted))

    def _happens(self, probability: float) -> bool:
        return self._random.random() < probability

    def _is_cut(self) -> bool:
        if self.partitioned or not self.faults.partitions:
            return self.partitioned
        now = self.clock.now()
        return any(start <= now < end for start, end in self.faults.partitions)

    def _check_link(self) -> None:
        if self._is_cut():
            raise BoardUnavailable("The network is partitioned.\nTry again when it has healed.")


def _lost() -> BoardUnavailable:
    return BoardUnavailable("No answer came.\nPost or read again; posting twice is harmless.")


class CrashingBoard(MemoryBoard):
    """A board in memory that can be down for a while.

    It loses nothing that was accepted, as a board on disk would.
    """

    up = True

    def crash(self) -> None:
        self.up = False
        self.notify()

    def restart(self) -> None:
        self.up = True

    async def fetch_experiment(self) -> Experiment:
        self.check_up()
        return await super().fetch_experiment()

    async def enrol(self, identity: Identity, invite: str | None = None) -> Outcome:
        self.check_up()
        return await super().enrol(identity, invite)

    async def publish(self, envelope: Envelope) -> Outcome:
        self.check_up()
        return await super().publish(envelope)

    async def snapshot(self, after: int = 0) -> Snapshot:
        self.check_up()
        return await super().snapshot(after)

    async def tally(self) -> TallySnapshot:
        self.check_up()
        return await super().tally()

    def check_up(self) -> None:
        if not self.up:
            raise BoardUnavailable("The board has crashed.\nTry again after its restart.")
