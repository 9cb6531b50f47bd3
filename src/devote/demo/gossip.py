"""The main job without a server: devices in two processes, and a network that breaks in two.

Each process is one side. While the file ``cut`` is there, devices cannot dial the other side: that
is the partition, and the one thing here that is played beside the users. In the middle the sides
are cut from each other, go on alone, and are joined again; then both must hold the same votes and
the same answer.

Run as a program (``python -m devote.demo.gossip``) it is one side, and prints how that side stands,
one JSON object per line, until it is stopped.
"""

import json
import random
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from devote.boards.board import Experiment
from devote.boards.identity import Identity
from devote.demo.crowd import JOINING_AT_ONCE, stopped_by_signals
from devote.demo.demonstration import TIMEOUT, Happening, Outcome, Story, banner_experiment
from devote.demo.processes import DemonstrationError, Program, free_ports
from devote.device import Device
from devote.device.device import prepare_store
from devote.device.sync import Pace
from devote.gossip import Certificate, GossipBoard, GossipSettings, Ticket
from devote.gossip.exchange import Unreachable
from devote.gossip.http import Dialler
from devote.gossip.votes import VoteSet
from devote.protocol import Scheme
from devote.schemes import Decentralized

SIDES = 2
DEVICES = 32
PERIOD = 0.5
LOOK_EVERY = 0.1
REPORT_EVERY = 0.2
QUICK = Pace(every=0.5, base=0.1, cap=0.5)
CUT_AFTER, HEAL_AFTER = 0.2, 4.0
"""The network breaks when a fifth of the votes are there, and heals after so many seconds."""


