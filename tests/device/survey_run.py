"""A survey of thousands of real devices over HTTP, its server and devices killed as it runs.

Each process of devices notes every message before it leaves and again when the server has
acknowledged it, so that what left and what was counted can be compared afterwards:

- every acknowledged answer is on the board, once, and so is every answer of the board among those
  that left;
- no device has two answers there;
- whatever left a device for one question is the same message, signature included: its noise was
  drawn once;
- each arm was asked about in the snapshot that its answer names;
- ``devote verify`` finds nothing wrong with the log.

Some devices may lie: before all others, half of them answer 1 for the best of the bad arms, half
answer 0 for the best arm.

``python -m tests.device.survey_run --devices 5000 --kills 40`` makes the long run. With click rates
and lies: ``--means .08 .06 .05 .04 --epsilon .01 --privacy 3 --liars 20 --lying 20 --devices
20000``.
"""

import argparse
import asyncio
import json
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from devote.boards.board import BoardUnavailable, Envelope, Experiment, Outcome
from devote.boards.http import HttpBoard
from devote.boards.identity import Identity
from devote.boards.logs import HttpLog
from devote.boards.operator import Operator
from devote.boards.verification import verify_log
from devote.demo.crowd import run_crowd
from devote.demo.processes import CrowdProcess, ServerProcess, Task
from devote.protocol import ExperimentSpec, Message, to_json
from devote.schemes import Answer, Survey

MEANS = (0.7, 0.5, 0.3, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1)
PROCESSES = 2


@dataclass(frozen=True)
class Report:
    """What left the devices, what was acknowledged, and what the board holds in the end."""

    spec: ExperimentSpec
    means: tuple[float, ...]
    left: Counter[tuple[str, str]]
    acknowledged: set[tuple[str, str]]
    board: list[Message]
    is_verified: bool
    liars: frozenset[str]
    server_kills: int
    crowd_kills: int
    seconds: float

    def check(self) -> None:
        """Nothing lost, nothing twice, nothing answered in two ways."""
        board = [to_json(message) for message in self.board]
        assert len(set(board)) == len(board)
        assert len({message.voter for message in self.board}) == len(board)
        assert {text for text, _ in self.acknowledged} <= set(board), "an acknowledged one is lost"
        assert set(board) <= {text for text, _ in self.left}, "one was made up"
        answered = Counter(json.loads(text)["voter"] for text, _ in self.left)
        assert set(answered.values()) == {1}, "one question was answered in two ways"
        tally = self.spec.scheme.tally(self.spec)
        asked = [tally.public()["asked"]]
        for message in self.board:
            assert isinstance(message, Answer)
            drawn = message.voter in self.liars or message.arm in asked[message.seen]
            assert drawn, "an arm was drawn that was not asked about"
            assert tally.add(message)
            asked.append(tally.public()["asked"])
        assert self.is_verified

    @property
    def answer(self) -> tuple[int, ...]:
        """The arms left by the board's log, folded again."""
        tally = self.spec.scheme.tally(self.spec)
        for message in self.board:
            assert tally.refusal(message) is None
            assert tally.add(message)
        return tally.answer if tally.status() == "agreed" else ()

    @property
    def verdict(self) -> str:
        """Whether the answer is right, or there is none."""
        if not self.answer:
            return "undecided"
        (arm,) = self.answer
        is_good = self.means[arm] >= max(self.means) - self.spec.epsilon
        return f"arm {arm}, {'right' if is_good else 'wrong'}"


async def lie(url: str, spec: ExperimentSpec, means: Sequence[float], invites: Sequence[str]):
    """Devices that answer 1 for the best of the bad arms, or 0 for the best arm."""
    best = max(range(len(means)), key=means.__getitem__)
    bad = [arm for arm in range(len(means)) if means[arm] < means[best] - spec.epsilon]
    lies = [(max(bad, key=means.__getitem__), 1), (best, 0)]
    posted: list[Envelope] = []
    async with HttpBoard(url) as board:
        for n, invite in enumerate(invites):
            liar = Identity.generate()
            await board.enrol(liar, invite)
            read = await board.tally()
            answer = Answer(spec.name, *lies[n % 2], 1, read.tally["snapshot"], liar.voter)
            posted.append(liar.sign(answer, read.scope))
            assert await board.publish(posted[-1]) is Outcome.ACCEPTED
    return posted


