"""Three nodes, two servers and 64 devices, while nodes and servers are killed, paused and cut off.

The devices take part in one experiment after the other: surveys, juries and votes. An observer
reads the tallies of both servers all the while. In the end
- every acknowledged message is on the board, once, and every message there has left a device;
- both servers hold the same log, which comes to the right answer, the one that the devices have;
- no two tallies of one number ever differed, on whichever servers, and no decision was taken back;
- a second message about a question that has its answer is refused through either server.

``python -m tests.server.cluster_run --kills 50`` makes the long run.
"""

import argparse
import asyncio
import http.client
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.server.cluster import Cluster, cluster
from tests.server.cluster_crowd import Crowd

from devote.boards.board import Experiment, Outcome, Posted
from devote.boards.http import HttpBoard
from devote.boards.identity import verify
from devote.boards.operator import Operator
from devote.device.store import Store
from devote.protocol import ExperimentSpec, Message, to_json
from devote.protocol.messages import kind_of
from devote.schemes import Answer, Jury, Pick, Survey

MEANS = {"survey": (0.65, 0.5, 0.4, 0.3), "jury": (0.8, 0.4, 0.2, 0.1)}
MEANS["decentralized"] = MEANS["jury"]
"""What users like; in a survey it takes hundreds of answers to tell."""

PROCESSES = 2
ARMS = 4


def specification(name: str) -> ExperimentSpec:
    """Surveys, juries and votes in turn, by the number in a name."""
    plain = ExperimentSpec(arms=ARMS, name=name, epsilon=0.3, delta=0.001)
    match int(name.rpartition("-")[2]) % 3:
        case 0:
            scheme = Survey(privacy=None, answers=40, reply_after=1.0)
            return plain.with_(epsilon=0.01, algorithm="mixture_elimination", scheme=scheme)
        case 1:
            return plain.with_(scheme=Jury(seats=15, seat_after=3), eta=0.1)
    return plain.with_(eta=0.5)


def _question(message: Message) -> tuple[object, ...]:
    """What a message is about: a voter has one message for each."""
    kind = kind_of(message)
    return (message.voter, kind.name, *(getattr(message, name) for name in kind.question))


@dataclass
class Observer:
    """Reads the tallies of all servers, again and again."""

    addresses: list[str]
    names: list[str]
    seen: dict[tuple[str, int], str] = field(default_factory=dict)
    decided: dict[str, str] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    reads: int = 0

    def __post_init__(self) -> None:
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._watch, args=(address,)) for address in self.addresses
        ]
        for thread in self._threads:
            thread.start()

    def _watch(self, address: str) -> None:
        while not self._stop.is_set():
            for name in self.names:
                with suppress(OSError, ValueError, http.client.HTTPException):
                    url = f"{address}/experiments/{name}/tally"
                    with urllib.request.urlopen(url, timeout=5) as answer:
                        self._note(name, json.load(answer))
            self._stop.wait(0.1)

    def _note(self, name: str, snapshot: dict) -> None:
        tally = json.dumps(snapshot["tally"], sort_keys=True)
        self.reads += 1
        if self.seen.setdefault((name, snapshot["number"]), tally) != tally:
            self.faults.append(f"{name}: two tallies of number {snapshot['number']}")
        if snapshot["tally"]["status"] != "open":
            end = json.dumps([snapshot["tally"]["status"], snapshot["tally"]["answer"]])
            if self.decided.setdefault(name, end) != end:
                self.faults.append(f"{name}: {self.decided[name]} and {end}")

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()


@dataclass
class Report:
    """What came of it."""

    seconds: float = 0.0
    kills: Counter[str] = field(default_factory=Counter)
    ended: int = 0
    board: int = 0
    acknowledged: int = 0
    again: int = 0
    second_refused: int = 0
    reads: int = 0

    def __str__(self) -> str:
        done = ", ".join(f"{what} {count}" for what, count in sorted(self.kills.items()))
        return (
            f"{self.seconds:.0f} s: {done}.\n"
            f"{self.ended} experiments ended, each with the right answer on every device.\n"
            f"{self.board:,} messages on the boards, {self.acknowledged:,} acknowledged: "
            f"none lost, none twice; {self.again:,} sent again, each the same.\n"
            f"{self.second_refused:,} second messages refused, half through each server; "
            f"{self.reads:,} tallies read, no two of one number differed."
        )


