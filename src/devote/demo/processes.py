"""The processes of a demonstration: a server and workers full of devices, each its own process.

They are real ones, to be killed at will; only what was started here is ever ended, by its id.
"""

import json
import os
import secrets
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.error import URLError

from devote.demo.crowd import Task
from devote.errors import DevoteError

STARTING = 30.0


class DemonstrationError(DevoteError):
    """A process of the demonstration failed, or took too long."""


def free_port() -> int:
    """A port of this machine that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class ServerProcess:
    """A ``devote serve`` on a free port of this machine, with its store in a folder."""

    folder: Path
    port: int = field(default_factory=free_port)
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    starts: int = 0

    @property
    def address(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start, and wait until it answers."""
        token_file = self.folder / "operator.token"
        if not token_file.exists():
            token_file.touch(mode=0o600)
            token_file.write_text(self.token)
        arguments = ["serve", "--store", str(self.folder / "server.db")]
        arguments += ["--port", str(self.port), "--token-file", str(token_file)]
        with (self.folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "devote.cli.main", *arguments],
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
            )
        self.starts += 1
        self._await_health()

    def kill(self) -> None:
        """End it as a power cut would."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """End it well."""
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self.kill()

    def _await_health(self) -> None:
        deadline = time.monotonic() + STARTING
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                break
            try:
                with urllib.request.urlopen(f"{self.address}/health", timeout=1):
                    return
            except (URLError, OSError):
                time.sleep(0.05)
        log = (self.folder / "server.log").read_text(errors="replace").strip()
        raise DemonstrationError(f"The server did not start.\n{log[-500:]}")


class CrowdProcess:
    """A process that runs some devices of a crowd; started again, it goes on from their stores."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.starts = 0
        self._pulls: list[int] = []
        self._file = task.folder / f"crowd-{task.first:04d}.json"
        fields = asdict(task) | {"folder": str(task.folder)}
        self._file.touch(mode=0o600)
        self._file.write_text(json.dumps(fields))

    @property
    def pulls(self) -> int:
        """Pulls of all starts so far, as far as they have been reported."""
        return sum(self._pulls)

    @property
    def running(self) -> bool:
        """Whether its devices are still at it."""
        return self._process.poll() is None

    @property
    def failed(self) -> bool:
        """Whether it ended by itself, but not well."""
        return self._process.poll() not in (None, 0)

    def start(self) -> None:
        """Start the devices."""
        self.starts += 1
        self._pulls.append(0)
        with (self.task.folder / "crowd.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "devote.demo.crowd", str(self._file)],
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )
        threading.Thread(target=self._count, args=(self._process,), daemon=True).start()

    def kill(self) -> None:
        """End all its devices as a power cut would."""
        self._process.kill()
        self._process.wait()

    def _count(self, process: "subprocess.Popen[bytes]") -> None:
        at = len(self._pulls) - 1
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                self._pulls[at] = int(line)
