"""One seeded run of a small fleet in which everything goes wrong, then heals.

A random list of operations over a mock clock: devices pull, read and post while they are killed
(also in the middle of a commit) or lose their power, the board crashes or is put back to a
backup, links lose, duplicate, delay, reorder and are cut, and wall clocks jump. Then all heals,
and the run must show:

- the board holds exactly the messages that players have produced, each once, but for those that
  its tally refuses, such as a claim that came after all seats of the jury were taken;
- each device is the player that its log of committed steps describes: no reward counted twice,
  none lost but by a power cut, none counted for another play than its own;
- all devices agree on one arm, or all say ``stalled``, with the same answer, which is the one
  that the votes give.

``python -m tests.device.fault_run 100000`` makes that many runs, ``... 5 --from 700`` a few.
"""

import argparse
import random
import time
from collections import Counter
from collections.abc import Coroutine
from typing import Any

from tests.boards.faults import Faults, FaultyBoard, MockClock
from tests.boards.local import here
from tests.device.crashing_store import Crash, CrashingStore, Disk, produced, replay
from tests.device.worlds import PretendServer, joined

from devote.boards.identity import Identity
from devote.device.core import Core
from devote.device.errors import RewardRefused
from devote.device.steps import Choice, Clock, Expiry
from devote.device.sync import sync_once
from devote.protocol import ExperimentSpec
from devote.schemes import Claim, Jury

ALGORITHMS = ("ser3", "ser4", "kl_racing", "lucb", "ugapec", "betting")
SETTLED_WITHIN = 300
"""Rounds of four pulls each within which a fleet that has healed must settle: most take six, and
in 120 runs none took more than 28.
"""


