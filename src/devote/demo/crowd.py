"""A crowd of devices with made-up users, for demonstrations and tests.

Each device is a real one, with its own key, store and connection. Only the users are played: who
picks up their device next, and whether they click, comes from a problem that no device knows.
Run as a program (``python -m devote.demo.crowd``), it goes on from the stores it finds, so it
can be killed and started again at any moment.
"""

import argparse
import asyncio
import json
import random
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from devote.fleet.async_device import AsyncDevice
from devote.fleet.errors import JoinError
from devote.fleet.loop import Pace

QUICK = Pace(every=1.0, base=0.1, cap=1.0)
JOINING_AT_ONCE = 8
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


async def run_crowd(task: Task, report: Callable[[int], None], stop: asyncio.Event) -> int:
    """Let users come and go until every device has the answer; returns the pulls made here.

    ``report`` is told the pulls so far now and then. Only the crowd, which plays the users, can
    count them.
    """
    devices: list[AsyncDevice] = []
    try:
        for start in range(0, task.count, JOINING_AT_ONCE):
            numbers = range(start, min(start + JOINING_AT_ONCE, task.count))
            devices += await asyncio.gather(*(_join(task, task.first + n) for n in numbers))
        users = random.Random(f"{task.seed}/{task.first}/users")
        pulls = 0
        while not stop.is_set() and not all(map(_decided, devices)):
            device = users.choice(devices)
            choice = await device.choose()
            await device.reward(float(users.random() < task.means[choice]), choice)
            pulls += 1
            if pulls % 500 == 0:
                report(pulls)
        report(pulls)
        return pulls
    finally:
        await asyncio.gather(*(device.close() for device in devices))


async def _join(task: Task, n: int) -> AsyncDevice:
    """Join, trying again for a while if the server is away just now."""
    invite = task.invites[n] if task.invites else None
    for attempt in range(JOIN_ATTEMPTS):
        try:
            return await AsyncDevice.join(
                task.url, store=store_of(task.folder, n), invite=invite, pace=QUICK
            )
        except JoinError:
            if attempt == JOIN_ATTEMPTS - 1:
                raise
            await asyncio.sleep(JOIN_PAUSE)
    raise AssertionError


def _decided(device: AsyncDevice) -> bool:
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

    async def run() -> None:
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        await run_crowd(task, lambda pulls: print(pulls, flush=True), stop)

    asyncio.run(run())


if __name__ == "__main__":
    main()
