"""Devices without a server in one process, with made-up users, for the demonstration.

All devices of a process are on one side of the network. While the file ``cut`` is there, they
cannot dial the other side: that is the partition, and the one thing here that is played beside the
users. Run as a program (``python -m devote.demo.gossip_crowd``) it prints how its side stands, one
JSON object per line, until it is told to stop.
"""

import json
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from devote.device import Device
from devote.device.sync import Pace
from devote.gossip import GossipBoard, GossipSettings
from devote.gossip.exchange import Unreachable
from devote.gossip.http import Dialler

QUICK = Pace(every=0.5, base=0.1, cap=0.5)
AT_ONCE = 8
TELL_EVERY = 0.2


class SidedDialler(Dialler):
    """Reaches its own side only while the network is cut."""

    def __init__(self, settings: GossipSettings, side: frozenset[str], cut: Path) -> None:
        super().__init__(settings)
        self._side, self._cut = side, cut

    async def __call__(self, address: str, path: str, body: bytes) -> bytes:
        """One request."""
        if address not in self._side and self._cut.exists():
            raise Unreachable(f"{address} is on the other side.\nIt is asked again later.")
        return await super().__call__(address, path, body)


def run_side(task: dict[str, Any], report: Callable[[Any], None], stop: threading.Event) -> None:
    """Let users come and go until all devices of this side have the answer; then stay."""
    users = random.Random(f"{task['seed']}/{task['side']}/users")
    with ThreadPoolExecutor(AT_ONCE) as pool, ExitStack() as stack:
        devices = list(pool.map(lambda n: _join(task, n), task["devices"]))
        for device in devices:
            stack.callback(device.close, 0.0)
        pulls, told_at = 0, 0.0
        while not stop.is_set():
            is_open = any(device.status().state == "open" for device in devices)
            if is_open:
                device = users.choice(devices)
                choice = device.choose()
                device.reward(float(users.random() < task["means"][choice]), choice)
                pulls += 1
            else:
                stop.wait(TELL_EVERY)
            if time.monotonic() - told_at > TELL_EVERY or not is_open:
                told_at = time.monotonic()
                report(_standing(devices, pulls))


def _standing(devices: list[Device], pulls: int) -> dict[str, Any]:
    boards = [device.board for device in devices]
    sets = [board.votes for board in boards if isinstance(board, GossipBoard)]
    return {
        "pulls": pulls,
        "roots": sorted({votes.root for votes in sets}),
        "votes": max(len(votes.items) for votes in sets),
        "best": [device.best() for device in devices],
        "alone": sum(device.status().offline_since is not None for device in devices),
    }


def _join(task: dict[str, Any], n: int) -> Device:
    folder, addresses = Path(task["folder"]), task["addresses"]
    side = frozenset(addresses[k] for k in task["devices"])
    settings = GossipSettings(
        period=task["period"], listen=addresses[n], allow=("127.0.0.0/8",), rate=200.0
    )
    known = ",".join(addresses[k] for k in task["known"] if k != n)
    url = f"gossip://{known}/{task['name']}"
    store = folder / f"device-{n:05d}.db"
    board = GossipBoard(
        url,
        store,
        ticket=folder / f"{n}.json",
        settings=settings,
        dials=lambda given: SidedDialler(given, side, folder / "cut"),
    )
    return Device.join(url, store=store, board=board, pace=QUICK)


def main() -> None:
    """Run the side that a JSON file describes."""
    task = json.loads(Path(sys.argv[1]).read_text())
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    run_side(task, lambda told: print(json.dumps(told), flush=True), stop)


if __name__ == "__main__":
    main()
