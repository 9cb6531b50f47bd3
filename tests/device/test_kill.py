"""``kill -9`` of a real ``devote serve`` and of real device processes, at random moments."""

import asyncio
import random
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from tests.device.forks import Fork
from tests.tools import free_port

from devote.boards.board import Experiment
from devote.boards.sqlite import SqliteBoard
from devote.boards.store import SqliteStore
from devote.device.core import Core
from devote.device.store import Store
from devote.protocol import ExperimentSpec, Message, from_json
from devote.schemes import Ballot

N_DEVICES = 64
KILLS = 52
VOTES_BETWEEN = 5
VOTES_A_KILL = 15  # or so, with those that wait while the server is away
MEANS = (0.95, *[0.05] * 11)
SPEC = ExperimentSpec(arms=12, name="banner", algorithm="lucb", epsilon=1.0, scheme={"quorum": 60})


def await_health(port: int, is_running: Callable[[], bool]) -> None:
    """Until the server answers."""
    until = time.monotonic() + 60.0
    while is_running() and time.monotonic() < until:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
                return
        except OSError:
            time.sleep(0.02)
    raise AssertionError("the server did not start")


class World:
    """A server and its devices, each a process, started again as they are killed."""

    def __init__(
        self,
        folder: Path,
        spec: ExperimentSpec = SPEC,
        n: int = N_DEVICES,
    ) -> None:
        self.folder = folder
        self.spec = spec
        self.store = SqliteStore(folder / "server.db")  # another process's eyes on the same file
        self.store.create(Experiment(spec, "invite", n))
        self.invites = self.store.invite("banner", n)
        self.port = free_port()
        self.devices: list[Fork] = []
        self.start_server()
        self.devices += [self.start_device(i) for i in range(n)]

    def start_server(self) -> None:
        where = ("--store", self.folder / "server.db", "--port", self.port)
        self.server = Fork(self.log, self.log, "devote.cli.main", "serve", *where)
        await_health(self.port, lambda: self.server.poll() is None)

    def start_device(self, i: int) -> Fork:
        url = f"http://127.0.0.1:{self.port}/experiments/banner"
        means = MEANS[: self.spec.n_arms]
        what = ("tests.device.playing_process", url, self.path(i, "db"), self.invites[i], *means)
        return Fork(self.log, self.log, *what)

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

    def silent(self) -> list[int]:
        """The devices of which nothing has been acknowledged."""
        files = [self.path(i, "acknowledged") for i in range(len(self.devices))]
        return [i for i, f in enumerate(files) if not f.exists() or not f.stat().st_size]

    def await_votes(self, above: int) -> bool:
        """False if the experiment ended before there were so many."""
        while self.store.rows("banner")[0] < above:
            assert self.server.poll() is None
            if all(device.poll() == 0 for device in self.devices):
                return False
            time.sleep(0.005)
        return True

    @property
    def log(self) -> Path:
        return self.folder / "log.txt"

    def close(self) -> None:
        for process in (self.server, *self.devices):
            process.kill()
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
    """A whole experiment under fire, checked at its end; kills of the server and of devices.

    It has as many arms, and so votes, as the kills that are left may take.
    """
    n_arms = min(SPEC.n_arms, 2 + most_kills * VOTES_A_KILL // N_DEVICES)
    spec = SPEC.with_(arms=n_arms)
    world = World(folder, spec)
    server_kills = device_kills = 0
    try:
        while server_kills < most_kills:
            victim = rng.randrange(N_DEVICES)
            for i in {victim, *world.silent()[:1]}:
                world.devices[i].hurry()
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
        for i in world.silent():
            world.devices[i].hurry()
        for device in world.devices:
            assert device.wait(timeout=300) == 0, world.log.read_text()[-2000:]
        on_board = world.on_board()
        acknowledged = world.acknowledged()
    finally:
        world.close()
    assert set(acknowledged) == set(on_board)
    made: Counter[Message] = Counter()
    for i in range(N_DEVICES):
        core = Core(Store.open(world.path(i, "db")))
        status = core.status()
        made.update(status.sent)
        assert not status.waiting
        assert core.best() == 0
        pulls = sum(core.record.player.learner.state.pulls)
        core.close()
        assert pulls == world.path(i, "journal").read_text().splitlines().count("counted")
    assert Counter(on_board) == made
    assert set(made.values()) == {1}
    ballot = Ballot(spec)
    for message in made:
        ballot.add(message)
    assert ballot.answer == (0,)
    return server_kills, device_kills
