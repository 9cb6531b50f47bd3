"""``kill -9`` of a real ``devote serve`` and of real device processes, at random moments."""

import asyncio
import random
import time
from collections import Counter
from itertools import count
from pathlib import Path

import pytest
from tests.fleet.forks import Fork, Nursery
from tests.fleet.server_process import await_health, free_port

from devote.boards.experiment import Experiment
from devote.boards.sqlite import SqliteBoard
from devote.boards.store import SqliteStore
from devote.fleet.core import DeviceCore
from devote.fleet.store import Store
from devote.protocol import ExperimentSpec, Message, from_json
from devote.schemes import Ballot

N_DEVICES = 64
KILLS = 52
VOTES_BETWEEN = 5
MEANS = (0.95, *[0.05] * 11)
SPEC = ExperimentSpec(arms=12, name="banner", algorithm="lucb", epsilon=1.0, scheme={"quorum": 60})


class World:
    """A server and its devices, each a process, started again as they are killed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = SqliteStore(folder / "server.db")  # another process's eyes on the same file
        self.store.create(Experiment(SPEC, "invite", N_DEVICES))
        self.invites = self.store.invite("banner", N_DEVICES)
        self.port = free_port()
        self.nursery = Nursery(folder / "log.txt")
        self.start_server()
        self.devices = [self.start_device(i) for i in range(N_DEVICES)]

    def start_server(self) -> None:
        where = ("--store", self.folder / "server.db", "--port", self.port)
        self.server = self.nursery.start("devote", "serve", *where)
        await_health(self.port, lambda: self.server.poll() is None)

    def start_device(self, i: int) -> Fork:
        url = f"http://127.0.0.1:{self.port}/experiments/banner"
        return self.nursery.start("play", url, self.path(i, "db"), self.invites[i], *MEANS)

    def path(self, i: int, suffix: str) -> Path:
        return self.folder / f"{i}.{suffix}"

    def kill_server(self) -> None:
        self.server.kill()
        assert self.server.poll() == -9

    def kill_device(self, i: int) -> bool:
        """False if it had ended by itself."""
        self.devices[i].kill()
        if self.devices[i].poll() == 0:
            return False
        assert self.devices[i].poll() == -9
        self.devices[i] = self.start_device(i)
        return True

    def on_board(self) -> list[Message]:
        snapshot = asyncio.run(SqliteBoard(self.store, "banner").snapshot())
        return [posted.envelope.message for posted in snapshot.posted]

    def acknowledged(self) -> list[Message]:
        files = self.folder.glob("*.acknowledged")
        return [from_json(line, 12) for file in files for line in file.read_text().splitlines()]

    def await_votes(self, above: int) -> bool:
        """False if the experiment ended before there were so many."""
        while self.store.numbers().get("banner", 0) < above:
            assert self.server.poll() is None
            if all(device.poll() == 0 for device in self.devices):
                return False
            time.sleep(0.005)
        return True

    def close(self) -> None:
        self.nursery.close()
        self.store.close()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_kill_9_of_server_and_devices_loses_no_acknowledged_vote_and_counts_no_reward_twice(
    tmp_path,
):
    rng = random.Random(4)
    server_kills = device_kills = 0
    for name in map(str, count()):
        # An experiment may be over before all kills are spent: then another takes the rest.
        (tmp_path / name).mkdir()
        killed = one_experiment(tmp_path / name, rng, KILLS - server_kills)
        server_kills += killed[0]
        device_kills += killed[1]
        if server_kills == KILLS:
            break
    assert device_kills >= 40


def one_experiment(folder: Path, rng: random.Random, most_kills: int) -> tuple[int, int]:
    """A whole experiment under fire, checked at its end; kills of the server and of devices."""
    world = World(folder)
    server_kills = device_kills = 0
    try:
        while server_kills < most_kills:
            victim = rng.randrange(N_DEVICES)
            world.devices[victim].hurry()
            if not world.await_votes(len(world.on_board()) + VOTES_BETWEEN):
                break
            time.sleep(rng.random() * 0.03)
            # What was acknowledged before the kill must be there after it.
            acknowledged = world.acknowledged()
            world.kill_server()
            server_kills += 1
            assert set(acknowledged) <= set(world.on_board())
            device_kills += world.kill_device(victim)
            world.start_server()
        for device in world.devices:
            assert device.wait(timeout=300) == 0, (folder / "log.txt").read_text()[-2000:]
        on_board = world.on_board()
        acknowledged = world.acknowledged()
    finally:
        world.close()
    assert set(acknowledged) == set(on_board)
    made: Counter[Message] = Counter()
    for i in range(N_DEVICES):
        core = DeviceCore(Store.open(world.path(i, "db")))
        status = core.status()
        made.update(status.sent)
        assert not status.waiting
        assert core.best() == 0
        pulls = sum(core._player.learner.state.pulls)
        core.close()
        assert pulls == world.path(i, "journal").read_text().splitlines().count("counted")
    assert Counter(on_board) == made
    assert set(made.values()) == {1}
    ballot = Ballot(SPEC)
    for message in made:
        ballot.add(message)
    assert ballot.answer == (0,)
    return server_kills, device_kills
