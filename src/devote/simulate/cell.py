"""One setting of a sweep, and the work that its trials are."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from devote.problems import Problem
from devote.protocol import ExperimentSpec
from devote.simulate.setting import Setting
from devote.simulate.trial import Trial


class SweepError(ValueError):
    """A sweep that cannot be run as asked, or that lost the processes it ran on."""


@dataclass(frozen=True)
class Cell:
    """One setting of a sweep: a specification, a problem, a number of players, a protocol."""

    spec: ExperimentSpec
    problem: Problem
    n_players: int
    protocol: str = "decentralized"
    horizon: int | None = None

    @property
    def label(self) -> str:
        """A few words for people.

        >>> from devote.problems import PROBLEMS
        >>> Cell(ExperimentSpec(arms=10), PROBLEMS["1"], 64).label
        'decentralized ser3, problem 1, 64 players'
        """
        options = "".join(f" {name}={value}" for name, value in self.spec.options.items())
        return (
            f"{self.protocol} {self.spec.algorithm}{options}, problem {self.problem.name}, "
            f"{self.n_players:,} players"
        )

    @property
    def setting(self) -> Setting:
        """The ingredients, checked together."""
        return Setting.of(self.spec, self.problem, self.n_players, self.protocol, self.horizon)

    @property
    def loop(self) -> tuple[str, str]:
        """What its compiled loop is specialised to."""
        return self.spec.algorithm, self.protocol

    def to_dict(self) -> dict[str, Any]:
        """The cell as JSON values."""
        return {
            "spec": self.spec.to_dict(),
            "problem": self.problem.to_dict(),
            "n_players": self.n_players,
            "protocol": self.protocol,
            "horizon": self.horizon,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Cell":
        """Read what ``to_dict`` gave."""
        return cls(
            spec=ExperimentSpec.from_dict(values["spec"]),
            problem=Problem.from_dict(values["problem"]),
            n_players=values["n_players"],
            protocol=values["protocol"],
            horizon=values["horizon"],
        )


def run_chunk(
    cell: Cell, trials: Sequence[int], seed: int, trace: bool = False
) -> tuple[list[Trial], float]:
    """Run some trials of a cell; also the seconds that the quickest of them took."""
    from devote.simulate.engine import run_trial

    setting = cell.setting
    runs = []
    quickest = float("inf")
    for trial in trials:
        begin = time.perf_counter()
        runs.append(run_trial(setting, seed=seed, trial=trial, trace=trace))
        quickest = min(quickest, time.perf_counter() - begin)
    return runs, quickest


def compile_loop(cell: Cell) -> None:
    """Compile the cell's loop, or load it from numba's cache, by making a single pull."""
    from devote.simulate.engine import run_trial

    rules = cell.setting.protocol
    voters = rules.seats_to_fill(cell.spec) or rules.votes_needed(cell.spec)
    n_players = min(cell.n_players, voters if rules.votes else 1)
    problem = Problem("compile", cell.problem.means)
    run_trial(Setting.of(cell.spec, problem, n_players, rules, 1), seed=0, trial=0)
