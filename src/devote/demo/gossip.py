"""The main job without a server: devices in two processes, and a network that breaks in two.

Each process is one side. In the middle the sides are cut from each other, go on alone, and are
joined again; then both must hold the same votes and the same answer.
"""

import json
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from devote.boards.board import Experiment
from devote.boards.identity import Identity
from devote.demo.demonstration import PATIENCE, Happening, Outcome, banner_experiment
from devote.demo.processes import DemonstrationError, Program
from devote.device.device import prepare_store
from devote.gossip import Certificate, Ticket
from devote.gossip.votes import VoteSet
from devote.protocol import ExperimentSpec, Message, Scheme
from devote.schemes import Decentralized

SIDES = 2
DEVICES = 32
PERIOD = 0.5
LOOK_EVERY = 0.1
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


class SideProcess(Program):
    """A process full of devices, all on one side of the network."""

    def __init__(self, task: dict[str, Any]) -> None:
        folder = Path(task["folder"])
        file = folder / f"side-{task['side']}.json"
        file.write_text(json.dumps(task))
        super().__init__(file, folder / "side.log", "devote.demo.gossip_crowd", str(file))

    @property
    def told(self) -> dict[str, Any]:
        """What it told last, empty before that."""
        for line in reversed(self.printed.splitlines()):
            with suppress(ValueError):
                found: dict[str, Any] = json.loads(line)
                return found
        return {}


def run_gossip_demonstration(
    tell: Callable[[Happening], None],
    experiment: Experiment,
    *,
    means: tuple[float, ...],
    seed: int = 0,
) -> Outcome:
    """Run it and tell it; raises if it has not ended after some minutes."""
    with TemporaryDirectory(prefix="devote-demo-") as name, ExitStack() as running:
        return _run(tell, experiment, means, seed, Path(name), running)


def _run(
    tell: Callable[[Happening], None],
    experiment: Experiment,
    means: tuple[float, ...],
    seed: int,
    folder: Path,
    running: ExitStack,
) -> Outcome:
    began = time.monotonic()
    issuer, players = Identity.generate(), experiment.players or DEVICES
    experiment = replace(experiment, spec=experiment.spec.with_(issuer=issuer.voter))
    spec = experiment.spec

    def say(kind: str, text: str) -> None:
        tell(Happening(kind, time.monotonic() - began, text))

    addresses = _addresses(players)
    for n in range(players):
        voter = prepare_store(folder / f"device-{n:05d}.db", spec)
        certificate = Certificate.issue(issuer, spec, voter=voter, number=n + 1)
        (folder / f"{n}.json").write_text(Ticket(spec, certificate).to_json())
    say("devices", f"{players} keys certified, offline; no server anywhere")
    half = players // SIDES
    sides = []
    for side, devices in enumerate((range(half), range(half, players))):
        task = {
            "side": side, "devices": list(devices), "known": [0, half], "seed": seed,
            "addresses": addresses, "means": means, "period": PERIOD, "name": spec.name,
            "folder": str(folder),
        }  # fmt: skip
        process = SideProcess(task)
        process.start()
        running.callback(process.stop)
        sides.append(process)
    say("devices", f"{half} and {players - half} devices in two processes, which know two of them")
    needed = (spec.votes_needed or 1) * (spec.n_arms - 1)
    cut, cut_at, healed = folder / "cut", 0.0, False
    while True:
        time.sleep(LOOK_EVERY)
        _check(sides, began)
        told = [side.told for side in sides]
        if not all(told):
            continue
        votes = [each["votes"] for each in told]
        say("messages", f"{votes[0]} and {votes[1]} votes on the two sides")
        if not cut_at and max(votes) >= CUT_AFTER * needed:
            cut.touch()
            cut_at = time.monotonic()
            say("chaos", f"the network breaks in two, after {max(votes)} votes")
        elif cut_at and not healed and time.monotonic() - cut_at > HEAL_AFTER:
            cut.unlink()
            healed = True
            say("chaos", f"the network heals; the sides hold {votes[0]} and {votes[1]} votes")
        roots = {root for each in told for root in each["roots"]}
        answers = [set(each["best"]) for each in told]
        if healed and len(roots) == 1 and None not in answers[0] | answers[1]:
            break
    for side, found in enumerate(answers):
        names = ", ".join(spec.arm_names[arm] for arm in sorted(found))
        say("out", f"side {side + 1}, every device: {names}; {votes[side]} votes, the same set")
    pulls = sum(each["pulls"] for each in told)
    for process in sides:
        process.stop()
    messages = _votes(folder / "device-00000.db", spec)
    tally = spec.scheme.tally(spec)
    for message in messages:
        tally.add(message)
    return Outcome(
        experiment=experiment, means=means, tally=tally, seconds=time.monotonic() - began,
        pulls=pulls, messages=messages, server_starts=0, crowd_starts=SIDES, crowds=SIDES,
        chaos=False,
    )  # fmt: skip


def _check(sides: list[SideProcess], began: float) -> None:
    if time.monotonic() - began > PATIENCE:
        raise DemonstrationError(f"Not over after {PATIENCE:.0f} s.\nUse fewer players.")
    for side in sides:
        if not side.running:
            raise DemonstrationError(f"A process of devices failed.\n{side.complaints}")


def _votes(store: Path, spec: ExperimentSpec) -> tuple[Message, ...]:
    votes = VoteSet(store)
    try:
        return tuple(votes.messages())
    finally:
        votes.close()


def _addresses(count: int) -> list[str]:
    """Free ports of this machine."""
    with ExitStack() as taken:
        listeners = [
            taken.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)
        ]
        return [f"127.0.0.1:{listener.getsockname()[1]}" for listener in listeners]
