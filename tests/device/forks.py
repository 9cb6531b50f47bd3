"""Real processes that start in milliseconds: forked from one that has imported everything.

A nursery process imports once and then does nothing but fork, so that each process it makes is
as fresh as one of its own command, without the second of importing and of reading certificates.
Requests and answers are JSON lines. When its input ends, also because whoever started it was
killed, it ends what it made.

``Forking`` lets the programs of ``devote.demo`` be made so, by the fixture ``forked_programs``.
"""

import gc
import json
import os
import random
import runpy
import signal
import subprocess
import sys
import time
import traceback
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from devote.boards.http import trusted

ROOT = Path(__file__).parents[2]
IMPORTED = (
    "tests.device.playing_process",
    "tests.device.survey_run",
    "devote.cli.main",
    "devote.cli.operator",
    "devote.demo.crowd",
    "devote.demo.gossip",
    "devote.page",
    "devote.server.serve",
    "httpcore",
    "anyio._backends._asyncio",
)


class Fork:
    """One process of a nursery."""

    def __init__(self, nursery: "Nursery", pid: int) -> None:
        self.pid = pid
        self._nursery = nursery
        self._code: int | None = None

    def poll(self) -> int | None:
        """Its exit code, or None while it runs; as ``Popen`` says it."""
        if self._code is None:
            self._code = self._nursery.ask("poll", self.pid)
        return self._code

    def kill(self) -> None:
        """As ``kill -9`` does; its id cannot be another's before ``poll`` has told its end."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)
        self.wait()

    def terminate(self) -> None:
        """Ask it to end."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGTERM)

    @property
    def returncode(self) -> int | None:
        """Its exit code, if it is known to have ended."""
        return self._code

    def hurry(self) -> None:
        """Let a device that plays do so with hardly a pause."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGUSR1)

    def wait(self, timeout: float = 60.0) -> int:
        until = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > until:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout)
            time.sleep(0.01)
        return code


class Nursery:
    """Makes processes; ``log`` takes what they write to stderr."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.device.forks", str(log)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )

    def start(self, what: str, *arguments: object) -> Fork:
        """``devote`` with a command line; ``play`` for a device.

        ``run`` for a program: where its output and its errors go, its module, its command line.
        """
        return Fork(self, self.ask("start", what, *map(str, arguments)))

    def ask(self, *request: object) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        """End all that it has made, and itself."""
        self._process.communicate()


class Forking:
    """In the place of the module ``subprocess`` where a ``Program`` is started."""

    TimeoutExpired = subprocess.TimeoutExpired

    def __init__(self, nursery: Nursery) -> None:
        self._nursery = nursery

    def Popen(  # noqa: N802
        self,
        command: list[str],
        *,
        stdout: IO[bytes],
        stderr: IO[bytes],
        start_new_session: bool,
    ) -> Fork:
        assert start_new_session
        assert command[:2] == [sys.executable, "-m"]
        return self._nursery.start("run", stdout.name, stderr.name, *command[2:])


def _run(out: str, errors: str, module: str, *arguments: str) -> int:
    """As ``python -m`` does."""
    os.setsid()
    for stream, path in ((1, out), (2, errors)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_APPEND), stream)
    sys.argv = [module, *arguments]
    sys.modules.pop(module, None)
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    finally:
        sys.stdout.flush()
    return 0


def _start(log: str, what: str, *arguments: str) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 70
    try:
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(null, 1)
        os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), 2)
        random.seed()
        if what == "run":
            code = _run(*arguments)
        elif what == "devote":
            from devote.cli.main import main

            code = main(arguments)
        else:
            from tests.device.playing_process import play_as_told

            play_as_told(*arguments)
            code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _poll(running: set[int], pid: int) -> int | None:
    found, status = os.waitpid(pid, os.WNOHANG)
    if not found:
        return None
    running.discard(pid)
    return os.waitstatus_to_exitcode(status)


def nurse(log: str) -> None:
    for name in IMPORTED:
        import_module(name)
    trusted()
    # What is there by now stays: no process that is made need look at it, or have its own copy.
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000)
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # until a device listens to it
    running: set[int] = set()
    try:
        for line in sys.stdin:
            verb, *rest = json.loads(line)
            if verb == "start":
                running.add(answer := _start(log, *rest))
            else:
                answer = _poll(running, *rest)
            print(json.dumps(answer), flush=True)
    finally:
        for pid in running:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


if __name__ == "__main__":
    nurse(sys.argv[1])