def drive(work: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine that never waits."""
    try:
        work.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("it waited for an event loop")


class SimulatedDevice:
    """A device, its disk, its link and its clock, which can all fail."""

    def __init__(self, fleet: "Fleet", seed: int) -> None:
        self.fleet = fleet
        self.rng = random.Random(seed)
        self.disk = Disk()
        self.offset = 0.0
        self.link = fleet.link(seed)
        self.core: Core | None = None
        self.left: Choice | None = None
        on_expire = self.rng.choice(("drop", "zero"))
        self.expired = ("abandon",) if on_expire == "drop" else ("reward", 0.0)
        self.expiry = Expiry(self.rng.choice((None, 5.0)), on_expire)
        identity = Identity.from_private_bytes(self.rng.randbytes(32))
        self.voter = identity.voter
        self.noise = 0.0
        self.means = fleet.means
        self.store = CrashingStore(self.disk)
        joined(self.store, here(fleet.spec, players=fleet.players), identity)
        del self.disk.states[:-1]
        self.store.is_new = False  # as one that was closed and is opened again
        self._start()

    def start(self) -> None:
        if self.core is None:
            self.store.close()
            self.store = CrashingStore(self.disk)
            self._start()

    def _start(self) -> None:
        clock = Clock(lambda: self.fleet.clock.now() + self.offset, self.fleet.clock.now)
        self.core = Core(self.store, expiry=self.expiry, clock=clock, noise=lambda: self.noise)

    def kill(self, *, power: bool = False) -> None:
        self.core = None
        if power:
            self.disk.lose_power(self.rng)

    def pull(self) -> None:
        u = self.rng.random()
        self.noise = self.rng.random()
        self.store.doing = ("choose", (u, self.noise), self.expired)
        assert self.core is not None
        choice = self.core.choose(u)
        self._offer_late(choice)
        if self.rng.random() < 0.1:
            assert self.core.choose() == choice or self.expiry.after is not None
            self.left = choice
            return
        x = float(self.rng.random() < self.means[choice])
        self.store.doing = ("reward", x, self.expired)
        self.core.reward(x, choice)

    def _offer_late(self, pending: Choice) -> None:
        """A reward for a play that was left alone must not count for the one there is now."""
        if self.left is not None and self.left.play != pending.play:
            assert self.core is not None
            try:
                self.core.reward(1.0, self.left)
            except RewardRefused as refused:
                self.fleet.done[type(refused).__name__] += 1
                self.left = None
            else:
                raise AssertionError("a reward was counted for another play than its own")

    def sync(self) -> bool:
        assert self.core is not None
        return bool(drive(sync_once(self.core, self.link)))


class Fleet:
    """A few devices and their board."""

    device = SimulatedDevice

    def __init__(self, seed: int) -> None:
        self.rng = rng = random.Random(seed)
        self.clock = MockClock(1e9)
        self.n_devices = rng.randint(4, 7)
        self.players: int | None = self.n_devices
        self.spec = self.draw_spec(seed)
        p = rng.choice((0.02, 0.1, 0.3))
        self.faults = Faults(
            lost_request=p, lost_reply=p, duplicated=p, delayed=p, stale=p, shuffled=p
        )
        self.restores = rng.random() < 0.25
        self.board = self._new_board()
        self.backup = self.board.now()
        self.devices = [self.device(self, rng.getrandbits(64)) for _ in range(self.n_devices)]
        self.done: Counter[str] = Counter()

    def draw_spec(self, seed: int) -> ExperimentSpec:
        """An experiment, some of them with a jury; what its users like goes to ``means``."""
        rng = self.rng
        n_arms = rng.randint(2, 4)
        self.means = [rng.choice((0.1, 0.5, 0.5, 0.9)) for _ in range(n_arms)]
        algorithm = rng.choice(ALGORITHMS)
        spec = ExperimentSpec(
            arms=n_arms,
            name="faulty",
            algorithm=algorithm,
            epsilon=1.0,
            eta=0.9,
            scheme={"quorum": rng.randint(2, self.n_devices)},
            options={"phi": 0.002} if algorithm == "ser4" else {},
        )
        in_jury = random.Random(f"{seed}/jury")
        if in_jury.random() >= 0.3 or algorithm == "ser4":
            return spec
        jury = Jury(
            seats=in_jury.randint(2, self.n_devices),
            seat_after=in_jury.choice((1, 5, 20)),
            privacy=in_jury.choice((None, 4.0)),
            vote_after=60,
        )
        delta = 0.6 if jury.privacy else 0.3
        return spec.with_(scheme=jury, algorithm=algorithm, eta=0.2, delta=delta)

    def link(self, seed: int) -> FaultyBoard:
        """The network between a device and the board."""
        return FaultyBoard(self.board, self.faults, self.clock, seed)

    def _new_board(self) -> PretendServer:
        return PretendServer(self.spec, self.players, enrolled=None)

    def operate(self, n_operations: int) -> None:
        operations = {
            "pull": 40, "sync": 25, "kill": 3, "power_cut": 2, "start": 6, "crash_in_step": 5,
            "board_crash": 1, "board_restart": 3, "cut": 2, "mend": 3, "jump": 1, "backup": 1,
            "restore": 1 if self.restores else 0,
        }  # fmt: skip
        for name in self.rng.choices(list(operations), list(operations.values()), k=n_operations):
            device = self.rng.choice(self.devices)
            self.clock.advance(self.rng.random() * 2.0)
            try:
                getattr(self, f"_{name}")(device)
            except Crash:
                self.done["crash within a commit"] += 1
                device.kill(power=self.rng.random() < 0.5)

    @property
    def n_votes(self) -> int:
        """How many messages the devices have produced."""
        return sum(len(produced(device.disk.log)) for device in self.devices)

    def _pull(self, device: SimulatedDevice) -> None:
        if device.core is not None:
            for _ in range(self.rng.randint(2, 9)):
                device.pull()

    def _sync(self, device: SimulatedDevice) -> None:
        if device.core is not None:
            self.done["synced" if device.sync() else "failed to sync"] += 1

    def _kill(self, device: SimulatedDevice) -> None:
        device.kill()

    def _power_cut(self, device: SimulatedDevice) -> None:
        device.kill(power=True)

    def _start(self, device: SimulatedDevice) -> None:
        device.start()

    def _crash_in_step(self, device: SimulatedDevice) -> None:
        device.store.crash_at(self.rng.choice(("before", "after")))
        self.rng.choice((self._pull, self._sync))(device)

    def _board_crash(self, device: SimulatedDevice) -> None:
        self.board.crash()

    def _board_restart(self, device: SimulatedDevice) -> None:
        self.board.restart()

    def _cut(self, device: SimulatedDevice) -> None:
        device.link.partitioned = True

    def _mend(self, device: SimulatedDevice) -> None:
        device.link.partitioned = False

    def _jump(self, device: SimulatedDevice) -> None:
        device.offset += self.rng.choice((-1e6, -30.0, 30.0, 1e6))

    def _backup(self, device: SimulatedDevice) -> None:
        self.backup = self.board.now()

    def _restore(self, device: SimulatedDevice) -> None:
        self.done["restored from a backup"] += 1
        self.board = self._new_board()
        for posted in self.backup.posted:
            drive(self.board.publish(posted.envelope))
        for each in self.devices:
            each.link.board = self.board

    def heal(self) -> None:
        """Mend everything, and let all play until the votes have settled.

        To that end each user knows what they like from now on: one of the best arms, where several
        are as good, so that devices may still differ and stall.
        """
        self.board.restart()
        best = [k for k, mean in enumerate(self.means) if mean == max(self.means)]
        for device in self.devices:
            favourite = device.rng.choice(best)
            device.means = [float(k == favourite) for k in range(len(self.means))]
            device.start()
            device.store.crash_at(None)
            device.disk.healed = True
            device.link.partitioned = False
            device.link.faults = Faults()
            self.clock.advance(20.0)
        for _ in range(SETTLED_WITHIN):
            for device in self.devices:
                device.sync()
            if not any(self._is_open(device) for device in self.devices):
                break
            for device in self.devices:
                for _ in range(4):
                    self.clock.advance(0.1)
                    device.pull()
        for device in 2 * self.devices:
            assert device.sync()

    def _is_open(self, device: SimulatedDevice) -> bool:
        assert device.core is not None
        status = device.core.status()
        return status.state == "open" or bool(status.waiting)

    def check(self) -> None:
        """What must hold once all has healed."""
        on_board = [posted.envelope.message for posted in self.board.now().posted]
        made = Counter(m for device in self.devices for m in produced(device.disk.log))
        assert set(made.values()) <= {1}, "a device has made the same twice"
        assert len(set(on_board)) == len(on_board), "a message is there twice"
        truth = self.spec.scheme.tally(self.spec)
        for message in on_board:
            truth.add(message)
        assert set(on_board) <= set(made), "a message was invented"
        for message in set(made) - set(on_board):
            assert truth.refusal(message) is not None, "a message was lost"
            self.done["refused"] += 1
        jury = isinstance(self.spec.scheme, Jury)
        if jury:
            claims = sum(isinstance(message, Claim) for message in on_board)
            assert claims <= self.spec.scheme.seats, "a seat was given twice"
        for device in self.devices:
            assert device.core is not None
            status = device.core.status()
            assert status.state == truth.status(self.n_devices) != "open"
            assert status.answer == truth.answer
            assert (device.core.best() is None) == (status.state == "stalled")
            assert not status.waiting
            assert not status.degraded
            twin = replay(device.disk.log, self.spec, device.voter)
            player = device.core.record.player
            assert player.to_dict() == twin.to_dict(), "it remembers otherwise"
            assert player.tally.view() == twin.tally.view(), "it counts otherwise"
            self.done[status.state] += 1
            self.done[f"{status.state} by a jury"] += jury


def fault_run(seed: int) -> Counter[str]:
    """Run, heal and check one fleet; returns how often what happened."""
    fleet = Fleet(seed)
    fleet.operate(120)
    fleet.done["votes amid faults"] += fleet.n_votes
    fleet.heal()
    fleet.check()
    fleet.done["votes"] += fleet.n_votes
    for device in fleet.devices:
        device.store.close()
    return fleet.done


def main() -> None:
    """Make many runs and say what happened in them."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--from", type=int, default=0, dest="first")
    arguments = parser.parse_args()
    happened: Counter[str] = Counter()
    began = time.perf_counter()
    for seed in range(arguments.first, arguments.first + arguments.count):
        try:
            happened += fault_run(seed)
        except BaseException:
            print(f"seed {seed}")
            raise
        if (seed + 1 - arguments.first) % 1000 == 0:
            print(f"{seed + 1 - arguments.first} runs done", flush=True)
    seconds = time.perf_counter() - began
    print(f"{arguments.count} runs in {seconds:.1f} s; {dict(sorted(happened.items()))}")


if __name__ == "__main__":
    main()
