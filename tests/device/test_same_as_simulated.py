"""One seed and one problem: the same winner, messages and samples, simulated and for real.

The wake order is fixed and each device reads the board before each pull, as the simulator's
players do; then nothing else may differ, whether the devices are objects or processes.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import pytest
from tests.boards.local import here
from tests.boards.memory import MemoryBoard
from tests.device.fault_run import drive
from tests.device.worlds import joined

from devote.boards.identity import Identity
from devote.device.core import Core
from devote.device.store import Store
from devote.device.sync import sync_once
from devote.problems import Problem, pay, pick
from devote.protocol import ExperimentSpec, Message
from devote.schemes import Jury
from devote.simulator import Scenario, run_players, run_trial
from devote.simulator.streams import triples

N = 32
SEED = 11
PROBLEM = Problem("easy", [0.9, 0.2, 0.1])
VOTING = ExperimentSpec(arms=3, name="banner", epsilon=1.0)
JURY = VOTING.with_(scheme=Jury(seats=9, seat_after=3), eta=0.2, delta=0.1)


class Ending(NamedTuple):
    """What must be the same."""

    winners: tuple[int, ...]
    samples: int
    messages: list[tuple[int, int, int]]  # when (in pulls of all), by which player, which arm


class Stepped(Protocol):
    """A device, one step at a time."""

    voter: str

    def choose(self, u: float) -> int: ...

    def reward(self, x: float) -> tuple[int, ...]: ...


class InMemory:
    def __init__(self, spec: ExperimentSpec, board: MemoryBoard, n: int) -> None:
        identity = Identity.from_private_bytes((n + 1).to_bytes(32, "big"))
        self.voter = identity.voter
        store = joined(Store.open(":memory:"), here(spec, players=N), identity)
        self.core = Core(store)
        self._board = board

    def choose(self, u: float) -> int:
        assert drive(sync_once(self.core, self._board))
        return self.core.choose(u)

    def reward(self, x: float) -> tuple[int, ...]:
        self.core.reward(x)
        assert drive(sync_once(self.core, self._board))
        return self.core.status().remaining


def play(spec: ExperimentSpec, devices: Sequence[Stepped], read) -> Ending:
    """Wake the devices as the simulator does, until it would stop; ``read`` reads the board."""
    tally = spec.scheme.tally(spec)
    numbers = {device.voter: n for n, device in enumerate(devices)}
    waking, environment = PROBLEM.waking(N), PROBLEM.environment(N)
    remaining = [tuple(range(spec.n_arms))] * N
    sent: list[tuple[int, int, int]] = []
    seen = 0
    for t, (u_wake, u_choose, u_pay) in enumerate(triples(SEED, 0)):
        n = pick(*waking, u_wake)
        arm = devices[n].choose(u_choose)
        remaining[n] = devices[n].reward(pay(environment, t, n, arm, u_pay))
        fresh: Sequence[Message] = read(seen)
        seen += len(fresh)
        for message in fresh:
            tally.add(message)
            sent.append((t, numbers[message.voter], getattr(message, "arm", -1)))
        state = tally.status(N)
        if state == "stalled" or (
            state == "agreed" and all(arms == tally.shared for arms in remaining)
        ):
            return Ending(tally.answer, t + 1, sent)
    raise AssertionError


def simulated(spec: ExperimentSpec) -> Ending:
    """By the engine and by players, which agree."""
    endings = [
        Ending(
            trial.winners,
            trial.samples_until_all_know,
            [(e.time, e.player, e.arm) for e in trial.trace or () if e.kind != "elimination"],
        )
        for trial in (
            run_players(spec, PROBLEM, N, seed=SEED, trace=True),
            run_trial(Scenario(spec, PROBLEM, N), seed=SEED, trial=0, trace=True),
        )
    ]
    assert endings[0] == endings[1]
    assert endings[0].winners == (0,)
    return endings[0]


@pytest.mark.parametrize("spec", [VOTING, JURY], ids=["decentralized", "jury"])
def test_32_devices_on_a_board_in_memory_do_what_the_simulator_does(spec):
    board = MemoryBoard(spec)
    devices = [InMemory(spec, board, n) for n in range(N)]

    def read(seen: int) -> list[Message]:
        return [posted.envelope.message for posted in board.now().posted[seen:]]

    assert play(spec, devices, read) == simulated(spec)
    for device in devices:
        assert drive(sync_once(device.core, board))
        assert device.core.best() == 0
        device.core.close()
