"""What a study is: what to run, how to draw it, and what it must show."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from devote.simulate import Result, Scenario
from devote.studies.claim import Claim
from devote.studies.settings import Settings
from devote.studies.variants import SCHEMES, SUBROUTINES, Variant

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALONE_FACTOR = 50
"""A single learner is cheap and its spread is the question: this many times the trials."""


@dataclass(frozen=True)
class Planned:
    """A scenario to run, and how many times."""

    scenario: Scenario
    trials: int


class Table:
    """Results by the scenario they came from: what figures and claims read.

    A scenario that was not run is a ``KeyError``.
    """

    def __init__(self, results: Iterable[Result], settings: Settings) -> None:
        self._results = {result.scenario: result for result in results}
        self.players = settings.players
        self.trials = settings.trials

    def __len__(self) -> int:
        return len(self._results)

    def __getitem__(self, scenario: Scenario) -> Result:
        return self._results[scenario]

    def samples(
        self, variant: Variant, scheme: str, problem: str, n_players: int
    ) -> NDArray[np.float64]:
        """The samples of each trial of one point of a curve."""
        return self[variant.scenario(problem, scheme, n_players)].samples.astype(np.float64)

    def trials_by_players(
        self, variant: Variant, scheme: str, problem: str, players: Iterable[int] | None = None
    ) -> NDArray[np.float64]:
        """The samples of a curve, all of it by default: a row per trial, a column per number."""
        sizes = self.players if players is None else players
        return np.stack([self.samples(variant, scheme, problem, n) for n in sizes], axis=1)


@dataclass(frozen=True)
class Study:
    """One figure with the sentences that it bears on.

    ``scenarios`` says what to run and is the only part that may: ``figure`` and ``claims`` read
    results.
    """

    name: str
    scenarios: Callable[[Settings], list[Planned]]
    figure: "Callable[[Table], Figure]"
    claims: Callable[[Table], list[Claim]] = lambda _: []


def grid(
    settings: Settings,
    problems: Iterable[str],
    *,
    variants: Iterable[Variant] = SUBROUTINES.values(),
    schemes: Iterable[str] = tuple(SCHEMES),
) -> list[Planned]:
    """Every combination, at every number of players."""
    chosen, ways = tuple(variants), tuple(schemes)
    return [
        Planned(variant.scenario(problem, scheme, n_players), settings.trials)
        for problem in problems
        for variant in chosen
        for scheme in ways
        for n_players in settings.players
    ]


def shared_learners(settings: Settings, problem: str) -> list[Planned]:
    """The 0-privacy baseline on one problem, with every subroutine."""
    trials = ALONE_FACTOR * settings.trials
    return [Planned(variant.shared(problem), trials) for variant in SUBROUTINES.values()]
