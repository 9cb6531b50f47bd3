"""Programs that tests need and pip does not install; ``make test`` installs them where it may."""

import os
import shutil
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
