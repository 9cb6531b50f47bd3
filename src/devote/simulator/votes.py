"""Who first sent a message about an arm, and when: in each of many trials, few of many players."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from devote.simulator.trial import NEVER


@dataclass(frozen=True, eq=False)
class Votes:
    """First votes by trial: ``counts`` players of each trial, ``who`` they are, ``when`` each did.

    ``who`` and ``when`` hold one trial after another, players in order; ``when`` is the player's
    number of pulls.

    >>> votes = Votes.of(np.array([[-1, 7, 5], [-1, -1, -1], [2, -1, -1]]))
    >>> votes.counts.tolist(), votes.who.tolist(), votes.when.tolist()
    ([2, 0, 1], [1, 2, 0], [7, 5, 2])
    >>> votes.take(np.array([2, 0])).dense.tolist()
    [[2, -1, -1], [-1, 7, 5]]
    """

    n_players: int
    counts: NDArray[np.int32]
    who: NDArray[np.int32]
    when: NDArray[np.int32]

    @classmethod
    def of(cls, first_vote: Any) -> "Votes":
        """From a row per trial with each player's number of pulls, ``NEVER`` for who sent none."""
        n_trials, n_players = first_vote.shape
        trials, who = np.nonzero(first_vote != NEVER)
        columns = np.bincount(trials, minlength=n_trials), who, first_vote[trials, who]
        return cls(n_players, *(column.astype(np.int32, copy=False) for column in columns))

    @classmethod
    def none(cls, n_trials: int, n_players: int) -> "Votes":
        """Where nobody sends a message about an arm."""
        empty = np.zeros(0, dtype=np.int32)
        return cls(n_players, np.zeros(n_trials, dtype=np.int32), empty, empty)

    @cached_property
    def dense(self) -> NDArray[np.int32]:
        """A row per trial, a column per player, as ``of`` takes it."""
        table = np.full((len(self.counts), self.n_players), NEVER, dtype=np.int32)
        table[np.repeat(np.arange(len(self.counts)), self.counts), self.who] = self.when
        return table

    def row(self, trial: int) -> tuple[int, ...]:
        """One row of ``dense``."""
        return tuple(self.take(np.array([trial])).dense[0].tolist())

    def take(self, trials: NDArray[np.int64]) -> "Votes":
        """Those of these trials, in this order."""
        ends = np.cumsum(self.counts, dtype=np.int64)
        counts = self.counts[trials]
        shift = np.repeat(ends[trials] - np.cumsum(counts, dtype=np.int64), counts)
        places = shift + np.arange(len(shift))
        return Votes(self.n_players, counts, self.who[places], self.when[places])

    @classmethod
    def join(cls, parts: list["Votes"]) -> "Votes":
        """Those of several blocks of trials, one after another."""
        if len(parts) == 1:
            return parts[0]
        names = ("counts", "who", "when")
        columns = (np.concatenate([getattr(part, name) for part in parts]) for name in names)
        return cls(parts[0].n_players, *columns)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Votes) and all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("n_players", "counts", "who", "when")
        )

    __hash__ = None  # type: ignore[assignment]