def between_peers(scheme: Scheme, *, players: int, arms: int) -> Experiment:
    """An experiment with a quorum at which the sides of a cut network cannot decide differently.

    The issuer is made when it is run.
    """
    if scheme == Decentralized():
        scheme = Decentralized(quorum=players * (arms - 1) // arms + 1)
    experiment = banner_experiment(scheme, players=players, arms=arms)
    issuer = Identity.generate().voter  # with one, a scheme that needs an order is refused
    return replace(experiment, spec=experiment.spec.with_(issuer=issuer))


@dataclass(frozen=True)
class Side:
    """What one process runs: its devices, where each of all devices listens, and whom they know."""

    number: int
    devices: list[int]
    known: list[int]
    addresses: list[str]
    means: list[float]
    seed: int
    name: str
    folder: str


class SideProcess(Program):
    """A process full of devices, all on one side of the network."""

    def __init__(self, side: Side) -> None:
        folder = Path(side.folder)
        file = folder / f"side-{side.number}.json"
        file.write_text(json.dumps(asdict(side)))
        super().__init__(file, folder / "side.log", "devote.demo.gossip", str(file))

    @property
    def report(self) -> dict[str, Any]:
        """What it printed last, empty before that."""
        for row in reversed(self.printed[-1].splitlines()):
            with suppress(ValueError):
                found: dict[str, Any] = json.loads(row)
                return found
        return {}


def demonstrate_gossip(experiment: Experiment, *, means: tuple[float, ...], seed: int = 0) -> Story:
    """Run it, step by step as the story is read; raises if it takes longer than ``TIMEOUT``."""
    with TemporaryDirectory(prefix="devote-demo-") as name, ExitStack() as running:
        began = time.monotonic()

        def event(kind: str, text: str) -> Happening:
            return Happening(kind, time.monotonic() - began, text)

        folder, issuer, players = Path(name), Identity.generate(), experiment.players or DEVICES
        experiment = replace(experiment, spec=experiment.spec.with_(issuer=issuer.voter))
        spec = experiment.spec
        for n in range(players):
            voter = prepare_store(folder / f"device-{n:05d}.db", spec)
            certificate = Certificate.issue(issuer, spec, voter=voter, number=n + 1)
            (folder / f"{n}.json").write_text(Ticket(spec, certificate).to_json())
        yield event("devices", f"{players} keys certified, offline; no server anywhere")
        half = players // SIDES
        addresses = [f"127.0.0.1:{port}" for port in free_ports(players)]
        sides = []
        for number, devices in enumerate((range(half), range(half, players))):
            own = (number, list(devices), [0, half], addresses, list(means), seed)
            process = SideProcess(Side(*own, spec.name, name))
            process.start()
            running.callback(process.stop)
            sides.append(process)
        sizes = f"{half} and {players - half} devices"
        yield event("devices", f"{sizes} in two processes, which know two of them")
        needed = (spec.votes_needed or 1) * (spec.n_arms - 1)
        cut, cut_at, healed = folder / "cut", 0.0, False
        while True:
            time.sleep(LOOK_EVERY)
            _check(sides, began)
            reports = [side.report for side in sides]
            if not all(reports):
                continue
            votes = [report["votes"] for report in reports]
            yield event("messages", f"{votes[0]} and {votes[1]} votes on the two sides")
            if not cut_at and max(votes) >= CUT_AFTER * needed:
                cut.touch()
                cut_at = time.monotonic()
                yield event("chaos", f"the network breaks in two, after {max(votes)} votes")
            elif cut_at and not healed and time.monotonic() - cut_at > HEAL_AFTER:
                cut.unlink()
                healed = True
                held = f"the sides hold {votes[0]} and {votes[1]} votes"
                yield event("chaos", f"the network heals; {held}")
            roots = {root for report in reports for root in report["roots"]}
            answers = [set(report["best"]) for report in reports]
            if healed and len(roots) == 1 and None not in answers[0] | answers[1]:
                break
        for number, found in enumerate(answers):
            names = ", ".join(spec.arm_names[arm] for arm in sorted(found))
            text = f"side {number + 1}, every device: {names}; {votes[number]} votes, the same set"
            yield event("out", text)
        seconds = time.monotonic() - began
        for process in sides:
            process.stop()
        with closing(VoteSet(folder / "device-00000.db")) as kept:
            messages = tuple(kept.messages())
        tally = spec.scheme.tally(spec)
        for message in messages:
            tally.add(message)
        yield Outcome(
            experiment=experiment,
            means=means,
            tally=tally,
            seconds=seconds,
            pulls=sum(report["pulls"] for report in reports),
            messages=messages,
            server_starts=0,
            crowd_starts=SIDES,
            crowds=SIDES,
            chaos=False,
        )


def _check(sides: list[SideProcess], began: float) -> None:
    if time.monotonic() - began > TIMEOUT:
        raise DemonstrationError(f"Not over after {TIMEOUT:.0f} s.\nUse fewer players.")
    for side in sides:
        if not side.running:
            raise DemonstrationError(f"A process of devices failed.\n{side.errors}")


def run_side(side: Side, report: Callable[[Any], None], stop: threading.Event) -> None:
    """Let users come and go until all devices of this side have the answer; then stay."""
    users = random.Random(f"{side.seed}/{side.number}/users")
    with ThreadPoolExecutor(JOINING_AT_ONCE) as pool, ExitStack() as stack:
        devices = list(pool.map(lambda n: _join(side, n), side.devices))
        for device in devices:
            stack.callback(device.close, 0.0)
        pulls, reported_at = 0, 0.0
        while not stop.is_set():
            is_open = any(device.status().state == "open" for device in devices)
            if is_open:
                device = users.choice(devices)
                choice = device.choose()
                device.reward(float(users.random() < side.means[choice]), choice)
                pulls += 1
            else:
                stop.wait(REPORT_EVERY)
            if time.monotonic() - reported_at > REPORT_EVERY or not is_open:
                reported_at = time.monotonic()
                boards = [device.board for device in devices]
                sets = [board.votes for board in boards if isinstance(board, GossipBoard)]
                found = {
                    "pulls": pulls,
                    "roots": sorted({votes.root for votes in sets}),
                    "votes": max(len(votes.items) for votes in sets),
                    "best": [device.best() for device in devices],
                }
                report(found)


def _join(side: Side, n: int) -> Device:
    folder, own = Path(side.folder), {side.addresses[k] for k in side.devices}

    class SidedDialler(Dialler):
        """Reaches its own side only while the network is cut."""

        async def __call__(self, address: str, path: str, body: bytes) -> bytes:
            if address not in own and (folder / "cut").exists():
                raise Unreachable(f"{address} is on the other side.\nIt is asked again later.")
            return await super().__call__(address, path, body)

    listen = side.addresses[n]
    settings = GossipSettings(period=PERIOD, listen=listen, allow=("127.0.0.0/8",), rate=200.0)
    known = ",".join(side.addresses[k] for k in side.known if k != n)
    url, store = f"gossip://{known}/{side.name}", folder / f"device-{n:05d}.db"
    ticket = folder / f"{n}.json"
    board = GossipBoard(url, store, ticket=ticket, settings=settings, dials=SidedDialler)
    return Device.join(url, store=store, board=board, pace=QUICK)


def main() -> None:
    """Run the side that a JSON file describes."""
    side = Side(**json.loads(Path(sys.argv[1]).read_text()))
    run_side(side, lambda found: print(json.dumps(found), flush=True), stopped_by_signals())


if __name__ == "__main__":
    main()
