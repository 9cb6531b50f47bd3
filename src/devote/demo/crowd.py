"""A crowd of devices with made-up users, for demonstrations and tests.

Each device is a real one, with its own key, store and connection. Only the users are played: who
picks up their device next, and whether they click, comes from a problem that no device knows.
Run as a program (``python -m devote.demo.crowd``), it goes on from the stores it finds, so it
can be killed and started again at any moment.
"""

import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from pathlib import Path

from devote.demo.task import JOIN_ATTEMPTS, JOIN_PAUSE, Task
from devote.demo.visitors import run_visitors
from devote.device import Device, JoinError
from devote.device.sync import Pace

QUICK = Pace(every=1.0, base=0.1, cap=1.0)
AT_ONCE = 8


def run_crowd(task: Task, report: Callable[[int], None], stop: threading.Event) -> int:
    """Let users come and go until every device has the answer; returns the pulls made here.

    ``report`` is told the pulls so far now and then. Only the crowd, which plays the users, can
    count them.
    """
    users = random.Random(f"{task.seed}/{min(task.invites)}/users")
    pulls = 0
    with ThreadPoolExecutor(AT_ONCE) as pool, ExitStack() as stack:
        joining = [pool.submit(_join, task, n) for n in task.invites]
        stack.callback(lambda: wait([pool.submit(_close, future) for future in joining]))
        devices = [future.result() for future in joining]
        while not stop.is_set() and any(device.status().state == "open" for device in devices):
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
    store, attempts = task.folder / f"device-{n:05d}.db", 1
    while True:
        try:
            return Device.join(task.url, store=store, invite=task.invites[n], pace=QUICK)
        except JoinError:
            if attempts >= JOIN_ATTEMPTS:
                raise
            attempts += 1
            time.sleep(JOIN_PAUSE)


def _close(joining: "Future[Device]") -> None:
    if joining.exception() is None:
        joining.result().close()


def main() -> None:
    """Run the devices of the task in a JSON file and print the pulls made, a number per line."""
    task = Task.from_json(Path(sys.argv[1]).read_bytes())
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    run = run_visitors if task.answers else run_crowd
    run(task, lambda pulls: print(pulls, flush=True), stop)


if __name__ == "__main__":
    main()
