"""A real server in a process of its own, to be killed and started again."""

import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

from devote.boards.board import Experiment
from devote.boards.store import SqliteStore

CODE = (
    "import sys; from devote.server.serve import run_server\n"
    "run_server(sys.argv[1], port=int(sys.argv[2]))"
)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


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


class ServerProcess:
    """One server on a free port of 127.0.0.1 over one SQLite file."""

    def __init__(self, path: Path, *experiments: Experiment) -> None:
        self.path = path
        store = SqliteStore(path)
        for experiment in experiments:
            store.create(experiment)
        store.close()
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None

    def url(self, name: str = "banner") -> str:
        return f"http://127.0.0.1:{self.port}/experiments/{name}"

    def start(self) -> None:
        process = subprocess.Popen([sys.executable, "-c", CODE, self.path, str(self.port)])
        self.process = process
        await_health(self.port, lambda: process.poll() is None)

    def kill(self) -> None:
        """As ``kill -9`` does."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def invites(self, count: int, name: str = "banner") -> list[str]:
        store = SqliteStore(self.path)
        try:
            return store.invite(name, count)
        finally:
            store.close()
