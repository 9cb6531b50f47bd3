"""Small experiments for tests of a device: a spec, a store that is set up, a clock, a board."""

import random
from collections.abc import Iterable
from pathlib import Path

from tests.boards.faults import CrashingBoard
from tests.boards.local import here, scope

from devote.boards.board import EnrolmentRefused, Envelope, Experiment, Outcome, TallySnapshot
from devote.boards.identity import Identity
from devote.device.core import Core
from devote.device.steps import Clock
from devote.device.store import Store
from devote.protocol import ExperimentSpec
from devote.schemes import Vote

SPEC = ExperimentSpec(arms=3, name="banner", epsilon=1.0, scheme={"quorum": 2})
NAMED = SPEC.with_(arms=("rose", "green", "blue"))
URL = "http://127.0.0.1:9/experiments/banner"
ME = Identity.from_private_bytes(b"m" * 32)


def set_up(
    path: Path | str = ":memory:", spec: ExperimentSpec = SPEC, players: int | None = 3
) -> Store:
    return joined(Store.open(path), here(spec, players=players), ME)


def joined(store: Store, experiment: Experiment, identity: Identity) -> Store:
    """A store with which this key has joined, in this process."""
    store.identity(experiment.name, identity)
    store.join(experiment, identity)
    return store


def vote(
    number: int,
    arm: int,
    term: int = 0,
    experiment: str = "banner",
    spec: ExperimentSpec = SPEC,
) -> Envelope:
    """A vote by another device."""
    voter = Identity.from_private_bytes(number.to_bytes(32, "big"))
    return voter.sign(Vote(experiment, term, arm, voter.voter), scope(spec))


class HandClock:
    """Two clocks that a test sets."""

    def __init__(self) -> None:
        self.wall = 1_000_000.0
        self.monotonic = 0.0

    @property
    def clock(self) -> Clock:
        return Clock(lambda: self.wall, lambda: self.monotonic)

    def pass_(self, seconds: float) -> None:
        self.wall += seconds
        self.monotonic += seconds


def play_until_vote(core: Core, best: int = 0, seed: int = 0) -> None:
    """Play until the device has produced a message more than it had."""
    rng = random.Random(seed)
    before = len(core.waiting) + len(core.status().sent)
    while len(core.waiting) + len(core.status().sent) == before:
        core.reward(1.0 if core.choose(rng.random()) == best else 0.0)


def device(
    identity: Identity, spec: ExperimentSpec, path: Path | str = ":memory:", players: int = 6
) -> Core:
    """A device of its own identity, set up and open."""
    return Core(joined(Store.open(path), here(spec, players=players), identity))


def pull(core: Core, rng: random.Random, best: int = 0) -> None:
    """One pull of a user who likes one arm only."""
    core.reward(1.0 if core.choose(rng.random()) == best else 0.0)


class PretendServer(CrashingBoard):
    """A board in memory that knows how many take part and can ask for an invite."""

    def __init__(
        self,
        spec: ExperimentSpec = SPEC,
        players: int | None = 3,
        enrolled: Iterable[str] | None = (),
    ) -> None:
        super().__init__(spec, enrolled=enrolled)
        self.experiment = here(spec, players=players)
        self.invites: set[str | None] = {None}
        self.closed = False

    async def fetch_experiment(self) -> Experiment:
        self.check_up()
        return self.experiment

    async def tally(self) -> TallySnapshot:
        self.check_up()
        return TallySnapshot.of(
            self.experiment.scope, len(self._posted), self.ledger.tally.public()
        )

    async def enrol(self, identity: Identity, invite: str | None = None) -> Outcome:
        self.check_up()
        if invite not in self.invites:
            raise EnrolmentRefused("This invite is not valid.\nAsk for another.")
        return await super().enrol(identity, invite)

    async def aclose(self) -> None:
        self.closed = True
