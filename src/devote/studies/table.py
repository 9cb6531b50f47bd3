"""Results by the scenario they came from: what figures and claims read."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from devote.simulate import Result, Scenario
from devote.studies.settings import Settings
from devote.studies.variants import Variant


class Table:
    """The results of a sweep, and what was asked for.

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
        self,
        variant: Variant,
        scheme: str,
        problem: str,
        players: Iterable[int] | None = None,
    ) -> NDArray[np.float64]:
        """The samples of a whole curve: one row per trial, one column per number of players."""
        sizes = self.players if players is None else players
        return np.stack([self.samples(variant, scheme, problem, n) for n in sizes], axis=1)
