"""Plays of suboptimal arms, counted on past the end of a run that has agreed.

Once all hold one arm, all play it: DSER3 stops there, and what its devices play is known.
"""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from devote.studies.settings import Settings
from devote.studies.switches.sweep import HORIZON, HORIZONS, WINDOW, cell, crowd
from devote.studies.table import Table
from devote.simulate.result import Result


def suboptimal_plays(result: Result) -> NDArray[np.float64]:
    """Per trial, the plays of arms that were not epsilon-optimal up to the horizon."""
    assert result.horizon is not None
    plays = result.suboptimal_plays.astype(np.float64)
    for i, (end, winners) in enumerate(zip(result.samples.tolist(), result.winners, strict=True)):
        plays[i] += _plays_of(winners[0], result, end, result.horizon)
    return plays


def _plays_of(arm: int, result: Result, begin: int, end: int) -> int:
    """How many of the plays of one arm from ``begin`` to ``end`` are suboptimal."""
    problem = result.problem
    times = [0, *(time for time, _ in problem.switches), end]
    total = 0
    for start, stop in pairwise(times):
        length = min(stop, end) - max(start, begin)
        if length <= 0:
            continue
        if arm not in problem.optimal(result.n_players, start, result.spec.epsilon):
            total += length
    return total


def total(table: Table, settings: Settings, phi: float | None) -> NDArray[np.float64]:
    """Suboptimal plays of each trial, to the last horizon."""
    return suboptimal_plays(table[cell(crowd(settings), HORIZON, phi)])


def shares_over_time(table: Table, settings: Settings, phi: float | None) -> NDArray[np.float64]:
    """The share of plays that are suboptimal: a row per trial, a column per window of time."""
    n = crowd(settings)
    counts = [suboptimal_plays(table[cell(n, horizon, phi)]) for horizon in HORIZONS]
    so_far = np.stack([np.zeros_like(counts[0]), *counts], axis=1)
    return np.diff(so_far, axis=1) / WINDOW
