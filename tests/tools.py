"""What many tests need: programs that pip does not install, a free port, and to wait."""

import os
import shutil
import socket
import time
from collections.abc import Callable
from typing import NoReturn

import pytest

PACKAGES = {
    "chromium": "chromium",
    "node": "nodejs",
    "nginx": "nginx-light",
    "systemd-analyze": "systemd",
}
PLACES = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"))


def found(program: str) -> str | None:
    """Where a program is, or None."""
    return shutil.which(program, path=PLACES)


def needed(program: str) -> str:
    """Where a program is; without it the test is skipped, and where CI is set it fails."""
    return found(program) or missing(
        f"This test needs {program}: sudo apt-get install {PACKAGES[program]}"
    )


def missing(what: str) -> NoReturn:
    """Skip a test, or fail it where CI is set."""
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(what)


def free_port() -> int:
    """A port of 127.0.0.1 on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def until(is_so: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait until it is so."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)
