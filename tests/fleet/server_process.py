"""A real server in a process of its own, to be killed and started again."""

import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx

from devote.boards.experiment import Experiment
from devote.boards.store import SqliteStore

CODE = (
    "import sys; from devote.boards.server.serve import run_server\n"
    "run_server(sys.argv[1], port=int(sys.argv[2]))"
)


class ServerProcess:
    """One server on a free port of 127.0.0.1 over one SQLite file."""

    def __init__(self, path: Path, *experiments: Experiment) -> None:
        self.path = path
        store = SqliteStore(path)
        for experiment in experiments:
            store.create(experiment)
        store.close()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.process: subprocess.Popen[bytes] | None = None

    def url(self, name: str = "banner") -> str:
        return f"http://127.0.0.1:{self.port}/experiments/{name}"

    def start(self) -> None:
        self.process = subprocess.Popen([sys.executable, "-c", CODE, self.path, str(self.port)])
        until = time.monotonic() + 30.0
        while time.monotonic() < until:
            try:
                if httpx.get(f"http://127.0.0.1:{self.port}/health").status_code == 200:
                    return
            except httpx.HTTPError:
                time.sleep(0.05)
        raise AssertionError("the server did not start")

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
