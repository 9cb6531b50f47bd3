"""Who first spoke of an arm, and when: in each of many trials, few of many players."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from devote.simulator.trial import NEVER

AT_ONCE = 1 << 20
"""Players that are looked at together: fresh memory for all takes longer."""


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
        """From a row per trial with each player's number of pulls, ``NEVER`` for who was silent."""
        n_trials, n_players = first_vote.shape
        some = max(1, AT_ONCE // max(1, n_players))
        blocks = [first_vote[i : i + some] for i in range(0, max(1, n_trials), some)]
        return cls.join([cls._of_some(block) for block in blocks])

    @classmethod
    def _of_some(cls, first_vote: Any) -> "Votes":
        n_trials, n_players = first_vote.shape
        flat = first_vote.reshape(-1)
        places = np.flatnonzero(flat != NEVER)
        begins = n_players * np.arange(n_trials + 1)
        counts = np.diff(np.searchsorted(places, begins))
        parts = counts, places - np.repeat(begins[:-1], counts), flat[places]
        return cls(n_players, *(part.astype(np.int32, copy=False) for part in parts))

    @classmethod
    def none(cls, n_trials: int, n_players: int) -> "Votes":
        """Where nobody speaks of an arm."""
        empty = np.zeros(0, dtype=np.int32)
        return cls(n_players, np.zeros(n_trials, dtype=np.int32), empty, empty)

    @cached_property
    def dense(self) -> NDArray[np.int32]:
        """A row per trial, a column per player, as ``of`` takes it."""
        table = np.full((len(self.counts), self.n_players), NEVER, dtype=np.int32)
        table[np.repeat(np.arange(len(self.counts)), self.counts), self.who] = self.when
        return table

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        """Where the votes of each trial end."""
        return np.cumsum(self.counts, dtype=np.int64)

    def row(self, trial: int) -> tuple[int, ...]:
        """One row of ``dense``."""
        end = int(self.ends[trial])
        some = slice(end - int(self.counts[trial]), end)

        def pieces() -> Iterator[Iterable[int]]:
            begin = 0
            for player, pulls in zip(
                self.who[some].tolist(), self.when[some].tolist(), strict=True
            ):
                yield repeat(NEVER, player - begin)
                yield (pulls,)
                begin = player + 1
            yield repeat(NEVER, self.n_players - begin)

        return tuple(chain.from_iterable(pieces()))

    def take(self, trials: NDArray[np.int64]) -> "Votes":
        """Those of these trials, in this order."""
        counts = self.counts[trials]
        ends = np.cumsum(counts, dtype=np.int64)
        shift = np.repeat(self.ends[trials] - ends, counts)
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
