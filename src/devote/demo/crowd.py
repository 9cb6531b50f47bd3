"""A crowd of devices with made-up users, for demonstrations and tests.

Each device is a real one, with its own key, store and connection. Only the users are played: who
picks up their device next, and whether they click, comes from a problem that no device knows.
Run as a program (``python -m devote.demo.crowd``), it goes on from the stores it finds, so it
can be killed and started again at any moment.
"""

import argparse
import json
import random
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from devote.fleet import Device, JoinError
from devote.fleet.loop import Pace

QUICK = Pace(every=1.0, base=0.1, cap=1.0)
AT_ONCE = 8
JOIN_ATTEMPTS = 60
JOIN_PAUSE = 0.5


@dataclass(frozen=True)
class Task:
    """Which devices of a crowd to run here, against which experiment, and what users like."""

    url: str
    folder: Path
    first: int
    count: int
    means: tuple[float, ...]
    invites: tuple[str, ...]
    seed: int


def store_of(folder: Path, n: int) -> Path:
    """Where device n keeps its state."""
    return folder / f"device-{n:04d}.db"


def run_crowd(task: Task, report: Callable[[int], None], stop: threading.Event) -> int:
    """Let users come and go until every device has the answer; returns the pulls made here.

    ``report`` is told the pulls so far now and then. Only the crowd, which plays the users, can
    count them.
    """
    users = random.Random(f"{task.seed}/{task.first}/users")
    pulls = 0
    with ThreadPoolExecutor(AT_ONCE) as pool, ExitStack() as stack:
        joining = [pool.submit(_join, task, task.first + n) for n in range(task.count)]
        stack.callback(lambda: wait([pool.submit(_close, future) for future in joining]))
        devices = [future.result() for future in joining]
        while not stop.is_set() and not all(map(_has_answer, devices)):
            device = users.choice(devices)
            choice = device.choose()
            device.reward(float(users.random() < task.means[choice]), choice)
            pulls += 1
            if pulls % 500 == 0:
                report(pulls)
        report(pulls)
    return pulls


def _join(task: Task, n: int) -> Device:
    """Join, trying again for a while if the server is away just now."""
    invite = task.invites[n] if task.invites else None
    for attempts_left in reversed(range(JOIN_ATTEMPTS)):
        try:
            return Device.join(task.url, store=store_of(task.folder, n), invite=invite, pace=QUICK)
        except JoinError:
            if not attempts_left:
                raise
            time.sleep(JOIN_PAUSE)
    raise AssertionError


def _close(joining: "Future[Device]") -> None:
    if joining.exception() is None:
        joining.result().close()


def _has_answer(device: Device) -> bool:
    return device.best() is not None or device.status().state == "stalled"


def main() -> None:
    """Run the devices named in a JSON file and print the pulls made, a number per line."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("task", type=Path)
    fields = json.loads(parser.parse_args().task.read_text())
    task = Task(
        url=fields["url"],
        folder=Path(fields["folder"]),
        first=fields["first"],
        count=fields["count"],
        means=tuple(fields["means"]),
        invites=tuple(fields["invites"]),
        seed=fields["seed"],
    )

    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    run_crowd(task, lambda pulls: print(pulls, flush=True), stop)


if __name__ == "__main__":
    main()
