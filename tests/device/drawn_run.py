"""Answers until a survey is decided, from light devices over HTTP against a real server.

A light device is the player of a survey and a key, without a store: it enrols, reads the tally,
draws an arm, makes its answer and posts it; then the next one comes. So every device draws from
the newest tally, as in the column "drawn" of the reference values.

``python -m tests.device.drawn_run --privacy 1 --experiments 40`` makes the long run on problem 1.
"""

import argparse
import asyncio
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tests.device.survey_run import privacy

from devote.boards.board import Experiment, Outcome
from devote.boards.http import HttpBoard
from devote.boards.identity import Identity
from devote.boards.logs import HttpLog
from devote.boards.operator import Operator
from devote.boards.verification import verify_log
from devote.demo.processes import ServerProcess
from devote.problems import PROBLEMS
from devote.protocol import ExperimentSpec, Message
from devote.schemes import Survey

AT_ONCE = 8
"""Experiments at a time; in each, one device comes after the other."""


@dataclass(frozen=True)
class Ended:
    """How one experiment ended: the answers on its board, the arm, and what `verify` says."""

    log: tuple[Message, ...]
    arm: int
    is_verified: bool


async def light_device(
    board: HttpBoard, spec: ExperimentSpec, means: Sequence[float], draw: Callable[[], float]
) -> bool:
    """One device comes, answers, and goes; whether the survey was still open."""
    identity = Identity.generate()
    await board.enrol(identity)
    read = await board.tally()
    if read.tally["status"] != "open":
        return False
    player = spec.scheme.player(spec, identity.voter)
    player.read(read.tally)
    arm = player.activate(draw(), draw())
    (answer,) = player.reward(float(draw() < means[arm]))
    envelope = identity.sign(answer, read.scope)
    assert await board.publish(envelope) is Outcome.ACCEPTED
    return True


async def experiment(url: str, spec: ExperimentSpec, means: Sequence[float], seed: int) -> int:
    """One survey up to its decision; the arm that it settled on."""
    draw = random.Random(f"{seed}/{spec.name}").random
    async with HttpBoard(url) as board:
        while await light_device(board, spec, means, draw):
            pass
        return int((await board.tally()).tally["answer"][0])


async def _all(
    urls: Sequence[str], specs: Sequence[ExperimentSpec], means: Sequence[float], seed: int
) -> list[int]:
    turns = asyncio.Semaphore(AT_ONCE)

    async def in_turn(url: str, spec: ExperimentSpec) -> int:
        async with turns:
            return await experiment(url, spec, means, seed)

    return await asyncio.gather(*map(in_turn, urls, specs))


def run(
    spec: ExperimentSpec,
    folder: Path,
    *,
    means: Sequence[float],
    experiments: int,
    seed: int = 1,
) -> list[Ended]:
    """So many experiments with one specification, on one server; each is verified at its end."""
    server = ServerProcess(folder)
    server.start()
    try:
        with Operator(server.address, server.token) as operator:
            specs = [spec.with_(name=f"{spec.name}-{n}") for n in range(experiments)]
            urls = [operator.open(Experiment(each, "open")) for each in specs]
            arms = asyncio.run(_all(urls, specs, means, seed))
            return [_ended(operator, *each) for each in zip(urls, specs, arms, strict=True)]
    finally:
        server.stop()


def _ended(operator: Operator, url: str, spec: ExperimentSpec, arm: int) -> Ended:
    with HttpLog(url) as log:
        report = verify_log(log)
    assert report.answer == (arm,)
    found: list[Message] = []
    while rows := operator.messages(spec.name, spec.n_arms, len(found)):
        found += [message for _, message in rows]
    return Ended(tuple(found), arm, report.ok)


def main() -> None:
    """The long run, on problem 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--privacy", type=privacy, default=1.0)
    parser.add_argument("--experiments", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    problem = PROBLEMS["1"]
    means = tuple(problem.means)
    spec = ExperimentSpec(arms=len(means), name="drawn", scheme=Survey(options.privacy))
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="devote-drawn-") as folder:
        how = {"experiments": options.experiments, "seed": options.seed}
        ended = run(spec, Path(folder), means=means, **how)
    answers = np.array([len(each.log) for each in ended])
    good = max(means) - spec.epsilon
    wrong = sum(means[each.arm] < good for each in ended)
    print(
        f"{len(ended)} experiments in {time.monotonic() - began:.0f} s: {answers.mean():.1f} +- "
        f"{answers.std(ddof=1) / len(answers) ** 0.5:.1f} answers, 95 % within "
        f"{np.percentile(answers, 95):.0f}; {wrong} wrong; "
        f"{sum(each.is_verified for each in ended)} verified"
    )


if __name__ == "__main__":
    main()
