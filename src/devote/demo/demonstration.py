"""The main job end to end: a server, devices with hidden users, and messages between them.

``demonstrate`` starts real processes on this machine, watches the board as anybody could, and
yields what happens as it happens. With chaos it kills the server and devices as it goes.
"""

import random
import time
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

from devote.boards.board import BoardUnavailable, Experiment
from devote.boards.operator import Operator
from devote.demo.processes import CrowdProcess, DemonstrationError, ServerProcess, Task
from devote.protocol import ExperimentSpec, Message, Scheme, Status, Tally, to_json
from devote.schemes import Survey, make_scheme

BANNERS = (
    "Sport tonight",
    "New series",
    "Film of the week",
    "Cartoons",
    "Cooking live",
    "Late news",
    "Quiz hour",
    "Documentaries",
    "Concerts",
    "Weather",
)
"""Ten banners, as in the paper's own example of promoting television."""

MEANS = (0.7, 0.5, 0.3, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1)
WORKERS = 2
TIMEOUT = 300.0
LOOK_EVERY = 0.25
FIRST_BLOW = 3.0
BETWEEN_BLOWS = 2.0
"""Seconds; at least, and up to as much again and a half."""

BLOWS_BY_MESSAGES = 4
"""The first message brings a blow, and so does each further share of those needed."""

REPLY_AFTER = 2
"""Seconds after which the devices of a survey answer, unless a parameter sets another."""

DEVICES = 64
VISITORS = 3_000
"""Devices of a survey by default: each gives one answer."""


@dataclass(frozen=True)
class Happening:
    """Something that happened: what, when (seconds since the start), and in words."""

    kind: str
    seconds: float
    text: str


@dataclass(frozen=True)
class Outcome:
    """What a demonstration came to; ``pulls`` is known only because the users were played here."""

    experiment: Experiment
    means: tuple[float, ...]
    tally: Tally
    seconds: float
    pulls: int
    messages: tuple[Message, ...]
    server_starts: int
    crowd_starts: int
    crowds: int
    chaos: bool

    @property
    def status(self) -> Status:
        """Whether the devices have settled on one arm."""
        return self.tally.status(self.experiment.players)

    @property
    def server_kills(self) -> int:
        """How often the server was killed."""
        return max(0, self.server_starts - 1)

    @property
    def crowd_kills(self) -> int:
        """How often a process full of devices was killed."""
        return self.crowd_starts - self.crowds

    @property
    def bytes_sent(self) -> int:
        """The bytes of all messages as they are sent, without signatures."""
        return sum(len(to_json(message)) for message in self.messages)

    @property
    def busiest(self) -> tuple[Message, ...]:
        """All that the device with the most messages has sent: what an eavesdropper saw of it."""
        counts = Counter(message.voter for message in self.messages)
        busiest = max(counts, key=counts.__getitem__, default=None)
        return tuple(message for message in self.messages if message.voter == busiest)

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        same = ("status", "pulls", "seconds", "server_starts", "crowd_starts")
        return {name: getattr(self, name) for name in same} | {
            "spec": self.experiment.spec.to_dict(),
            "n_players": self.experiment.players,
            "answer": list(self.tally.answer),
            "counts": self.tally.view()["counts"],
            "means": list(self.means),
            "messages": len(self.messages),
            "bytes": self.bytes_sent,
            "kills": self.server_kills + self.crowd_kills,
        }


def banner_experiment(
    scheme: Scheme | None = None, *, players: int | None = None, arms: int = len(BANNERS)
) -> Experiment:
    """An experiment with so many banners and devices."""
    names = BANNERS if arms == len(BANNERS) else tuple(f"Banner {k}" for k in range(arms))
    how = make_scheme(scheme)
    is_survey = isinstance(how, Survey)
    if players is None:
        players = VISITORS if is_survey else DEVICES
    spec = ExperimentSpec(arms=names, name="banner", scheme=how)
    return Experiment(spec, "invite", players)


def quickly(scheme: str | None, parameters: Sequence[str]) -> list[str]:
    """Parameters of a scheme with which nobody has to wait, unless they are set.

    >>> quickly("survey", ["privacy=2"])
    ['reply_after=2', 'privacy=2']
    """
    return [f"reply_after={REPLY_AFTER}"] * (scheme == Survey.name) + list(parameters)


Story: TypeAlias = Generator["Happening | Outcome", None, None]
"""What happens, and at the end what it came to; until it is closed, the server runs."""


def demonstrate(
    experiment: Experiment, *, means: tuple[float, ...] = MEANS, chaos: bool = False, seed: int = 0
) -> Story:
    """Run it, step by step as the story is read; raises if it takes longer than ``TIMEOUT``."""
    with TemporaryDirectory(prefix="devote-demo-") as name, ExitStack() as running:
        yield from _Demonstration(experiment, means, chaos, seed, Path(name), running).run()


