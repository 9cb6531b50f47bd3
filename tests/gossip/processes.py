"""Devices without a server, each a process of its own, forked from one that has imported all.

A device plays as far as it may (a budget of pulls that only grows), writes down every message
that its board has acknowledged and every decision as it is taken, and reports how it stands in a
slot of shared memory. It may be killed at any moment, and started again from its store.
"""

import json
import mmap
import os
import random
import resource
import signal
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.gossip.fleets import prepare
from tests.gossip.network import Loopback, Namespaces, make_network

from devote.boards.board import Envelope, Outcome
from devote.device import Device
from devote.gossip import GossipBoard, GossipSettings
from devote.gossip.exchange import Unreachable
from devote.gossip.http import Dialler
from devote.protocol import ExperimentSpec, to_json

SLOT = 1_024


@dataclass
class Plan:
    """What all devices of a run share."""

    folder: Path
    spec: ExperimentSpec
    means: tuple[float, ...]
    count: int
    period: float = 2.0
    known: int = 2
    """How many peers each device is given: the first ones."""

    @property
    def look_every(self) -> float:
        """Seconds between two looks of a device at its budget; it rests as long in between."""
        return self.period / 8.0

    def __post_init__(self) -> None:
        self.network: Namespaces | Loopback = make_network(self.count)
        self.shared = mmap.mmap(-1, SLOT * (self.count + 1))
        if isinstance(self.network, Loopback):
            assert self.count <= SLOT - 16
            self.network.groups = memoryview(self.shared)[16 : 16 + self.count]  # type: ignore

    @property
    def budget(self) -> int:
        """How many pulls each device may have made."""
        return int.from_bytes(self.shared[:8], "big")

    @budget.setter
    def budget(self, pulls: int) -> None:
        self.shared[:8] = pulls.to_bytes(8, "big")

    def report(self, n: int, what: dict[str, Any]) -> None:
        text = json.dumps(what).encode()
        start = SLOT * (n + 1)
        self.shared[start : start + SLOT] = len(text).to_bytes(4, "big") + text.ljust(SLOT - 4)

    def standing(self, n: int) -> dict[str, Any]:
        start = SLOT * (n + 1)
        while True:
            slot = self.shared[start : start + SLOT]
            size = int.from_bytes(slot[:4], "big")
            try:
                return json.loads(slot[4 : 4 + size]) if size else {}
            except ValueError:
                continue  # it is being written

    def settings(self, n: int) -> GossipSettings:
        return GossipSettings(
            period=self.period, listen=self.network.address(n), allow=self.network.allow
        )

    def store(self, n: int) -> Path:
        return self.folder / f"{n}.db"


class CutDialler(Dialler):
    """Does not dial across a cut."""

    def __init__(self, plan: Plan, n: int) -> None:
        super().__init__(plan.settings(n), source=plan.network.host(n))
        self._plan, self._n = plan, n

    async def __call__(self, address: str, path: str, body: bytes) -> bytes:
        if self._plan.network.crosses(self._n, address):
            raise Unreachable("cut")
        answer = await super().__call__(address, path, body)
        if self._plan.network.crosses(self._n, address):
            raise Unreachable("cut while it answered")
        return answer


class WitnessedBoard(GossipBoard):
    """Writes down what was acknowledged."""

    acknowledged: Any

    async def publish(self, envelope: Envelope) -> Outcome:
        outcome = await super().publish(envelope)
        if outcome is Outcome.ACCEPTED:
            self.acknowledged.write(to_json(envelope.message) + "\n")
        return outcome


def run_device(plan: Plan, n: int, ticket: str, peers: list[int]) -> None:
    """Play as far as the budget goes, and go on exchanging votes until killed."""
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    plan.network.enter(n)
    store = plan.store(n)
    url = f"gossip://{','.join(plan.network.address(p) for p in peers if p != n)}/banner"
    call = CutDialler(plan, n)
    board = WitnessedBoard(
        url,
        store,
        ticket=ticket,
        settings=plan.settings(n),
        dials=lambda _: call,
        dice=random.Random(f"{n}/{time.time_ns()}"),
    )
    board.acknowledged = store.with_suffix(".acknowledged").open("a", buffering=1)
    decisions = store.with_suffix(".decisions").open("a", buffering=1)
    pulled = store.with_suffix(".pulls").open("ab", buffering=0)
    pulls, users, before, shown_at = pulled.tell(), random.Random(f"{n}/{pulled.tell()}"), None, 0.0
    device = Device.join(url, store=store, invite=ticket, board=board)
    while True:
        if pulls < plan.budget:
            choice = device.choose()
            device.reward(float(users.random() < plan.means[choice]), choice)
            pulled.write(b".")
            pulls += 1
        status = device.status()
        decided = {"term": device.core.record.player.tally.term, "shared": list(status.shared)}
        decided["best"] = device.best()
        if status.complete and decided != before:
            decisions.write(json.dumps(decided) + "\n")
            before = decided
        now = time.monotonic()
        if pulls >= plan.budget or now - shown_at > plan.look_every:
            shown_at = now
            plan.report(n, _standing(board, call, device, pulls))
            time.sleep(plan.look_every)


