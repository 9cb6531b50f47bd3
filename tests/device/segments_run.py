"""A survey with segments of thousands of light devices over HTTP, to its last answer.

A light device has a key, an invite and the player that ships, but no store: it joins, reads the
tally that comes with that, plays, and posts its answer at once. Its segment is drawn by lot. The
segments differ in what they like best. Afterwards

- every answer that was acknowledged is on the board, once, and nothing else is;
- each answer is about an arm that its snapshot asked about;
- each segment has the right answer, and devices that came late were shown that of their segment;
- ``devote verify`` finds nothing wrong with the log.

``python -m tests.device.segments_run --devices 30000`` makes the long run.
"""

import argparse
import asyncio
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from devote.boards.board import Experiment, Outcome
from devote.boards.http import HEADERS, HttpBoard
from devote.boards.identity import Identity
from devote.boards.logs import HttpLog
from devote.boards.operator import Operator
from devote.boards.verification import verify_log
from devote.demo.processes import ServerProcess
from devote.protocol import ExperimentSpec, Message
from devote.schemes import SegmentedAnswer, Survey

MEANS = {
    "phone": (0.55, 0.45, 0.45, 0.45),
    "tablet": (0.45, 0.45, 0.55, 0.45),
    "desktop": (0.45, 0.45, 0.45, 0.55),
}
SHARES = (6, 3, 2)
"""Of the segments: as 1, 1/2 and 1/3."""

SPEC = ExperimentSpec(
    arms=4,
    name="segments",
    epsilon=0.05,
    scheme=Survey(privacy=4.0, segments=tuple(MEANS)),
)
AT_ONCE = 32
INVITES = 10_000


@dataclass
class Report:
    """What devices have sent, what they were shown, and what the board holds in the end."""

    spec: ExperimentSpec
    means: Mapping[str, tuple[float, ...]]
    joined: Counter[str] = field(default_factory=Counter)
    """Devices of each segment."""
    acknowledged: list[Message] = field(default_factory=list)
    shown_late: list[tuple[str, int]] = field(default_factory=list)
    """The segment and the arm of each device that came after the last decision."""
    board: list[Message] = field(default_factory=list)
    decided_at: dict[str, int] = field(default_factory=dict)
    """After how many answers each segment had its answer."""
    is_verified: bool = False
    seconds: float = 0.0

    def check(self) -> None:
        """Nothing lost, nothing twice, each segment right, and its devices are shown that."""
        assert len(set(self.board)) == len(self.board)
        assert len({message.voter for message in self.board}) == len(self.board)
        assert set(self.acknowledged) == set(self.board), "one is lost, or was made up"
        tally = self.spec.scheme.tally(self.spec)
        asked = [tally.public()["asked"]]
        self.decided_at.clear()
        for message in self.board:
            assert isinstance(message, SegmentedAnswer)
            assert message.arm in asked[message.seen], "its snapshot did not ask about its arm"
            assert tally.add(message)
            asked.append(tally.public()["asked"])
            for z, name in enumerate(self.means):
                if tally.is_decided(z):
                    self.decided_at.setdefault(name, len(tally))
        best = {name: row.index(max(row)) for name, row in self.means.items()}
        found = {name: tally.leader(z) for z, name in enumerate(self.means)}
        assert set(self.decided_at) == set(self.means), "undecided"
        assert found == best, "a wrong answer"
        assert all(arm == best[name] for name, arm in self.shown_late), "shown another's answer"
        assert self.is_verified


async def visit(board: HttpBoard, invite: str, segment: str, report: Report, rng: random.Random):
    """Join, play once, and post the answer if one is asked for."""
    identity = Identity.generate()
    joined = await board.join(identity, invite)
    assert joined.outcome == "accepted"
    report.joined[segment] += 1
    player = report.spec.scheme.player(report.spec, identity.voter)
    player.read(joined.tally.tally)
    draw = random.SystemRandom().random
    arm = player.activate(draw(), segment=segment, draws=draw)
    messages = player.reward(float(rng.random() < report.means[segment][arm]))
    if not messages:
        report.shown_late.append((segment, arm))
    for message in messages:
        outcome = await board.publish(identity.sign(message, joined.tally.scope))
        if outcome is Outcome.REFUSED:  # decided meanwhile
            assert (await board.tally()).tally["status"] == "agreed"
        else:
            report.acknowledged.append(message)


async def visit_all(url: str, invites: list[str], report: Report, seed: int) -> None:
    """All devices, so many at a time; their segments come by lot."""
    rng = random.Random(seed)
    kinds = rng.choices(list(report.means), SHARES[: len(report.means)], k=len(invites))
    coming = iter(zip(invites, kinds, strict=True))

    async def some(coming: Iterator[tuple[str, str]]) -> None:
        for invite, segment in coming:
            await visit(board, invite, segment, report, rng)

    limits = httpx.Limits(max_connections=AT_ONCE)
    async with (
        httpx.AsyncClient(headers=HEADERS, limits=limits) as client,
        asyncio.TaskGroup() as group,
    ):
        board = HttpBoard(url, client, timeout=60.0)
        for _ in range(AT_ONCE):
            group.create_task(some(coming))


def run(
    folder: Path,
    *,
    devices: int,
    spec: ExperimentSpec = SPEC,
    means: Mapping[str, tuple[float, ...]] = MEANS,
    seed: int = 1,
) -> Report:
    """Run a survey with so many devices on a server of its own, and verify its log."""
    started, report = time.monotonic(), Report(spec, means)
    server = ServerProcess(folder)
    server.start()
    with ExitStack() as running:
        running.callback(server.stop)
        operator = running.enter_context(Operator(server.address, server.token))
        url = operator.open(Experiment(spec, "invite", devices))
        invites: list[str] = []
        while len(invites) < devices:
            invites += operator.invites(spec.name, min(INVITES, devices - len(invites)))
        asyncio.run(visit_all(url, invites, report, seed))
        report.board = [message for _, message in operator.messages(spec.name, spec.n_arms)]
        with HttpLog(url) as log:
            report.is_verified = verify_log(log).ok
    report.seconds = time.monotonic() - started
    return report


def main() -> None:
    """The long run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--devices", type=int, default=30_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="devote-segments-") as folder:
        report = run(Path(folder), devices=given.devices, seed=given.seed)
    print(f"{given.devices:,} devices in {report.seconds:.0f} s: {dict(report.joined)}")
    report.check()
    late = Counter(name for name, _ in report.shown_late)
    print(
        f"{len(report.board):,} answers on the board, all that were acknowledged, none twice.\n"
        f"Decided, each right, after so many answers: {report.decided_at}; verified.\n"
        f"Shown the answer of their segment afterwards: {dict(late)}"
    )


if __name__ == "__main__":
    main()
