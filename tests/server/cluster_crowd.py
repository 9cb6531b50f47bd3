"""A process full of devices that take part in one experiment after the other.

Each device notes every message before it leaves and again when a server has acknowledged it.
Started again, a process goes on from the stores of its devices.
"""

import asyncio
import json
import random
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import httpx

from devote.boards.board import Envelope, Outcome
from devote.boards.http import HttpBoard
from devote.device import AsyncDevice, JoinError, LateReward
from devote.device.sync import Pace
from devote.protocol import to_json

PACE = Pace(every=1.0, base=0.2, cap=1.0)


@dataclass(frozen=True)
class Crowd:
    """Which devices, in which experiments, and what users like."""

    folder: Path
    addresses: str
    experiments: tuple[str, ...]
    invites: dict[str, dict[int, str]]
    means: dict[str, tuple[float, ...]]
    pause: float

    @property
    def first(self) -> int:
        return min(next(iter(self.invites.values())))

    def to_json(self) -> str:
        return json.dumps({**vars(self), "folder": str(self.folder)})

    @classmethod
    def from_json(cls, text: bytes) -> "Crowd":
        values = json.loads(text)
        invites = {
            name: {int(number): invite for number, invite in each.items()}
            for name, each in values["invites"].items()
        }
        means = {name: tuple(each) for name, each in values["means"].items()}
        changed = {"invites": invites, "means": means, "folder": Path(values["folder"])}
        return cls(**{**values, **changed})


class Devices:
    """The devices of one process."""

    def __init__(self, crowd: Crowd) -> None:
        self._crowd = crowd
        self._notes = (crowd.folder / f"sent-{crowd.first}.txt").open("a", buffering=1)
        self._users = random.Random(crowd.first)

    async def run(self) -> None:
        """One experiment after the other, until the file ``stop`` is there."""
        for name in self._crowd.experiments:
            if (self._crowd.folder / "stop").exists():
                return
            invites = self._crowd.invites[name]
            limits = httpx.Limits(max_connections=32)
            async with httpx.AsyncClient(limits=limits) as client, asyncio.TaskGroup() as group:
                for n, invite in invites.items():
                    group.create_task(self._play(client, name, n, invite))
            with (self._crowd.folder / f"done-{self._crowd.first}.txt").open("a") as done:
                done.write(f"{name}\n")

    async def _play(self, client: httpx.AsyncClient, name: str, n: int, invite: str) -> None:
        device = await self._join(client, name, n, invite)
        async with device:
            while device.best() is None:
                choice = await device.choose()
                paid = self._users.random() < self._crowd.means[name][choice]
                with suppress(LateReward):
                    await device.reward(float(paid), choice)
                await asyncio.sleep(self._crowd.pause * (0.5 + self._users.random()))
            while not await device.sync():
                await asyncio.sleep(0.2)
        with (self._crowd.folder / "best.txt").open("a") as answers:
            answers.write(f"{name}\t{n}\t{device.best()}\n")

    async def _join(self, client: httpx.AsyncClient, name: str, n: int, invite: str) -> AsyncDevice:
        url = f"{self._crowd.addresses}/experiments/{name}"
        store = self._crowd.folder / f"{name}-{n}.db"
        until = time.monotonic() + 300
        while True:
            board = Noting(url, client, timeout=10.0)
            board.notes = self._notes
            try:
                return await AsyncDevice.join(
                    url, store=store, invite=invite, board=board, pace=PACE
                )
            except JoinError:
                if time.monotonic() > until:
                    raise
                await asyncio.sleep(0.3)


class Noting(HttpBoard):
    """A board that notes what leaves and what is acknowledged."""

    async def publish(self, envelope: Envelope) -> Outcome:
        self._note("left", envelope)
        outcome = await super().publish(envelope)
        self._note(outcome.value, envelope)
        return outcome

    def _note(self, kind: str, envelope: Envelope) -> None:
        self.notes.write(f"{kind}\t{to_json(envelope.message)}\t{envelope.signature}\n")


if __name__ == "__main__":
    asyncio.run(Devices(Crowd.from_json(Path(sys.argv[1]).read_bytes())).run())
