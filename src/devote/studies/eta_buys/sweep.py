"""One player's votes through an adversary's eyes, at every eta and number of players."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from devote.audit.adversaries import name_arm
from devote.audit.leak import rate_of
from devote.audit.views import view_runs
from devote.problems import get_problem
from devote.protocol import ExperimentSpec
from devote.simulate.cell import Cell
from devote.simulate.result import ResultError
from devote.simulate.sweep import Progress
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
class EtaSweep:
    """All points, with where they came from."""

    points: tuple[Point, ...]
    chance: float
    runs: int
    seed: int

    def save(self, path: str | Path) -> Path:
        """Write as JSON; the file appears whole or not at all."""
        target = Path(path)
        partial = target.with_name(target.name + ".partial")
        try:
            partial.write_text(json.dumps(asdict(self), allow_nan=False), encoding="utf-8")
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
        return target

    @classmethod
    def load(cls, path: str | Path) -> "EtaSweep":
        """Read what ``save`` wrote."""
        try:
            document = json.loads(Path(path).read_text(encoding="utf-8"))
            points = tuple(Point(**point) for point in document.pop("points"))
            return cls(points=points, **document)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ResultError(
                f"{Path(path).name} is not a whole sweep over eta ({type(error).__name__}).\n"
                "Run the audit again."
            ) from None


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
    cells = []
    for n_players in players:
        for eta in etas:
            votes = max(1, quorum(DELTA, eta))
            if votes <= n_players:
                spec = ExperimentSpec(arms=10, eta=eta, delta=DELTA, quorum=votes)
                cells.append(Cell(spec, get_problem(PROBLEM), n_players))
    points = []
    for done, cell in enumerate(cells):
        if progress is not None:
            progress(done, len(cells), cell.label)
        points.append(_point(cell, runs, seed, workers))
    return EtaSweep(tuple(points), chance=2 / 10, runs=runs, seed=seed)


def _point(cell: Cell, runs: int, seed: int, workers: int | None) -> Point:
    views = view_runs(cell, runs, seed=seed, workers=workers, voters=True)
    right = [name_arm(view) in view.optimal for view in views]
    complete = [
        was for was, view in zip(right, views, strict=True) if len(view.against) == view.n_arms - 1
    ]
    return Point(
        eta=cell.spec.eta,
        n_players=cell.n_players,
        quorum=cell.spec.votes_needed,
        named=rate_of(right).to_dict(),
        all_but_one=rate_of(complete).to_dict(),
        voters=sum(view.voters for view in views) / (runs * cell.n_players),
        samples_per_player=sum(view.samples for view in views) / (runs * cell.n_players),
    )