class Chaos:
    """Kills, pauses and cuts, one after the other, each mended before long."""

    def __init__(self, made: Cluster, dice: random.Random, report: Report) -> None:
        self._cluster = made
        self._dice = dice
        self._report = report

    def strike(self) -> None:
        """One fault and its mending."""
        faults: list[Callable[[], None]] = [self._node] * 5 + [self._server] * 4
        faults += [self._pause] * 2 + [self._cut] * 2 + [self._majority]
        self._dice.choice(faults)()

    def _rest(self, longest: float) -> None:
        time.sleep(self._dice.random() * longest)

    def _node(self) -> None:
        node = self._dice.choice(self._cluster.nodes)
        node.kill()
        self._report.kills["nodes killed"] += 1
        self._rest(2.0)
        node.start()

    def _server(self) -> None:
        server = self._dice.choice(self._cluster.servers)
        server.kill()
        self._report.kills["servers killed"] += 1
        self._rest(1.0)
        server.start()
        server.wait()

    def _majority(self) -> None:
        pair = self._dice.sample(self._cluster.nodes, 2)
        for node in pair:
            node.kill()
            self._report.kills["nodes killed"] += 1
        self._rest(2.0)
        for node in pair:
            node.start()

    def _pause(self) -> None:
        node = self._dice.choice(self._cluster.nodes)
        node.pause()
        self._report.kills["nodes paused"] += 1
        self._rest(8.0)
        node.resume()

    def _cut(self) -> None:
        node = self._dice.randrange(len(self._cluster.nodes))
        self._cluster.links.cut(node)
        self._report.kills["nodes cut off"] += 1
        self._rest(12.0)
        self._cluster.links.cut(node, cut=False)


def run(
    folder: Path, *, kills: int, devices: int, seed: int, pause: float = 0.15, first: int = 0
) -> Report:
    """Run experiments amid faults until so many processes were killed, and check everything.

    ``pause`` is the time between two plays of a device, ``first`` the experiment to begin with.
    """
    dice, report, began = random.Random(seed), Report(), time.monotonic()
    names = [f"test-{n}" for n in range(first, first + kills + 3)]
    with ExitStack() as running:
        made = running.enter_context(cluster(folder))
        invites = _open(made, names, devices)
        observer = Observer([server.address for server in made.servers], names[:6])
        running.callback(observer.stop)
        crowds = [
            _crowd(folder, made, names, invites, range(first, devices, PROCESSES), pause)
            for first in range(PROCESSES)
        ]
        running.callback(lambda: [crowd.kill() for crowd in crowds if crowd.poll() is None])
        chaos = Chaos(made, dice, report)
        while not all((folder / f"sent-{n}.txt").exists() for n in range(PROCESSES)):
            assert all(crowd.poll() is None for crowd in crowds), f"see {folder}"
            time.sleep(0.1)
        while sum(report.kills[f"{what} killed"] for what in ("nodes", "servers")) < kills:
            assert all(crowd.poll() is None for crowd in crowds), "a crowd has ended too early"
            ended = len(_ended(folder))
            observer.names[:] = names[max(0, ended - 1) : ended + 2]
            chaos.strike()
            time.sleep(0.3 + 2.0 * dice.random())
        (folder / "stop").touch()
        for server in made.servers:
            server.wait()
        for crowd in crowds:
            assert crowd.wait(300) == 0, f"see {folder}"
        observer.names[:] = names[: len(_ended(folder))]
        time.sleep(1.0)
        observer.stop()
        assert not observer.faults, observer.faults[:5]
        report.reads = observer.reads
        _check(folder, made, observer, report)
    report.seconds = time.monotonic() - began
    return report


def _open(made: Cluster, names: list[str], devices: int) -> dict[str, dict[int, str]]:
    invites = {}
    with Operator(made.servers[0].address, made.servers[0].token, timeout=30.0) as operator:
        for name in names:
            operator.open(Experiment(specification(name), "invite", devices))
            invites[name] = dict(enumerate(operator.invites(name, devices)))
    return invites


def _crowd(folder, made, names, invites, numbers, pause) -> "subprocess.Popen[bytes]":
    own = {name: {n: invites[name][n] for n in numbers} for name in names}
    means = {name: MEANS[specification(name).scheme.name] for name in names}
    crowd = Crowd(folder, made.addresses, tuple(names), own, means, pause)
    file = folder / f"crowd-{crowd.first}.json"
    file.write_text(crowd.to_json())
    with (folder / f"crowd-{crowd.first}.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.server.cluster_crowd", str(file)], stderr=log
        )


