"""Surveys in which everything goes wrong: every bit that ever left for one question is the same.

A random list of operations on a few devices: they are asked, rewarded or left alone, killed in the
middle of a commit, lose their power, lose their network, and their clocks jump; the board crashes.
After each restart chance gives other noise, other rewards and other arms. Then all heals.
"""

import random
from collections import defaultdict
from contextlib import suppress

import pytest
from tests.boards.faults import Faults, FaultyBoard, MockClock
from tests.boards.local import here
from tests.device.crashing_store import Crash, CrashingDatabase, Disk
from tests.device.fault_run import drive
from tests.device.worlds import PretendServer, joined

from devote.boards.board import Outcome
from devote.boards.identity import Identity
from devote.device import steps
from devote.device.core import Core
from devote.device.errors import RewardRefused
from devote.device.steps import Clock
from devote.device.store import Store
from devote.device.sync import sync_once
from devote.protocol import ExperimentSpec, LocalProtocolError
from devote.schemes.survey import Survey

AFTER = 20.0
SPEC = ExperimentSpec(arms=3, name="faulty", scheme=Survey(1.0, answers=2, reply_after=AFTER))


class Link(FaultyBoard):
    """A bad network that writes down what left the device and what was acknowledged."""

    def __init__(self, board, faults, clock, seed, fleet):
        super().__init__(board, faults, clock, seed)
        self.fleet = fleet

    async def publish(self, envelope):
        message = envelope.message
        self.fleet.left[message.voter, message.number].add(message)
        outcome = await super().publish(envelope)
        if outcome is not Outcome.REFUSED:
            self.fleet.acknowledged.add(message)
        return outcome

    def stream(self, after=0):
        raise AssertionError("a device of a survey reads the log")

    async def snapshot(self, after=0):
        raise AssertionError("a device of a survey reads the log")


class Simulated:
    """One device, which may be off (``core`` is None)."""

    def __init__(self, fleet, seed):
        self.fleet = fleet
        self.rng = random.Random(seed)
        self.link = Link(fleet.board, fleet.faults, fleet.clock, seed, fleet)
        self.disk = Disk()
        self.offset = 0.0
        self.core = None
        self.database = CrashingDatabase(self.disk)
        joined(Store(self.database), here(SPEC), Identity.generate())
        del self.disk.states[:-1]
        self.start()

    def start(self):
        if self.core is None:
            self.database = CrashingDatabase(self.disk)
            clock = Clock(lambda: self.fleet.clock.now() + self.offset, self.fleet.clock.now)
            draw = self.rng.random
            store = Store(self.database)
            self.core = Core(store, clock=clock, dice=draw, noise=draw, jitter=draw)

    def kill(self, *, power=False):
        self.core = None
        if power:
            self.disk.lose_power(self.rng)

    def play(self):
        choice = self.core.choose()
        if self.rng.random() < 0.6:
            with suppress(RewardRefused, LocalProtocolError):
                self.core.reward(self.rng.choice((0.0, 1.0)), choice)

    def sync(self):
        self.core.close_question()
        return drive(sync_once(self.core, self.link))


