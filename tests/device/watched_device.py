"""The device that ships, put to the audit of privacy: its core, its rounds, a board that forgets
to answer. A clock by hand; the store in memory survives a restart of the process.
"""

import random
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

from tests.boards.local import here
from tests.boards.memory import MemoryBoard
from tests.device.reopened import ReopenedDatabase, content_of
from tests.device.worlds import HandClock, joined

from devote.audit.watched import LOSS
from devote.boards.board import BoardUnavailable
from devote.boards.identity import Identity
from devote.device import steps
from devote.device.core import Core
from devote.device.errors import RewardRefused
from devote.device.steps import Expiry
from devote.device.store import Store
from devote.device.sync import Pace, sync_once

PACE = Pace(base=0.5, cap=60.0)

ME = Identity.from_private_bytes(b"w" * 32)


@dataclass(frozen=True)
class Call:
    """A round in which nothing was posted: its moment is seen all the same."""

    experiment: str
    voter: str


class ListeningBoard(MemoryBoard):
    """Notes each copy that reaches it, and loses most acknowledgements."""

    def __init__(self, spec, dice):
        super().__init__(spec, check=lambda envelope, scope: True)
        self.dice = dice
        self.copies = []

    async def publish(self, envelope):
        self.copies.append(envelope.message)
        outcome = await super().publish(envelope)
        if self.dice.random() < LOSS:
            raise BoardUnavailable("The answer is lost.")
        return outcome


@cache
def _set_up(spec) -> bytes:
    """The file of the device before it has played: all trials begin with it."""
    store = Store.open(":memory:")
    joined(store, here(spec, players=300), ME)
    content = content_of(store.database)
    store.close()
    return content


class RealDevice:
    """A ``WatchedDevice`` around ``Core`` and ``sync_once``, as ``run_forever`` has them."""

    expiry = Expiry()

    def __init__(self, spec, dice: random.Random) -> None:
        self.spec, self.dice = spec, dice
        self.time = HandClock()
        self.board = ListeningBoard(spec, dice)
        self.store = Store(ReopenedDatabase(_set_up(spec)))
        self.store.is_new = True
        self.core = self._core()
        self.shown = None
        self.round_at = 0.0
        self.failures = 0

    def _core(self):
        return Core(
            self.store,
            expiry=self.expiry,
            clock=self.time.clock,
            dice=self.dice.random,
            noise=self.dice.random,
            jitter=self.dice.random,
            check=lambda envelope, scope: True,
            on_message=self._ask_for_a_round,
        )

    def _ask_for_a_round(self):
        self.round_at = self.time.monotonic

    def _at(self, now):
        self.time.pass_(now - self.time.monotonic)

    def open(self, now):
        self._at(now)
        choice = self.core.choose()
        if self.shown is not None and choice.play == self.shown.play:
            return None
        self.shown = choice
        return int(choice)

    def click(self, now):
        self._at(now)
        with suppress(RewardRefused):
            self.core.reward(1.0, self.shown)

    def due(self):
        wait = steps.next_in(self.core.record, self.core.now())
        moments = [self.round_at, None if wait is None else self.time.monotonic + wait]
        return min((moment for moment in moments if moment is not None), default=None)

    def leave(self, now):
        self._at(now)
        self.core.close_question()
        asked = self.round_at is not None and self.round_at <= now
        if not asked and not self.core.waiting:
            return []
        self.round_at = None
        self.board.copies = []
        done = run(sync_once(self.core, self.board, verify_history=False))
        self.failures = 0 if done else self.failures + 1
        if not done:
            wait = PACE.wait(self.core.health, self.failures + 1, self.dice.random())
            self.round_at = now + wait
        return self.board.copies or [Call(self.spec.name, ME.voter)]

    def settle(self, now, message):
        """The device has seen the outcome itself."""

    def restart(self, now):
        self._at(now)
        self.core = self._core()


def run(coroutine):
    """Drive a coroutine whose board never waits."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("it waited")
