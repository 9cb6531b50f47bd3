"""One player's votes through an adversary's eyes, at every eta and number of players."""

from dataclasses import dataclass
from typing import Any, Self

from devote.audit.adversaries import name_arm
from devote.audit.leak import rate_of
from devote.audit.views import view_runs
from devote.problems import get_problem
from devote.protocol import ExperimentSpec
from devote.schemes import Decentralized
from devote.simulate import Scenario
from devote.simulate.sweep.sweep import Progress
from devote.studies.sheet import Sheet
from devote.theory import quorum

ETAS = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99)
PLAYERS = (64, 320, 1024)
"""The least that any quorum here needs but the highest, a little above that, and many."""
DELTA = 0.05
PROBLEM = "1"


@dataclass(frozen=True)
class Point:
    """One eta and number of players.

    ``named`` is how often the adversary names an epsilon-optimal arm of a player who voted,
    ``all_but_one`` the same for players who voted against all arms but one; ``voters`` is the share
    of players who had voted at the end.
    """

    eta: float
    n_players: int
    quorum: int
    named: dict[str, Any]
    all_but_one: dict[str, Any]
    voters: float
    samples_per_player: float


@dataclass(frozen=True)
class EtaSweep(Sheet):
    """All points, with where they came from."""

    points: tuple[Point, ...]
    chance: float
    runs: int
    seed: int

    @property
    def etas(self) -> list[float]:
        """Every eta, in order."""
        return sorted({point.eta for point in self.points})

    @property
    def by_players(self) -> dict[int, list[Point]]:
        """The points of each number of players, fewest players first."""
        sizes = sorted({point.n_players for point in self.points})
        return {n: [point for point in self.points if point.n_players == n] for n in sizes}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Read what ``to_dict`` gave."""
        points = tuple(Point(**point) for point in values["points"])
        return cls(**{**values, "points": points})


def sweep_eta(
    *,
    etas: tuple[float, ...] = ETAS,
    players: tuple[int, ...] = PLAYERS,
    runs: int = 300,
    seed: int = 0,
    workers: int | None = 1,
    progress: Progress | None = None,
) -> EtaSweep:
    """Every eta at which a quorum can form, for every number of players.

    Paper: Definition 3; Theorem 1's quorum, ``floor(log delta / log eta)``.
    """
    scenarios = eta_scenarios(etas, players)
    points = []
    for done, scenario in enumerate(scenarios):
        if progress is not None:
            progress(done, len(scenarios), scenario.label)
        points.append(_point(scenario, runs, seed, workers))
    return EtaSweep(tuple(points), chance=2 / 10, runs=runs, seed=seed)


def eta_scenarios(etas: tuple[float, ...], players: tuple[int, ...]) -> list[Scenario]:
    """Every pair that can form a quorum."""
    votes = {eta: max(1, quorum(DELTA, eta)) for eta in etas}
    return [
        Scenario(
            ExperimentSpec(arms=10, eta=eta, delta=DELTA, scheme=Decentralized(votes[eta])),
            get_problem(PROBLEM),
            n_players,
        )
        for n_players in players
        for eta in etas
        if votes[eta] <= n_players
    ]


def _point(scenario: Scenario, runs: int, seed: int, workers: int | None) -> Point:
    views = view_runs(scenario, runs, seed=seed, workers=workers, voters=True)
    right = [name_arm(view) in view.optimal for view in views]
    complete = [was for was, view in zip(right, views, strict=True) if len(view.left) == 1]
    needed = scenario.spec.votes_needed
    assert needed is not None
    return Point(
        eta=scenario.spec.eta,
        n_players=scenario.n_players,
        quorum=needed,
        named=rate_of(right).to_dict(),
        all_but_one=rate_of(complete).to_dict(),
        voters=sum(view.voters for view in views) / (runs * scenario.n_players),
        samples_per_player=sum(view.samples for view in views) / (runs * scenario.n_players),
    )
