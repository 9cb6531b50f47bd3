"""Surveys in which everything goes wrong: every bit that ever left for one question is the same.

The devices, the disks, the network and the operations are those of ``fault_run``. After each
restart chance gives other noise, other rewards and other arms. Then all heals.
"""

from collections import defaultdict
from contextlib import suppress

import pytest
from tests.boards.faults import Faults, FaultyBoard
from tests.device.crashing_store import Crash, Disk
from tests.device.fault_run import Fleet, SimulatedDevice, drive

from devote.boards.board import Outcome
from devote.device import steps
from devote.device.core import Core
from devote.device.errors import RewardRefused
from devote.device.steps import Clock
from devote.device.sync import sync_once
from devote.protocol import ExperimentSpec, LocalProtocolError
from devote.schemes.survey import Survey

AFTER = 5.0
SPEC = ExperimentSpec(arms=3, name="faulty", scheme=Survey(1.0, answers=2, reply_after=AFTER))


class Link(FaultyBoard):
    """A bad network that writes down what left the device and what was acknowledged."""

    fleet: "SurveyFleet"

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


class AnsweringDevice(SimulatedDevice):
    """A device that is asked, and rewarded or left alone."""

    def _start(self):
        self.store.doing = ("choose", (0.0, 0.0), self.expired)
        clock = Clock(lambda: self.fleet.clock.now() + self.offset, self.fleet.clock.now)
        draw = self.rng.random
        self.core = Core(self.store, clock=clock, dice=draw, noise=draw, jitter=draw)

    def pull(self):
        choice = self.core.choose()
        if self.rng.random() < 0.6:
            with suppress(RewardRefused, LocalProtocolError):
                self.core.reward(self.rng.choice((0.0, 1.0)), choice)

    def sync(self):
        self.core.close_question()
        return drive(sync_once(self.core, self.link))


class SurveyFleet(Fleet):
    """A few devices of a survey and their board."""

    device = AnsweringDevice

    def __init__(self, seed):
        self.left = defaultdict(set)
        self.acknowledged = set()
        super().__init__(seed)
        self.restores = False

    def draw_spec(self, seed):
        self.players, self.means = None, []
        return SPEC

    def link(self, seed):
        link = Link(self.board, self.faults, self.clock, seed)
        link.fleet = self
        return link

    def heal(self):
        self.board.restart()
        for device in self.devices:
            device.start()
            device.store.crash_at(None)
            device.link.partitioned = False
            device.link.faults = Faults()
        for _ in range(20):
            for device in self.devices:
                device.pull()
                self.clock.advance(AFTER)
                assert device.sync()

    def check(self):
        held = [posted.envelope.message for posted in self.board.now().posted]
        assert all(len(sent) == 1 for sent in self.left.values()), "another bit has left"
        assert self.acknowledged <= set(held), "an answer was lost"
        numbers = [(message.voter, message.number) for message in held]
        voters = [device.voter for device in self.devices]
        assert sorted(numbers) == sorted((v, n) for v in voters for n in (1, 2))
        for device in self.devices:
            status = device.core.status()
            assert set(status.sent) == {m for m in held if m.voter == status.voter}
            assert status.waiting == ()
            assert status.degraded == ()


def run(seed):
    fleet = SurveyFleet(seed)
    fleet.operate(150)
    fleet.done["left amid faults"] += len(fleet.left)
    fleet.heal()
    fleet.check()
    return fleet.done


def test_every_bit_that_ever_left_for_one_question_is_the_same_bit_and_none_is_lost():
    happened = [run(seed) for seed in range(25)]
    assert sum(each["crash within a commit"] for each in happened) > 50
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

    def never_synced(self, content, durable, entry):
        committed(self, content, False if self.states else durable, entry)

    monkeypatch.setattr(Disk, "committed", never_synced)
    monkeypatch.setattr(Core, "recall", lambda self, held: setattr(self, "must_recall", False))
    assert fails(range(40))


def test_the_run_sees_noise_that_is_drawn_again_when_an_answer_is_offered_again(monkeypatch):
    waiting = Core.waiting.fget

    def drawn_again(self):
        return tuple(
            self.record.identity.sign(
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
        fleet = SurveyFleet(1)
        device = fleet.devices[0]
        device.link.faults = Faults()
        left = [nth]
        for step in (device.pull, device.sync, device.pull, device.sync, device.sync):
            _count_commits(device, left, when)
            try:
                step()
            except Crash:
                device.kill(power=True)
                device.start()
            fleet.clock.advance(4 * AFTER)
        is_last, left[0] = left[0] >= 0, -1
        fleet.heal()
        fleet.check()
        if is_last:
            break
        nth += 1
    assert nth > 6


def _count_commits(device, left, when):
    """Have the device's process die at the commit before which ``left`` has come to 0."""
    database = device.store.database
    if "write" in vars(database):
        return

    def counted(write):
        def write_or_die(*values, **options):
            if left[0] == 0:
                database.crash_at = when
            left[0] -= 1
            return write(*values, **options)

        return write_or_die

    database.write = counted(database.write)
    database.write_one = counted(database.write_one)
