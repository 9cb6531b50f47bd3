"""The finished trials of a sweep as they come: blocks of some trials of a cell, in any order."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from devote.simulator.block import Block
from devote.simulator.scenario import Scenario

Numbers = NDArray[np.int64]
"""Which trials the rows of a block are."""


class Pieces:
    """Blocks by cell, each with the numbers of its trials."""

    def __init__(self) -> None:
        self._by_cell: dict[int, list[tuple[Numbers, Block]]] = defaultdict(list)

    def add(self, cell: int, trials: Sequence[int] | Numbers, block: Block) -> None:
        """A block of trials, none of which the block has twice."""
        self._by_cell[cell].append((np.asarray(trials, dtype=np.int64), block))

    def of(self, cell: int, scenario: Scenario) -> tuple[Numbers, Block]:
        """All trials of a cell in order; of one that came twice, the last."""
        pieces = self._by_cell[cell]
        if not pieces:
            empty = Block.of([], scenario.spec.n_arms, scenario.n_players)
            return np.zeros(0, dtype=np.int64), empty
        numbers = np.concatenate([trials for trials, _ in pieces])
        unique, last = np.unique(numbers[::-1], return_index=True)
        block = Block.join([block for _, block in pieces]).take(len(numbers) - 1 - last)
        pieces[:] = [(unique, block)]
        return unique, block
