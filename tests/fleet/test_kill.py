"""``kill -9`` of real device processes, and of the server, at random moments."""

import asyncio
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from tests.fleet.server_process import ServerProcess

from devote.boards.experiment import Experiment
from devote.boards.sqlite import SqliteBoard
from devote.boards.store import SqliteStore
from devote.fleet.core import DeviceCore
from devote.fleet.store import Store
from devote.protocol import Ballot, ExperimentSpec

N_DEVICES = 4
KILLS = 24
MEANS = (0.9, 0.5, 0.4)
SPEC = ExperimentSpec(arms=3, name="banner", algorithm="lucb", epsilon=0.05, quorum=3)
PLAYING = Path(__file__).with_name("playing_process.py")


class Players:
    """The device processes, started again as they are killed."""

    def __init__(self, server: ServerProcess, folder: Path) -> None:
        invites = server.invites(N_DEVICES)
        self.commands = [
            [sys.executable, PLAYING, server.url(), f"{folder}/{i}.db", f"{folder}/{i}.txt", invite]
            for i, invite in enumerate(invites)
        ]
        for command in self.commands:
            command.extend(map(str, MEANS))
        self.processes = [subprocess.Popen(command) for command in self.commands]
        self.journals = [folder / f"{i}.txt" for i in range(N_DEVICES)]
        self.sizes = [0] * N_DEVICES

    def _size(self, i: int) -> int:
        return self.journals[i].stat().st_size if self.journals[i].exists() else 0

    def await_playing(self, i: int) -> None:
        """Until it has played since it was started, or ended."""
        while self._size(i) <= self.sizes[i] and self.processes[i].poll() is None:
            time.sleep(0.01)

    def kill(self, i: int) -> bool:
        """Kill one and start it again; False if it had ended by itself."""
        process = self.processes[i]
        if process.poll() is not None:
            assert process.returncode == 0
            return False
        process.kill()
        process.wait()
        self.sizes[i] = self._size(i)
        self.processes[i] = subprocess.Popen(self.commands[i])
        return True

    def end(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.mark.slow
def test_kill_9_of_devices_and_server_loses_no_vote_and_counts_no_reward_twice(tmp_path):
    rng = random.Random(4)
    server = ServerProcess(tmp_path / "server.db", Experiment(SPEC, "invite", N_DEVICES))
    server.start()
    players = Players(server, tmp_path)
    try:
        kills = 0
        for i in range(N_DEVICES):
            players.await_playing(i)
        for turn in range(KILLS):
            players.await_playing(turn % N_DEVICES)
            time.sleep(rng.random() * 0.3)
            kills += players.kill(turn % N_DEVICES)
            if turn in (KILLS // 3, 2 * KILLS // 3):
                server.kill()
                server.start()
        for process in players.processes:
            assert process.wait(timeout=120) == 0
    finally:
        players.end()
        server.kill()
    assert kills >= KILLS // 2

    store = SqliteStore(tmp_path / "server.db")
    snapshot = asyncio.run(SqliteBoard(store, "banner").snapshot())
    store.close()
    on_board = Counter(posted.envelope.message for posted in snapshot.posted)
    made: Counter[object] = Counter()
    for i in range(N_DEVICES):
        core = DeviceCore(Store.open(tmp_path / f"{i}.db"))
        status = core.status()
        assert not status.waiting
        made.update(status.sent)
        pulls = sum(core._player._learner.state.pulls)
        core.close()
        counted = (tmp_path / f"{i}.txt").read_text().splitlines().count("counted")
        assert pulls == counted
    assert on_board == made
    assert set(made.values()) == {1}
    assert Ballot.of(made, n_arms=3, quorum=3).answer == (0,)
