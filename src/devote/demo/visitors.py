"""Visitors: thousands of light devices of a survey in one process, each used for its answers only.

Each is a real device with its own key and store. They share one connection pool and one read of
the tally, and only some of them are awake at a time: a visitor comes, is shown an arm, clicks or
not, and leaves when its answer has left. A process that is killed and started again goes on with
the visitors who have not left.
"""

import asyncio
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import httpx

from devote.boards.http import HttpBoard
from devote.demo.task import JOIN_ATTEMPTS, JOIN_PAUSE, Task
from devote.device import AsyncDevice, JoinError, LateReward
from devote.device.steps import LATEST
from devote.device.sync import Pace

AWAKE = 128
"""Visitors at a time: each has files open."""

FRESH = 0.5
"""Seconds for which visitors share one read of the tally."""

SELDOM = Pace(every=60.0, base=0.2, cap=2.0)
REPORT_EVERY = 50


def run_visitors(
    task: Task,
    report: Callable[[int], None],
    stop: threading.Event,
    form: type[HttpBoard] = HttpBoard,
) -> int:
    """Let every visitor come and go; returns the plays made here, of which ``report`` is told."""
    return asyncio.run(_Visitors(task, report, stop).run(form))


class _Visitors:
    def __init__(self, task: Task, report: Callable[[int], None], stop: threading.Event) -> None:
        self._task = task
        self._report = report
        self._stop = stop
        self._users = random.Random(f"{task.seed}/{min(task.invites)}/users")
        self._gone = task.folder / f"gone-{min(task.invites):05d}.txt"
        self._plays = 0

    async def run(self, form: type[HttpBoard]) -> int:
        limits = httpx.Limits(max_connections=16)
        async with httpx.AsyncClient(headers={"User-Agent": "devote"}, limits=limits) as client:
            board = form(self._task.url, client, fresh=FRESH)
            coming = self._coming()
            async with asyncio.TaskGroup() as group:
                for _ in range(AWAKE):
                    group.create_task(self._receive(coming, board))
        self._report(self._plays)
        return self._plays

    def _coming(self) -> Iterator[int]:
        gone = set(self._gone.read_text().split()) if self._gone.exists() else set()
        return (n for n in self._task.invites if str(n) not in gone)

    async def _receive(self, coming: Iterator[int], board: HttpBoard) -> None:
        for n in coming:
            await self._visit(n, board)
            if self._stop.is_set():
                return
            with self._gone.open("a") as file:
                file.write(f"{n}\n")

    async def _visit(self, n: int, board: HttpBoard) -> None:
        task = self._task
        async with await self._join(n, board) as device:
            for _ in range(task.answers):
                choice = await device.choose()
                with suppress(LateReward):  # on a busy machine; the answer is that of no click
                    await device.reward(float(self._users.random() < task.means[choice]), choice)
                self._plays += 1
                if self._plays % REPORT_EVERY == 0:
                    self._report(self._plays)
                await asyncio.sleep(1.001 * (1.0 + LATEST) * task.reply_after)
                while not (self._stop.is_set() or await device.sync()):
                    await asyncio.sleep(JOIN_PAUSE)

    async def _join(self, n: int, board: HttpBoard) -> AsyncDevice:
        """Join, trying again for a while if the server is away just now."""
        store = Path(self._task.folder, f"device-{n:05d}.db")
        invite, attempts = self._task.invites[n], 1
        while True:
            try:
                return await AsyncDevice.join(
                    self._task.url, store=store, invite=invite, pace=SELDOM, board=board
                )
            except JoinError:
                if attempts >= JOIN_ATTEMPTS:
                    raise
                attempts += 1
                await asyncio.sleep(JOIN_PAUSE)
