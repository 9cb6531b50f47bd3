"""The Python device that ships, run through a plan: its core, steps, store, rounds and loop.

Nothing of the device is replaced but the two clocks and the board. The loop of ``device.sync`` is
driven without an event loop: ``pause`` hands its wait to the driver here, which sets the clock
forward to whatever comes next. Random numbers are the device's own. Generators that are no secret
start alike for every device, because an adversary may know their state: noise from them is none.
"""

import asyncio
import heapq
import random
import types
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields
from typing import Any, TypeAlias

from devote.audit.watched import Copy, Plan, Wire, World, experiments_of, public_tally
from devote.boards.board import (
    Board,
    BoardUnavailable,
    Envelope,
    Event,
    Experiment,
    Outcome,
    Posted,
    Snapshot,
    TallySnapshot,
)
from devote.boards.identity import Identity
from devote.device.core import Core
from devote.device.errors import RewardRefused
from devote.device.steps import Choice, Clock, Expiry
from devote.device.store import Store
from devote.device.sync import Pace, Terms, join, run_forever
from devote.protocol import ExperimentSpec, Message

Note: TypeAlias = Callable[[str | Message], None]

MIDDLING = 274_615
"""A seed whose first five numbers are near a half, where noise hides least what a user did."""

EPOCH = 1_700_000_000.0
PACE = 600
"""Seconds between two rounds, as a busy server asks for."""

PATIENCE = Pace(base=1.0, cap=60.0)
"""How long it waits for the next attempt when an acknowledgement was lost."""

EXPIRY = 0.8
"""A play that is no question counts as 0 at the first open after so much of its time."""


def watch_all(spec: ExperimentSpec, world: World, plans: Sequence[Plan]) -> list[Wire]:
    """Devices, each from its first open until everything that it sends has been acknowledged."""
    wires = []
    for plan in plans:
        with _known_generators():
            wires.append(_Process(spec, world, plan).run())
    return wires


@contextmanager
def _known_generators() -> Iterator[None]:
    state = random.getstate()
    random.seed(MIDDLING)
    try:
        yield
    finally:
        random.setstate(state)


class _Board(Board):
    """A board for one device; it notes each request, and loses acknowledgements."""

    def __init__(self, spec: ExperimentSpec, note: Note, lost: Iterator[bool]):
        self.experiment = Experiment(spec)
        self.tallied = spec.scheme.tally(spec)
        self.posted: list[Posted] = []
        self.note, self.lost = note, lost

    async def fetch_experiment(self) -> Experiment:
        self.note("fetch_experiment")
        return self.experiment

    async def enrol(self, identity: Identity, invite: str | None = None) -> Outcome:
        self.note("enrol")
        return Outcome.ACCEPTED

    async def publish(self, envelope: Envelope) -> Outcome:
        message = envelope.message
        self.note(message)
        outcome = Outcome.DUPLICATE
        if message not in [posted.envelope.message for posted in self.posted]:
            if self.tallied.refusal(message) is not None:
                return Outcome.REFUSED
            self.posted.append(Posted(len(self.posted) + 1, envelope))
            self.tallied.add(message)
            outcome = Outcome.ACCEPTED
        if next(self.lost, False):
            raise BoardUnavailable("The answer is lost.")
        return outcome

    async def snapshot(self, after: int = 0) -> Snapshot:
        self.note("snapshot")
        return Snapshot(len(self.posted), tuple(self.posted[after:]))

    def stream(self, after: int = 0) -> AsyncIterator[Event]:
        raise BoardUnavailable("There is no room for streams.")

    async def tally(self) -> TallySnapshot:
        self.note("tally")
        public, scope = public_tally(self.tallied), self.experiment.scope
        return TallySnapshot(
            scope.board, scope.fingerprint, len(self.posted), public, PACE, streams=False
        )


def _form(message: Message) -> tuple[str, tuple[int, ...]]:
    """The kind of a message, and the numbers in it."""
    values = [getattr(message, item.name) for item in fields(message)]  # type: ignore[arg-type]
    return type(message).__name__.lower(), tuple(x for x in values if not isinstance(x, str))


@types.coroutine
def _pause(seconds: float, wake: asyncio.Event) -> Generator[tuple[float, asyncio.Event]]:
    yield seconds, wake


