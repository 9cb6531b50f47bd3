"""The processes of a demonstration: a server and workers full of devices, each its own process.

They are real ones, to be killed at will; only what was started here is ever ended, by its id.
"""

import json
import secrets
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from devote.errors import DevoteError

STARTING = 30.0


class DemonstrationError(DevoteError):
    """A process of the demonstration failed, or took too long."""


@dataclass(frozen=True)
class Task:
    """Which experiment to join, what users like, and which devices to run, each with its invite.

    Where devices are only asked now and then, ``answers`` says how often, and ``reply_after`` how
    many seconds after its choice each of them answers. ``segments`` has what the users of each
    segment like, in place of ``means``; a user is of any of them alike.
    """

    url: str
    folder: Path
    means: tuple[float, ...]
    invites: Mapping[int, str | None]
    seed: int
    answers: int = 0
    reply_after: float = 0.0
    segments: Mapping[str, Sequence[float]] = field(default_factory=dict)

    def to_json(self) -> str:
        """As JSON text, for another process."""
        return json.dumps({**asdict(self), "folder": str(self.folder)})

    @classmethod
    def from_json(cls, text: str | bytes) -> "Task":
        """Read what ``to_json`` gave."""
        values = json.loads(text)
        values["folder"] = Path(values["folder"])
        values["means"] = tuple(values["means"])
        values["invites"] = {int(number): text for number, text in values["invites"].items()}
        return cls(**values)


class Program:
    """A Python program that can be killed and started again.

    What it prints goes to a file for each start, its errors to one log.
    """

    def __init__(self, name: Path, log: Path, *arguments: str) -> None:
        self._name = name
        self._log = log
        self._command = [sys.executable, "-m", *arguments]
        self._printed: list[Path] = []
        self.starts = 0

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    @property
    def failed(self) -> bool:
        """Whether it ended by itself, but not well."""
        return self._process.poll() not in (None, 0)

    @property
    def errors(self) -> str:
        """The end of the log."""
        return self._log.read_text(errors="replace").strip()[-800:]

    @property
    def printed(self) -> list[str]:
        """What each start has printed."""
        return [file.read_text() for file in self._printed]

    def start(self) -> None:
        """Start it, the first time or again."""
        printed = self._name.with_suffix(f".{self.starts}.out")
        with printed.open("wb") as out, self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, stdout=out, stderr=log, start_new_session=True
            )
        self._printed.append(printed)
        self.starts += 1

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


class ServerProcess(Program):
    """A ``devote serve`` on a free port of this machine, with its store in a folder.

    ``options`` are further words of its command line.
    """

    def __init__(self, folder: Path, port: int | None = None, options: Sequence[str] = ()) -> None:
        if port is None:
            [port] = free_ports(1)
        self.address = f"http://127.0.0.1:{port}"
        self.token = secrets.token_urlsafe(32)
        token_file = folder / "operator.token"
        token_file.touch(mode=0o600)
        token_file.write_text(self.token)
        arguments = ["serve", "--store", str(folder / "server.db")]
        arguments += ["--port", str(port), "--token-file", str(token_file), *options]
        super().__init__(folder / "server", folder / "server.log", "devote.cli.main", *arguments)

    def start(self) -> None:
        """Start, and wait until it answers."""
        super().start()
        deadline = time.monotonic() + STARTING
        while self.running and time.monotonic() < deadline:
            try:
                with urllib.request.urlopen(f"{self.address}/health", timeout=1):
                    return
            except OSError:
                time.sleep(0.05)
        raise DemonstrationError(f"The server did not start.\n{self.errors}")


class CrowdProcess(Program):
    """A process that runs some devices of a crowd; started again, it goes on from their stores."""

    def __init__(self, task: Task, program: str = "devote.demo.crowd") -> None:
        self.task = task
        file = task.folder / f"crowd-{min(task.invites):05d}.json"
        file.touch(mode=0o600)
        file.write_text(task.to_json())
        super().__init__(file, task.folder / "crowd.log", program, str(file))

    @property
    def pulls(self) -> int:
        """Pulls of all starts so far, as far as they have been reported."""
        reports = [printed.split() for printed in self.printed]
        return sum(int(report[-1]) for report in reports if report)


def free_ports(count: int) -> list[int]:
    """Ports of this machine on which nobody listens, each another."""
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [listener.getsockname()[1] for listener in listeners]
    for listener in listeners:
        listener.close()
    return ports
