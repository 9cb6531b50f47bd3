"""A real server with its page in a process of its own, to be killed and started again."""

import secrets
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

from tests.tools import free_port

CODE = """
import sys
from devote.page.page import add_page
from devote.server import Settings, run_server
path, port, token = sys.argv[1:]
run_server(path, port=int(port), settings=Settings(token=token), extend=add_page)
"""


def wait_until_healthy(address: str, process: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + 60.0
    while process.poll() is None and time.monotonic() < until:
        try:
            with urllib.request.urlopen(f"{address}/health", timeout=5):
                return
        except OSError:
            time.sleep(0.02)
    raise AssertionError("the server did not start")


@dataclass
class ServerProcess:
    """One server on a free port of 127.0.0.1 over one SQLite file."""

    folder: Path
    port: int = field(default_factory=free_port)
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        arguments = [str(self.folder / "server.db"), str(self.port), self.token]
        self.process = subprocess.Popen([sys.executable, "-c", CODE, *arguments])
        wait_until_healthy(self.address, self.process)

    def kill(self) -> None:
        """As a power cut does."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """As an operator does."""
        self.process.terminate()
        self.process.wait(20)
