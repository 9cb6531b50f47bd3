"""How hypothesis searches: the same examples every time; ``--hypothesis-profile thorough`` roams.

A test that needs more or fewer examples than the profile says scales the profile's number, so
that one option deepens them all.

Tests that compile run one after another, in one worker: ``ROOMS``.

Files go to memory where there is room: a disk only adds the wait for its syncs, thousands of them,
and what a power cut would leave of a file no test can see.
"""

import gc
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import engine

IN_MEMORY = Path("/dev/shm")
ROOM = 2 * 2**30

if os.access(IN_MEMORY, os.W_OK) and shutil.disk_usage(IN_MEMORY).free > ROOM:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(IN_MEMORY))

# Numba colours each candidate that it tries in vain: a twelfth of the time to compile.
os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")

# Nothing that is made while tests are collected is garbage, half a million objects: to look for
# some among them takes a quarter of that time, and some of each test's.
gc.disable()

COMPILE = (
    *("test_engine_equals_players", "test_jury_engine", "test_survey_engine", "test_passes"),
    *("test_algorithm_contract", "test_promises", "test_searches_equal_brute_force"),
)
"""Between them they compile nearly every loop and every kernel."""

ROOMS = (
    *("simulate", "schemes", "statistical", "audit", "studies", "paper", "plan", "theory"),
    *("browser", "page", "device", "server", "boards", "gossip", "demo", "deploy", "wire"),
    *("contracts", "rules", "protocol", "problems", "reference", "docs", "cli"),
)
"""The order of the rooms. Each of four workers begins with a quarter of all tests: the first with
those that need compiled loops, so that the kernels that loops share are compiled in one process,
the others with those that wait for processes and with the rest. Whoever is done takes over some of
another's last."""


def pytest_collection_modifyitems(items):
    def at(names, name):
        return names.index(name) if name in names else len(names)

    def place(item):
        return at(COMPILE, item.path.stem), at(ROOMS, item.path.parent.name)

    items.sort(key=place)


def pytest_collection_finish():
    gc.freeze()
    gc.set_threshold(10_000)
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem):
    is_next = nextitem is not None and nextitem.get_closest_marker("browser") is not None
    if not is_next and "tests.chromium" in sys.modules:
        sys.modules["tests.chromium"].end()


# By itself hypothesis gives up what draws more than 8 KB: a few thousand numbers.
engine.BUFFER_SIZE = 32 * 1024

SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.data_too_large]

settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    max_examples=25,
    stateful_step_count=40,
    suppress_health_check=SLOW_IS_FINE,
)
settings.register_profile(
    "thorough",
    deadline=None,
    max_examples=300,
    stateful_step_count=100,
    suppress_health_check=SLOW_IS_FINE,
)
settings.load_profile("ci")


@pytest.fixture(scope="module")
def chromium():
    """Headless Chromium; tests that use it are marked ``browser``."""
    from tests.chromium import start

    return start()


@pytest.fixture
def background():
    """Programs that go on running; each is ended, with all that it started, by its own id."""
    running: list[subprocess.Popen[bytes]] = []
    yield running
    for process in running:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture
def forked_programs(monkeypatch):
    """Programs of ``devote.demo`` start in milliseconds; as commands: ``test_fleet_commands``."""
    from tests.device.forks import Forking

    from devote.demo import processes

    monkeypatch.setattr(processes, "subprocess", Forking)


@pytest.fixture
def shipped_schemes(monkeypatch):
    """Without the schemes that tests register: those without a compiled loop run slowly."""
    from devote.schemes import SCHEMES

    for name, scheme in list(SCHEMES.items()):
        if not scheme.__module__.startswith("devote."):
            monkeypatch.delitem(SCHEMES, name)