class _Device:
    """A device, its board, and its loop, which waits until ``resumes_at`` or for ``wakes``."""

    def __init__(self, spec: ExperimentSpec, board: _Board, clock: Clock, expiry: Expiry) -> None:
        self.spec, self.board, self.clock, self.expiry = spec, board, clock, expiry
        self.shown: Choice | None = None
        self.questions = 0
        self._start(Store.open(":memory:"))

    def _start(self, store: Store) -> None:
        wake = asyncio.Event()
        self.core = Core(
            store,
            starts=False,
            experiment=self.spec.name,
            expiry=self.expiry,
            clock=self.clock,
            on_message=wake.set,
        )
        url = f"http://127.0.0.1:9/experiments/{self.spec.name}"
        _finish(join(self.core, self.board, Terms(url=url, expiry=self.expiry)))
        self.loop: Any = run_forever(self.core, self.board, wake=wake, pace=PATIENCE, pause=_pause)
        self.go_on()

    def go_on(self) -> None:
        seconds, self.wakes = self.loop.send(None)
        self.resumes_at = self.clock.monotonic() + seconds

    @property
    def due(self) -> float:
        return self.clock.monotonic() if self.wakes.is_set() else self.resumes_at

    @property
    def is_done(self) -> bool:
        status = self.core.status()
        return status.reply_in is None and not status.waiting

    def restart(self) -> None:
        """The process dies; what is in the file is all that is left."""
        self.loop.close()
        with self.core.store.database.read() as db:
            content = db.serialize()
        self.core.close()
        store = Store.open(":memory:")
        with store.database.read() as db:
            db.deserialize(content)
        self._start(store)


def _finish(coroutine: Any) -> None:
    """Drive a coroutine whose board never waits."""
    with suppress(StopIteration):
        coroutine.send(None)
        raise AssertionError("a board that never waits was waited for")


class _Process:
    """An app with a device in each of its experiments, and the agenda of its user."""

    def __init__(self, spec: ExperimentSpec, world: World, plan: Plan) -> None:
        self.world, self.plan, self.now = world, plan, 0.0
        self.requests: list[float] = []
        self.forms: set[str] = set()
        self.copies: list[Copy] = []
        self.drawn: list[float] = []
        clock = Clock(lambda: EPOCH + self.now, lambda: self.now)
        is_question = spec.scheme.sending.reply_after is not None
        expiry = Expiry() if is_question else Expiry(EXPIRY * plan.window, "zero")
        lost = iter(plan.lost)
        specs = experiments_of(spec, world)
        self.devices = []
        for n, one in enumerate(specs):
            note = self._noting("" if len(specs) == 1 else f"{n} ")
            self.devices.append(_Device(one, _Board(one, note, lost), clock, expiry))

    def _noting(self, prefix: str) -> Note:
        def note(what: str | Message) -> None:
            self.requests.append(self.now)
            self.forms.add(what if isinstance(what, str) else type(what).__name__)
            if not isinstance(what, str):
                kind, numbers = _form(what)
                self.copies.append(Copy(self.now, prefix + kind, numbers))

        return note

    def run(self) -> Wire:
        # (when, number, which device, which play); no device: an open or a restart.
        agenda: list[tuple[float, int, int, str]] = [
            (at, n, -1, "open") for n, at in enumerate(self.plan.opens)
        ]
        if self.plan.restart is not None:
            agenda.append((self.plan.restart, -1, -1, "restart"))
        heapq.heapify(agenda)
        while agenda or not all(device.is_done for device in self.devices):
            if self.now > self.plan.end:
                break
            device = min(self.devices, key=lambda device: device.due)
            if not agenda or device.due <= agenda[0][0]:
                self.now = device.due
                device.go_on()
                continue
            self.now, number, which, what = heapq.heappop(agenda)
            if which >= 0:
                self._click(self.devices[which], what)
            elif what == "restart":
                for each in self.devices:
                    each.restart()
            else:
                for n, each in enumerate(self.devices):
                    if (at := self._open(each, n)) < float("inf"):
                        assert each.shown is not None
                        heapq.heappush(agenda, (at, number, n, each.shown.play))
        for device in self.devices:
            device.loop.close()
            device.core.close()
        return Wire(
            self.plan.opens,
            tuple(self.drawn),
            tuple(self.requests),
            tuple(sorted(self.forms)),
            tuple(self.copies),
        )

    def _open(self, device: _Device, number: int) -> float:
        """The user comes; when the play that is shown now is clicked, if it is a new one."""
        core = device.core
        before = core.status().reply_in
        segment = self.world.segment
        names = device.spec.scheme.sending.segments
        choice = core.choose(segment=None if segment is None else names[segment])
        if device.shown is not None and choice.play == device.shown.play:
            return float("inf")
        device.shown = choice
        reply_in = core.status().reply_in
        if before is None and reply_in is not None:
            device.questions += 1
            self.drawn.append(self.now + reply_in)
        question = device.questions
        return self.now + self.world.click(int(choice), self.plan.window, question, number)

    def _click(self, device: _Device, play: str) -> None:
        if device.shown is not None and device.shown.play == play:
            with suppress(RewardRefused):
                device.core.reward(1.0, device.shown)