def run(
    spec: ExperimentSpec,
    folder: Path,
    *,
    devices: int,
    kills: int,
    lying: int = 0,
    means: tuple[float, ...] = MEANS,
    seed: int = 1,
) -> Report:
    """Run a survey to its end amid kills, half of them of the server.

    Beside ``devices`` that tell the truth there are ``lying`` ones.
    """
    dice, started = random.Random(seed), time.monotonic()
    server = ServerProcess(folder)
    server.start()
    with ExitStack() as running:
        running.callback(server.stop)
        operator = running.enter_context(Operator(server.address, server.token))
        url = operator.open(Experiment(spec, "invite", devices + lying))
        invites = _invites(operator, spec.name, devices)
        lies = asyncio.run(lie(url, spec, means, _invites(operator, spec.name, lying)))
        crowds = []
        for first in range(PROCESSES):
            own = {n: invites[n] for n in range(first, devices, PROCESSES)}
            task = Task(url, folder, means, own, seed, 1, spec.scheme.sending.reply_after)
            crowds.append(CrowdProcess(task, "tests.device.survey_run"))
            running.callback(crowds[-1].kill)
            crowds[-1].start()
        struck = server_kills = 0
        while any(crowd.running for crowd in crowds):
            assert not any(crowd.failed for crowd in crowds), crowds[0].errors
            gone = sum(len(file.read_text().split()) for file in folder.glob("gone-*.txt"))
            if struck < kills and gone >= (struck + 0.5 + dice.random()) * devices / (kills + 2):
                struck += 1
                alive = [crowd for crowd in crowds if crowd.running]
                victim = server if dice.random() < 0.5 or not alive else dice.choice(alive)
                server_kills += victim is server
                victim.kill()
                time.sleep(dice.random() / 4)
                victim.start()
            time.sleep(0.05)
        board: list[Message] = []
        while rows := _read(operator, spec, len(board)):
            board += rows
        with HttpLog(url) as log:
            is_verified = verify_log(log).ok
    lines = [
        line.split("\t")
        for file in folder.glob("sent-*.txt")
        for line in file.read_text().splitlines()
    ]
    lied = [(to_json(each.message), each.signature) for each in lies]
    left = [(text, signature) for kind, text, signature in lines if kind == "left"]
    return Report(
        spec,
        means,
        left=Counter([*lied, *left]),
        acknowledged={*lied, *((text, sign) for kind, text, sign in lines if kind != "left")},
        board=board,
        is_verified=is_verified,
        liars=frozenset(each.message.voter for each in lies),
        server_kills=server_kills,
        crowd_kills=struck - server_kills,
        seconds=time.monotonic() - started,
    )


def _invites(operator: Operator, name: str, count: int) -> list[str]:
    found: list[str] = []
    while len(found) < count:
        found += operator.invites(name, min(10_000, count - len(found)))
    return found


def _read(operator: Operator, spec: ExperimentSpec, after: int) -> list[Message]:
    while True:
        try:
            return [message for _, message in operator.messages(spec.name, spec.n_arms, after)]
        except BoardUnavailable:
            time.sleep(0.1)


def crowd(file: Path) -> None:
    """A process of devices that notes what leaves and what is acknowledged."""
    task = Task.from_json(file.read_bytes())
    log = (task.folder / f"sent-{min(task.invites)}.txt").open("a", buffering=1)

    def note(kind: str, envelope: Envelope) -> None:
        log.write(f"{kind}\t{to_json(envelope.message)}\t{envelope.signature}\n")

    class NotingBoard(HttpBoard):
        async def publish(self, envelope: Envelope) -> Outcome:
            note("left", envelope)
            outcome = await super().publish(envelope)
            if outcome is not Outcome.REFUSED:
                note("acknowledged", envelope)
            return outcome

    run_crowd(task, lambda _: None, threading.Event(), NotingBoard)


def main() -> None:
    """The long run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--devices", type=int, default=5000)
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--means", type=float, nargs="+", default=MEANS)
    parser.add_argument("--epsilon", type=float, default=0.25)
    parser.add_argument("--delta", type=float, default=0.05)
    parser.add_argument("--algorithm", help="the scheme's default if it is left out")
    parser.add_argument("--privacy", type=privacy, default=0.7, help="a number, or none")
    parser.add_argument("--liars", type=int, default=0, help="lies that the survey tolerates")
    parser.add_argument("--lying", type=int, default=0, help="devices that lie")
    options = parser.parse_args()
    spec = ExperimentSpec(
        arms=len(options.means),
        name="survey",
        algorithm=options.algorithm,
        epsilon=options.epsilon,
        delta=options.delta,
        scheme=Survey(privacy=options.privacy, reply_after=3.0, liars=options.liars),
    )
    how = {"devices": options.devices, "kills": options.kills, "lying": options.lying}
    with tempfile.TemporaryDirectory(prefix="devote-survey-") as folder:
        report = run(spec, Path(folder), means=tuple(options.means), **how)
    report.check()
    again = sum(count - 1 for count in report.left.values())
    print(
        f"{options.devices:,} devices and {options.lying} lying ones in {report.seconds:.0f} s; "
        f"killed: the server {report.server_kills} times, processes full of devices "
        f"{report.crowd_kills} times.\n"
        f"{len(report.board):,} answers on the board, {len(report.acknowledged):,} acknowledged, "
        f"none lost, none twice; {again} sent again, each the same.\n"
        f"{spec.algorithm}: {report.verdict}; verified"
    )


def privacy(text: str) -> float | None:
    """A number, or ``none``."""
    return None if text == "none" else float(text)


if __name__ == "__main__":
    crowd(Path(sys.argv[1])) if sys.argv[1:2] and sys.argv[1].endswith(".json") else main()