def _standing(board: GossipBoard, call: Dialler, device: Device, pulls: int) -> dict[str, Any]:
    use = resource.getrusage(resource.RUSAGE_SELF)
    status = device.status()
    app = board.app
    assert app is not None
    return {
        "pid": os.getpid(),
        "root": board.votes.root,
        "items": len(board.votes.items),
        "best": device.best(),
        "state": status.state,
        "offline": status.offline_since is not None,
        "degraded": [reason.splitlines()[0] for reason in status.degraded],
        "waiting": len(status.waiting),
        "pulls": pulls,
        "peers": len(board.peers.known),
        "round": board.peers.round,
        "cpu": use.ru_utime + use.ru_stime,
        "bodies": call.sent + call.received + app.sent + app.received,
        "refused": app.refused,
    }


class Fleet:
    """The processes of a run."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.pids: dict[int, int] = {}
        self.tickets: dict[int, str] = {}
        self.cpu_before: dict[int, float] = {}

    def prepare(self, n: int) -> None:
        self.tickets[n] = prepare(self.plan.store(n), n + 1, self.plan.spec)

    def start(self, n: int, peers: list[int] | None = None) -> None:
        """Start a device, the first time or again."""
        if n not in self.tickets:
            self.prepare(n)
        known = list(range(self.plan.known)) if peers is None else peers
        self.fork(n, run_device, self.plan, n, self.tickets[n], known)

    def start_work(self, n: int, work: Any, *arguments: Any) -> None:
        """Let a process beside the devices do something, and wait for it."""
        self.fork(n, work, *arguments)
        _, status = os.waitpid(self.pids.pop(n), 0)
        assert status == 0, f"see {self.plan.folder}/log.txt"

    def fork(self, n: int, work: Any, *arguments: Any) -> None:
        self.plan.report(n, {})
        pid = os.fork()
        if pid:
            self.pids[n] = pid
            return
        try:
            work(*arguments)
            os._exit(0)
        except BaseException:
            with (self.plan.folder / "log.txt").open("a") as log:
                traceback.print_exc(file=log)
        finally:
            os._exit(70)

    def kill(self, n: int) -> None:
        pid = self.pids.pop(n)
        self.cpu_before[n] = self.cpu_before.get(n, 0.0) + self.plan.standing(n).get("cpu", 0.0)
        with suppress(ProcessLookupError, ChildProcessError):  # it has ended, and was found so
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    def check_alive(self) -> None:
        for n, pid in self.pids.items():
            found, status = os.waitpid(pid, os.WNOHANG)
            assert not found, f"device {n} ended: {status}; see {self.plan.folder}/log.txt"

    def standings(self) -> dict[int, dict[str, Any]]:
        return {n: self.plan.standing(n) for n in self.pids}

    def await_(self, ready: Any, timeout: float, what: str) -> float:
        """Wait until ``ready`` holds of what all report; returns how many seconds that took."""
        began = time.monotonic()
        while True:
            shown = self.standings()
            if all(shown.values()) and ready(shown):
                return time.monotonic() - began
            self.check_alive()
            if time.monotonic() - began > timeout:
                raise AssertionError(f"{what}: not after {timeout:.0f} s; {_differing(shown)}")
            time.sleep(0.05)

    def end(self) -> None:
        """End all processes."""
        for n in list(self.pids):
            self.kill(n)

    def close(self) -> None:
        self.end()
        self.plan.network.close()


def _differing(shown: dict[int, dict[str, Any]]) -> str:
    """Who holds which set, and one of each."""
    groups: dict[str, list[int]] = {}
    for n, each in shown.items():
        groups.setdefault(each.get("root", "-"), []).append(n)
    return "; ".join(f"{group}: {shown[group[0]]}" for group in list(groups.values())[:4])


def equal(shown: dict[int, dict[str, Any]]) -> bool:
    """Whether all hold the same set, and nothing waits."""
    roots = {each["root"] for each in shown.values()}
    return len(roots) == 1 and not any(each["waiting"] for each in shown.values())


def pss(pid: int) -> tuple[int, int]:
    """The memory of a process in bytes: its share of all, and what is its own."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    found = {line.split(":")[0]: line.split()[1] for line in lines[1:]}
    private = int(found["Private_Dirty"]) + int(found["Private_Clean"])
    return int(found["Pss"]) * 1024, private * 1024
