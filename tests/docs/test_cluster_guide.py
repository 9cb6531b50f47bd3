"""The guide to a cluster works: its blocks run in order, three nodes and two servers for real."""

import os
import re
import signal
import subprocess
import time
from urllib.request import urlopen

import pytest
from tests.boards.nodes import free_port
from tests.docs.markdown import ROOT
from tests.docs.walk import blocks_of, environment, run
from tests.server.live import SPEC, open_store

from devote.boards.board import Experiment
from devote.boards.jetstream.connection import LEAST

PORTS = ("4222", "4223", "4224", "6222", "6223", "6224", "8600", "8601")


@pytest.fixture
def background():
    """Blocks that go on running; each is ended, with all that it started, by its own id."""
    running: list[subprocess.Popen[bytes]] = []
    yield running
    for process in running:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.mark.slow
def test_every_block_of_the_guide_runs(tmp_path, background):
    with open_store(tmp_path / "devote-server.db") as store:
        store.create(Experiment(SPEC.with_(name="older")))
    ports = {port: str(free_port()) for port in PORTS}
    env, output = environment("cluster.md", tmp_path), ""
    for mark, language, text in blocks_of("cluster.md"):
        here = re.sub("|".join(PORTS), lambda found: ports[found[0]], text)
        if mark.startswith("file: "):
            (tmp_path / mark.removeprefix("file: ")).write_text(here, encoding="utf-8")
        elif mark == "background":
            shell = ["bash", "-euc", here + "wait"]
            background.append(
                subprocess.Popen(shell, start_new_session=True, cwd=tmp_path, env=env)
            )
            if "devote serve" in here:
                _wait(ports["8600"])
                _wait(ports["8601"])
            else:
                time.sleep(1.0)
        elif language in ("sh", "python"):
            output += run(language, here, tmp_path, env)
    assert f"http://127.0.0.1:{ports['8600']}/experiments/banner" in output
    assert "older: 0 messages, 0 devices, 0 unused invites: moved, read back, the same" in output


def _wait(port: str) -> None:
    until = time.monotonic() + 120
    while time.monotonic() < until:
        try:
            with urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("a server of the guide does not answer")


def test_the_guide_names_the_oldest_version_that_will_do():
    words = (ROOT / "docs/cluster.md").read_text(encoding="utf-8").split()
    assert f"nats-server {LEAST[0]}.{LEAST[1]} or later" in " ".join(words)