def _ended(folder: Path) -> list[str]:
    """The experiments that all devices have ended."""
    files = list(folder.glob("done-*.txt"))
    if len(files) < PROCESSES:
        return []
    return min((file.read_text().split() for file in files), key=len)


def _check(folder: Path, made: Cluster, observer: Observer, report: Report) -> None:
    sent: dict[str, set[tuple[str, str]]] = {"left": set(), "accepted": set(), "duplicate": set()}
    lefts: Counter[tuple[str, str]] = Counter()
    for file in folder.glob("sent-*.txt"):
        for line in file.read_text().splitlines():
            kind, text, signature = line.split("\t")
            sent.setdefault(kind, set()).add((text, signature))
            lefts[text, signature] += kind == "left"
    acknowledged = sent["accepted"] | sent["duplicate"]
    report.acknowledged = len(acknowledged)
    report.again = sum(count - 1 for count in lefts.values() if count > 1)
    answers = [line.split("\t") for line in (folder / "best.txt").read_text().splitlines()]
    for name in _ended(folder):
        spec = specification(name)
        logs = asyncio.run(_logs(made, spec))
        assert logs[0] == logs[1], f"{name}: the servers hold different logs"
        held = {(to_json(each.envelope.message), each.envelope.signature) for each in logs[0]}
        of_this = {pair for pair in acknowledged if json.loads(pair[0])["experiment"] == name}
        assert of_this <= held, f"{name}: {len(of_this - held)} acknowledged are lost"
        assert held <= sent["left"], f"{name}: one was made up"
        questions = Counter(_question(each.envelope.message) for each in logs[0])
        assert set(questions.values()) <= {1}, f"{name}: one was counted twice"
        tally = spec.scheme.tally(spec)
        for each in logs[0]:
            assert tally.refusal(each.envelope.message) is None
            assert tally.add(each.envelope.message)
        assert (tally.status(), tally.answer) == ("agreed", (0,)), f"{name}: {tally.answer}"
        shown = observer.seen.get((name, len(logs[0])))
        assert shown in (None, json.dumps(tally.public(len(answers)), sort_keys=True))
        own = [int(best) for where, _, best in answers if where == name]
        assert own, name
        assert set(own) == {0}, f"{name}: {own}"
        report.board += len(logs[0])
        report.ended += 1
        report.second_refused += asyncio.run(_second(folder, made, spec, logs[0]))


async def _logs(made: Cluster, spec: ExperimentSpec) -> list[tuple[Posted, ...]]:
    logs = []
    for server in made.servers:
        async with HttpBoard(f"{server.address}/experiments/{spec.name}") as board:
            scope = (await board.fetch_experiment()).scope
            posted = tuple([each async for each in board.read()])
            assert all(verify(each.envelope, scope) for each in posted)
            logs.append(posted)
    return logs


async def _second(
    folder: Path, made: Cluster, spec: ExperimentSpec, log: tuple[Posted, ...]
) -> int:
    """Let some devices send once more what they have sent, and something else."""
    secrets = {}
    for file in folder.glob(f"{spec.name}-*.db"):
        store = Store.open(file)
        saved = store.load()
        secrets[saved.identity.voter] = saved
        store.close()
    refused = 0
    for server in made.servers:
        async with HttpBoard(f"{server.address}/experiments/{spec.name}") as board:
            for posted in random.Random(1).sample(log, min(10, len(log))):
                envelope = posted.envelope
                assert await board.publish(envelope) is Outcome.DUPLICATE
                message = envelope.message
                match message:
                    case Pick():
                        other = Pick(spec.name, (message.arm + 1) % ARMS, message.voter)
                    case Answer():
                        other = replace(message, bit=1 - message.bit)
                    case _:
                        continue  # a vote and a claim has only one form
                saved = secrets[message.voter]
                signed = saved.identity.sign(other, saved.scope)
                assert await board.publish(signed) is Outcome.REFUSED
                refused += 1
            assert (await board.snapshot(len(log))).number == len(log)
    return refused


def main() -> None:
    """The long run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--devices", type=int, default=64)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="devote-cluster-") as folder:
        where = options.folder or Path(folder)
        where.mkdir(exist_ok=True)
        print(run(where, kills=options.kills, devices=options.devices, seed=options.seed))


if __name__ == "__main__":
    main()
