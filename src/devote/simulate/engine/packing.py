"""How a player's buffers lie in its row: as narrow as their values allow.

A million rows are read and written in each window, so their length is what a window costs. While a
player is at work its buffers are wide, at a ``Desk``. In the row there is no buffer that the
subroutine never uses (``Algorithm.counts_pulls``); words that hold arms take a byte each
(``arms_from``); sums of rewards that are all 0 or 1 are whole numbers (``adds_rewards``). Nothing
is rounded: a player comes back from its row as it went there.
"""

from typing import Any, NamedTuple

import numpy as np

from devote.kernels import tables
from devote.kernels.jitable import jitable
from devote.problems.rewards import BERNOULLI
from devote.simulate.engine.windows import NOT_NOW, Desk, Rows
from devote.simulate.scenario import Scenario

WORD = 4
"""Bytes of a word of a row."""

FEW_ARMS = 256
"""So many can be told apart by a byte."""


class Narrow(NamedTuple):
    """What is wide at a desk and narrow in a row; empty where there is no difference.

    ``sums`` and ``arms`` look into ``Desk.words``. ``fresh`` is the row of a player at its start.
    """

    sums: Any
    arms: Any
    fresh: Any


@jitable
def widen(narrow: Narrow, desk: Desk) -> None:
    """What is done after a row has been copied to the desk."""
    for k in range(len(narrow.sums)):
        desk.sums[k] = narrow.sums[k]
    first = len(desk.ints) - len(narrow.arms)
    for i in range(len(narrow.arms)):
        desk.ints[first + i] = narrow.arms[i]


@jitable
def shrink(narrow: Narrow, desk: Desk) -> None:
    """What is done before a row is copied from the desk."""
    for k in range(len(narrow.sums)):
        narrow.sums[k] = int(desk.sums[k])
    first = len(desk.ints) - len(narrow.arms)
    for i in range(len(narrow.arms)):
        narrow.arms[i] = desk.ints[first + i]


class Layout:
    """Where the buffers of a player lie: in its row, and beyond its end what only a desk has."""

    def __init__(self, scenario: Scenario) -> None:
        algorithm, engine = scenario.algorithm, scenario.scheme.engine
        assert engine is not None
        k = scenario.spec.n_arms
        self.start = algorithm.new_state(k)
        n_ints, n_floats = len(self.start.ints), len(self.start.floats)
        narrow = algorithm.arms_from is not None and k <= FEW_ARMS
        n_wide = algorithm.arms_from if narrow and algorithm.arms_from is not None else n_ints
        whole = algorithm.adds_rewards and scenario.problem.kind == BERNOULLI
        self._places: dict[str, tuple[Any, slice]] = {}
        at = self._put(0, "floats", np.float64, n_floats)
        at = self._put(at, "sums", np.float64, 0 if whole else k)
        unit = 8 if at else WORD
        at = self._put(at, "own", np.int32, engine.words)
        at = self._put(at, "place", np.int32, 2)
        at = self._put(at, "pulls", np.int32, k if algorithm.counts_pulls else 0)
        at = self._put(at, "few sums", np.int32, k if whole else 0)
        at = self._put(at, "alive", np.int8, k)
        at = self._put(at, "few arms", np.uint8, n_ints - n_wide)
        # Last in the row, so that beyond it the words go on that the row has as bytes.
        self.row_bytes = _up(at + WORD * n_wide, unit)
        at = self._put(
            self.row_bytes - WORD * n_wide,
            "ints",
            np.uint32 if algorithm.arms_from else np.int32,
            n_ints,
        )
        if whole:
            at = self._put(_up(at, 8), "sums", np.float64, k)
        if not algorithm.counts_pulls:
            at = self._put(at, "pulls", np.int32, k)
        self.desk = np.zeros(_up(at, 8), dtype=np.uint8)
        for name, values in self.start._asdict().items():
            self.look(self.desk, name)[:] = values
        self.look(self.desk, "few arms")[:] = 0

    def _put(self, at: int, name: str, kind: Any, length: int) -> int:
        """Place a buffer; where the next one can begin."""
        end = at + int(np.dtype(kind).itemsize) * length
        self._places[name] = (kind, slice(at, end))
        return end

    def look(self, data: Any, name: str) -> Any:
        """One buffer of one row or desk in bytes, or of each of many."""
        kind, where = self._places[name]
        return data[..., where].view(kind)

    def rows(self, n_players: int) -> Rows:
        """All players, none of whom has begun."""
        words = np.empty((2, n_players, self.row_bytes // WORD), dtype=np.int32)
        following = np.empty((2, n_players))
        following[0] = NOT_NOW
        data = words.view(np.uint8)
        return Rows(
            words=words,
            next=following,
            half=np.zeros(n_players, dtype=np.int8),
            moved=np.zeros(n_players, dtype=np.int8),
            alive=self.look(data, "alive"),
            own=self.look(data, "own"),
            place=self.look(data, "place"),
        )

    def new_desk(self) -> tuple[Desk, Narrow]:
        """Room for one player, who is at its start."""
        data = self.desk.copy()
        words = data[: self.row_bytes].view(np.int32)
        n_arms = len(self.start.alive)
        counters = np.zeros((4, tables.N_COUNTERS), dtype=np.int64)
        scratch, kept, fresh, added = counters
        desk = Desk(
            words=words,
            alive=self.look(data, "alive").reshape(1, -1),
            pulls=self.look(data, "pulls"),
            sums=self.look(data, "sums"),
            ints=self.look(data, "ints"),
            floats=self.look(data, "floats"),
            own=self.look(data, "own").reshape(1, -1),
            place=self.look(data, "place"),
            voted=np.zeros((1, n_arms), dtype=np.int8),
            first_vote=np.zeros(1, dtype=np.int32),
            out=np.zeros(n_arms, dtype=np.int32),
            scratch=scratch,
            kept=kept,
            fresh=fresh,
            added=added,
            halted=np.zeros(1, dtype=np.int64),
            last=np.zeros(2),
        )
        narrow = Narrow(self.look(data, "few sums"), self.look(data, "few arms"), words.copy())
        return desk, narrow


def _up(n_bytes: int, unit: int) -> int:
    """The next multiple of a unit."""
    return -(-n_bytes // unit) * unit
