"""Results by the cell they came from: what figures and claims read."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from devote.studies.variants import Variant
from devote.simulate.cell import Cell
from devote.simulate.result import Result


class Table:
    """The results of a sweep; a cell that was not run is a ``KeyError``."""

    def __init__(self, results: Iterable[Result]) -> None:
        self._results = {_key(result): result for result in results}

    def __len__(self) -> int:
        return len(self._results)

    def __getitem__(self, cell: Cell) -> Result:
        return self._results[_key(cell)]

    def samples(
        self, variant: Variant, protocol: str, problem: str, n_players: int
    ) -> NDArray[np.float64]:
        """The samples of each trial of one point of a curve."""
        return self[variant.cell(problem, protocol, n_players)].samples.astype(np.float64)

    def trials_by_players(
        self, variant: Variant, protocol: str, problem: str, players: Iterable[int]
    ) -> NDArray[np.float64]:
        """The samples of a whole curve: one row per trial, one column per number of players."""
        return np.stack([self.samples(variant, protocol, problem, n) for n in players], axis=1)


def _key(run: Cell | Result) -> tuple[str, str, str, int, int | None]:
    return run.spec.fingerprint, run.problem.name, run.protocol, run.n_players, run.horizon