@dataclass
class _Demonstration:
    experiment: Experiment
    means: tuple[float, ...]
    chaos: bool
    seed: int
    folder: Path
    running: ExitStack

    def __post_init__(self) -> None:
        self.dice = random.Random(f"{self.seed}/chaos")
        self.server = ServerProcess(self.folder)
        self.crowds: list[CrowdProcess] = []
        self.messages: list[Message] = []
        self.tally = self.experiment.spec.scheme.tally(self.experiment.spec)
        self.started = time.monotonic()

    def run(self) -> Story:
        self.server.start()
        self.running.callback(self.server.stop)
        operator = self.running.enter_context(Operator(self.server.address, self.server.token))
        url = operator.open(self.experiment)
        assert self.experiment.players is not None
        invites = operator.invites(self.experiment.name, self.experiment.players)
        yield self._event("open", f"{self.server.address}/#{self.experiment.name}")
        share = -(-len(invites) // WORKERS)
        for first in range(0, len(invites), share):
            own = dict(enumerate(invites[first : first + share], first))
            task, scheme = Task(url, self.folder, self.means, own, self.seed), self._scheme
            if isinstance(scheme, Survey):
                task = replace(task, answers=scheme.answers, reply_after=scheme.reply_after)
            crowd = CrowdProcess(task)
            crowd.start()
            self.running.callback(crowd.kill)
            self.crowds.append(crowd)
        yield self._event("devices", f"{len(invites)} devices in {len(self.crowds)} processes")
        yield from self._watch(operator)
        yield Outcome(
            experiment=self.experiment,
            means=self.means,
            tally=self.tally,
            seconds=time.monotonic() - self.started,
            pulls=sum(crowd.pulls for crowd in self.crowds),
            messages=tuple(self.messages),
            server_starts=self.server.starts,
            crowd_starts=sum(crowd.starts for crowd in self.crowds),
            crowds=len(self.crowds),
            chaos=self.chaos,
        )

    @property
    def _scheme(self) -> Scheme:
        return self.experiment.spec.scheme

    def _watch(self, operator: Operator) -> Iterator[Happening]:
        next_blow, messages_for_blow = time.monotonic() + FIRST_BLOW, 1
        spec, players = self.experiment.spec, self.experiment.players or 1
        needed = players if spec.votes_needed is None else spec.votes_needed * (spec.n_arms - 1)
        share = max(1, needed // BLOWS_BY_MESSAGES)
        while any(crowd.running for crowd in self.crowds):
            if time.monotonic() - self.started > TIMEOUT:
                raise DemonstrationError(f"Not over after {TIMEOUT:.0f} s.\nUse fewer players.")
            for crowd in self.crowds:
                if crowd.failed:
                    raise DemonstrationError(f"A process of devices failed.\n{crowd.errors}")
            yield from self._read(operator)
            is_due = time.monotonic() > next_blow or len(self.messages) >= messages_for_blow
            if self.chaos and is_due:
                yield self._strike()
                messages_for_blow = len(self.messages) + share
                next_blow = time.monotonic() + BETWEEN_BLOWS * (1.0 + 1.5 * self.dice.random())
            time.sleep(LOOK_EVERY)
        yield from self._read(operator)

    def _read(self, operator: Operator) -> Iterator[Happening]:
        """The messages that have come, and what follows from them."""
        spec = self.experiment.spec
        try:
            posted = operator.messages(spec.name, spec.n_arms, len(self.messages))
        except BoardUnavailable:
            return
        for _, message in posted:
            before = self.tally.shared
            self.messages.append(message)
            self.tally.add(message)
            if out := [arm for arm in before if arm not in self.tally.shared]:
                yield from self._explain(out)
        if posted:
            yield self._event("messages", f"{len(self.messages)} messages")

    def _explain(self, out: list[int]) -> Iterator[Happening]:
        """Arms are out because of the messages about them, or because another arm has won."""
        names, view = self.experiment.spec.arm_names, self.tally.view()
        counts, needed = view["counts"], view["needed"]
        if needed is None:
            against = [] if len(self.tally.shared) == 1 else out
            why = f"out, after {{}} {view['heading']}"
        else:
            against = [arm for arm in out if counts[arm] >= needed]
            why = "out, by {} votes"
        for arm in against:
            yield self._event("out", f"{names[arm]} is {why.format(counts[arm])}")
        if not against:
            (won,) = self.tally.shared
            text = f"{names[won]} is the answer, {view['heading']}: {counts[won]}"
            yield self._event("answer", text)

    def _strike(self) -> Happening:
        alive = [crowd for crowd in self.crowds if crowd.running]
        victim: CrowdProcess | ServerProcess = self.server
        what = "the server; it comes back from its store"
        if alive and self.dice.random() < 0.5:
            victim = self.dice.choice(alive)
            devices = victim.task.invites
            what = f"devices {min(devices)} to {max(devices)}; they come back from their stores"
        victim.kill()
        victim.start()
        return self._event("chaos", f"killed {what}")

    def _event(self, kind: str, text: str) -> Happening:
        return Happening(kind, time.monotonic() - self.started, text)
