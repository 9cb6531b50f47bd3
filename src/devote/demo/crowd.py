"""A crowd of devices with made-up users, for demonstrations and tests.

Each device is a real one, with its own key and store. Only the users are played: who picks up their
device next, and whether they click, comes from a problem that no device knows. Either all devices
play until they have the answer, or they are visitors of a survey: each comes, is shown an arm,
clicks or not, and leaves when its answer has left; visitors share connections, and only some are
awake at a time.

Run as a program (``python -m devote.demo.crowd``), it goes on from the stores it finds, so it can
be killed and started again at any moment.
"""

import asyncio
import random
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx

from devote.boards.http import HttpBoard
from devote.demo.processes import Task
from devote.device import AsyncDevice, JoinError, LateReward
from devote.device.steps import LATEST
from devote.device.sync import Pace

QUICK = Pace(every=1.0, base=0.1, cap=1.0)
SELDOM = Pace(every=60.0, base=0.2, cap=2.0)
JOIN_ATTEMPTS = 60
JOIN_PAUSE = 0.5
JOINING_AT_ONCE = 8
VISITORS_AWAKE = 128
"""Visitors at a time: each has files open."""

FRESH = 0.5
"""Seconds for which visitors share one read of the tally."""


@dataclass
class _Crowd:
    """Devices and their users; ``report`` gets the number of plays now and then.

    Only the crowd, which plays the users, can count them.
    """

    task: Task
    report: Callable[[int], None]
    stop: threading.Event
    plays: int = 0

    def __post_init__(self) -> None:
        self.users = random.Random(f"{self.task.seed}/{min(self.task.invites)}/users")

    async def run_players(self) -> None:
        """Let users come and go until every device has the answer."""
        slots = asyncio.Semaphore(JOINING_AT_ONCE)

        async def join(n: int) -> AsyncDevice:
            async with slots:
                return await self._join(n, QUICK)

        async with AsyncExitStack() as stack:
            joined = await asyncio.gather(*map(join, self.task.invites), return_exceptions=True)
            for device in joined:
                if isinstance(device, AsyncDevice):
                    stack.push_async_callback(device.close)
            devices = [device for device in joined if isinstance(device, AsyncDevice)]
            for error in joined:
                if isinstance(error, BaseException):
                    raise error
            while not self.stop.is_set() and any(d.status().state == "open" for d in devices):
                await self._play(self.users.choice(devices))

    async def run_visitors(self, form: type[HttpBoard]) -> None:
        """Let every visitor come and go who has not gone yet."""
        log = self.task.folder / f"gone-{min(self.task.invites):05d}.txt"
        gone = set(log.read_text().split()) if log.exists() else set()
        coming = (n for n in self.task.invites if str(n) not in gone)
        limits = httpx.Limits(max_connections=16)
        async with httpx.AsyncClient(headers={"User-Agent": "devote"}, limits=limits) as client:
            board = form(self.task.url, client, fresh=FRESH)
            async with asyncio.TaskGroup() as group:
                for _ in range(VISITORS_AWAKE):
                    group.create_task(self._receive(coming, board, log))

    async def _receive(self, coming: Iterator[int], board: HttpBoard, log: Path) -> None:
        for n in coming:
            async with await self._join(n, SELDOM, board) as device:
                segment = self._segment_of(n)
                for _ in range(self.task.answers):
                    await self._play(device, segment)
                    await asyncio.sleep(1.001 * (1.0 + LATEST) * self.task.reply_after)
                    while not (self.stop.is_set() or await device.sync()):
                        await asyncio.sleep(JOIN_PAUSE)
            if self.stop.is_set():
                return
            with log.open("a") as file:
                file.write(f"{n}\n")

    def _segment_of(self, n: int) -> str | None:
        """The segment of a user, the same each time; None where there are none."""
        names = list(self.task.segments)
        return random.Random(f"{self.task.seed}/{n}/segment").choice(names) if names else None

    async def _play(self, device: AsyncDevice, segment: str | None = None) -> None:
        choice = await device.choose(segment)
        means = self.task.means if segment is None else self.task.segments[segment]
        with suppress(LateReward):  # on a busy machine; the answer is that of no click
            await device.reward(float(self.users.random() < means[choice]), choice)
        self.plays += 1
        if self.plays % 50 == 0:
            self.report(self.plays)

    async def _join(self, n: int, pace: Pace, board: HttpBoard | None = None) -> AsyncDevice:
        """Join, trying again for a while if the server is away just now."""
        task, attempts = self.task, 1
        store = task.folder / f"device-{n:05d}.db"
        while True:
            try:
                return await AsyncDevice.join(
                    task.url, store=store, invite=task.invites[n], pace=pace, board=board
                )
            except JoinError:
                if attempts >= JOIN_ATTEMPTS:
                    raise
                attempts += 1
                await asyncio.sleep(JOIN_PAUSE)


def run_crowd(
    task: Task,
    report: Callable[[int], None],
    stop: threading.Event,
    form: type[HttpBoard] = HttpBoard,
) -> int:
    """Let the users come and go; returns the plays made here."""
    crowd = _Crowd(task, report, stop)
    asyncio.run(crowd.run_visitors(form) if task.answers else crowd.run_players())
    report(crowd.plays)
    return crowd.plays


def stopped_by_signals() -> threading.Event:
    """An event that is set when this process is asked to end."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    return stop


def main() -> None:
    """Run the devices of the task in a JSON file and print the plays made, a number per line."""
    task = Task.from_json(Path(sys.argv[1]).read_bytes())
    run_crowd(task, lambda plays: print(plays, flush=True), stopped_by_signals())


if __name__ == "__main__":
    main()
