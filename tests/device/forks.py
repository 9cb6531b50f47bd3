"""Real processes that start in milliseconds: forked from one that has imported everything.

Each is as fresh as one of its own command, without the second of importing. ``Forking`` lets the
programs of ``devote.demo`` be made so, by the fixture ``forked_programs``.
"""

import ctypes
import gc
import multiprocessing
import os
import random
import runpy
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload([
    "tests.device.forks",
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
])  # fmt: skip
DIE_WITH_PARENT = 1


class Fork:
    """A module with a command line, as ``python -m`` runs it; it has the methods of a ``Popen``.

    What it prints and its errors are added to two files. It ends with whoever has started it.
    """

    def __init__(self, out: str | Path, errors: str | Path, module: str, *words: object) -> None:
        work = (str(out), str(errors), module, *map(str, words))
        self._process = CONTEXT.Process(target=_run, args=work, daemon=True)
        self._process.start()

    @property
    def returncode(self) -> int | None:
        """Its exit code, or None while it runs."""
        return self._process.exitcode

    def poll(self) -> int | None:
        return self._process.exitcode

    def kill(self) -> None:
        """As ``kill -9`` does."""
        self._process.kill()
        self._process.join()

    def terminate(self) -> None:
        """Ask it to end."""
        self._process.terminate()

    def hurry(self) -> None:
        """Let a device that plays do so with hardly a pause."""
        if self.poll() is None and self._process.pid is not None:
            os.kill(self._process.pid, signal.SIGUSR1)

    def wait(self, timeout: float = 60.0) -> int:
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired(f"process {self._process.pid}", timeout)
        return self.returncode


class Forking:
    """In the place of the module ``subprocess`` where a ``Program`` is started."""

    TimeoutExpired = subprocess.TimeoutExpired

    @staticmethod
    def Popen(  # noqa: N802
        command: list[str], *, stdout: IO[bytes], stderr: IO[bytes], start_new_session: bool
    ) -> Fork:
        assert start_new_session
        assert command[:2] == [sys.executable, "-m"]
        return Fork(stdout.name, stderr.name, *command[2:])


def _run(out: str, errors: str, module: str, *words: str) -> None:
    ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL)
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # until a device listens to it
    gc.freeze()  # what is there by now stays: it need not be copied to be looked at
    random.seed()
    os.setsid()
    for stream, path in ((1, out), (2, errors)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), stream)
    sys.argv = [module, *words]
    sys.modules.pop(module, None)
    runpy.run_module(module, run_name="__main__", alter_sys=True)