class Fleet:
    """A few devices and their board."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.clock = MockClock(1e9)
        p = self.rng.choice((0.02, 0.1, 0.3))
        self.faults = Faults(lost_request=p, lost_reply=p, duplicated=p, delayed=p, stale=p)
        self.board = PretendServer(SPEC, players=None, enrolled=None)
        self.left = defaultdict(set)
        self.acknowledged = set()
        self.happened = defaultdict(int)
        self.devices = [Simulated(self, self.rng.getrandbits(32)) for _ in range(4)]

    def operate(self, count):
        weights = {"play": 30, "sync": 30, "kill": 4, "power": 4, "start": 12, "crash": 12,
                   "board": 3, "cut": 3, "jump": 2}  # fmt: skip
        for name in self.rng.choices(list(weights), list(weights.values()), k=count):
            device = self.rng.choice(self.devices)
            self.clock.advance(self.rng.random() * 8.0)
            try:
                self.do(name, device)
            except Crash:
                self.happened["crash"] += 1
                device.kill(power=self.rng.random() < 0.5)

    def do(self, name, device):
        match name:
            case "kill" | "power":
                device.kill(power=name == "power")
            case "start":
                device.start()
            case "board":
                self.board.restart() if not self.board.up else self.board.crash()
            case "cut":
                device.link.partitioned = not device.link.partitioned
            case "jump":
                device.offset += self.rng.choice((-1e6, -15.0, 15.0, 1e6))
            case _ if device.core is None:
                return
            case "crash":
                device.database.crash_at = self.rng.choice(("before", "after"))
                self.rng.choice((device.play, device.sync))()
            case _:
                getattr(device, name)()

    def heal(self):
        self.board.restart()
        for device in self.devices:
            device.start()
            device.database.crash_at = None
            device.link.partitioned = False
            device.link.faults = Faults()
        for _ in range(20):
            for device in self.devices:
                device.play()
                self.clock.advance(AFTER)
                assert device.sync()

    def check(self):
        held = [posted.envelope.message for posted in self.board.now().posted]
        assert all(len(said) == 1 for said in self.left.values()), "another bit has left"
        assert self.acknowledged <= set(held), "an answer was lost"
        numbers = [(message.voter, message.number) for message in held]
        voters = [device.core.identity.voter for device in self.devices]
        assert sorted(numbers) == sorted((v, n) for v in voters for n in (1, 2))
        for device in self.devices:
            status = device.core.status()
            assert set(status.sent) == {m for m in held if m.voter == status.voter}
            assert status.waiting == ()
            assert status.degraded == ()


def run(seed):
    fleet = Fleet(seed)
    fleet.operate(150)
    fleet.happened["left amid faults"] += len(fleet.left)
    fleet.heal()
    fleet.check()
    return fleet.happened


def test_every_bit_that_ever_left_for_one_question_is_the_same_bit_and_none_is_lost():
    happened = [run(seed) for seed in range(25)]
    assert sum(each["crash"] for each in happened) > 50
    assert sum(each["left amid faults"] for each in happened) > 50


def fails(seeds):
    for seed in seeds:
        try:
            run(seed)
        except AssertionError:
            return True
    return False


def test_the_run_sees_a_bit_that_is_sent_before_it_is_on_disk(monkeypatch):
    committed = Disk.committed

    def never_synced(self, connection, durable, entry):
        committed(self, connection, False if self.states else durable, entry)

    monkeypatch.setattr(Disk, "committed", never_synced)
    monkeypatch.setattr(Core, "recall", lambda self, held: setattr(self, "must_recall", False))
    assert fails(range(40))


def test_the_run_sees_noise_that_is_drawn_again_when_an_answer_is_offered_again(monkeypatch):
    waiting = Core.waiting.fget

    def drawn_again(self):
        return tuple(
            self.identity.sign(
                type(e.message)(**fields(e.message), bit=self.jitter() < 0.5), self.record.scope
            )
            for e in waiting(self)
        )

    def fields(message):
        names = ("experiment", "arm", "number", "seen", "voter")
        return {name: getattr(message, name) for name in names}

    settle = steps.settle

    def settle_known(record, envelope, outcome):
        return settle(record, envelope, outcome) if envelope.message in record.outbox else None

    monkeypatch.setattr(Core, "waiting", property(drawn_again))
    monkeypatch.setattr(steps, "settle", settle_known)
    assert fails(range(10))


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_crash_at_any_commit_of_a_whole_answer_changes_nothing(when):
    nth = 0
    while True:
        fleet = Fleet(1)
        fleet.faults = Faults()
        device = fleet.devices[0]
        device.link.faults = Faults()
        commits = CommitCounter(device, nth, when)
        for step in (device.play, device.sync, device.play, device.sync, device.sync):
            try:
                commits.watch()
                step()
            except Crash:
                device.kill(power=True)
                device.start()
            fleet.clock.advance(AFTER)
        is_last, commits.crashed = not commits.crashed, True
        fleet.heal()
        fleet.check()
        if is_last:
            break
        nth += 1
    assert nth > 6


class CommitCounter:
    """Has a device's process die at its nth commit, once."""

    def __init__(self, device, nth, when):
        self.device, self.left, self.when, self.crashed = device, nth, when, False
        self.watched = None

    def watch(self):
        database = self.device.database
        if self.watched is database:
            return
        self.watched = database

        def counted(write):
            def write_or_die(*values, **options):
                if self.left == 0 and not self.crashed:
                    self.crashed = True
                    database.crash_at = self.when
                self.left -= 1
                return write(*values, **options)

            return write_or_die

        database.write = counted(database.write)
        database.write_one = counted(database.write_one)
