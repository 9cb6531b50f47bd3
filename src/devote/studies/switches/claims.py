"""What section 4 says about DSER4, and the plays that it is judged by.

Plays of suboptimal arms are counted on past the end of a run that has agreed: once all hold one
arm, all play it. DSER3 stops there, and what its devices play is known.
"""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from devote.simulate import Result
from devote.studies.claim import Case, Claim, Range
from devote.studies.estimates import Estimate, ratio
from devote.studies.study import Table
from devote.studies.switches.sweep import (
    HORIZON,
    HORIZONS,
    PHI,
    PHIS,
    QUORUM,
    WINDOW,
    printed_phi,
    scenario,
)
from devote.theory import ser4_message_bound


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
    return sum(
        max(0, min(stop, end) - max(start, begin))
        for start, stop in pairwise(times)
        if arm not in problem.optimal(result.n_players, start, result.spec.epsilon)
    )


def total(table: Table, phi: float | None, horizon: int = HORIZON) -> NDArray[np.float64]:
    """Suboptimal plays of each trial, to a horizon."""
    return suboptimal_plays(table[scenario(table.players[0], horizon, phi)])


def shares_over_time(table: Table, phi: float | None) -> NDArray[np.float64]:
    """The share of plays that are suboptimal: a row per trial, a column per window of time."""
    counts = [total(table, phi, horizon) for horizon in HORIZONS]
    so_far = np.stack([np.zeros_like(counts[0]), *counts], axis=1)
    return np.diff(so_far, axis=1) / WINDOW


def claims(table: Table) -> list[Claim]:
    """The rows."""
    return [_handles_switches(table), _messages(table)]


def _handles_switches(table: Table) -> Claim:
    without = total(table, None)
    printed = printed_phi(table.players[0])

    def against(phi: float) -> Estimate:
        return ratio(total(table, phi), without).located(_named(phi))

    return Claim(
        name="dser4-handles-switches",
        quote="DSER4 handles any sequence of rewards: when Assumption 4 does not hold a switch "
        "occurs",
        where="section 4",
        measured="suboptimal plays of DSER4 / suboptimal plays of DSER3 on problem 4",
        asked="below 1",
        cases=(
            Case("phi chosen by trying", (against(PHI),), Range(high=1.0)),
            Case("phi that Theorem 4 sets", (against(printed),), Range(high=1.0)),
        ),
        across="phi",
        note=f"Theorem 4's proof sets phi to {printed:.2g}, a reset every {1 / printed:,.0f} "
        f"pulls; {PHI:g} is one every {1 / PHI:,.0f}.",
    )


def _messages(table: Table) -> Claim:
    n = table.players[0]

    def share(phi: float) -> Estimate:
        sent = table[scenario(n, HORIZON, phi)].broadcasts
        bound = ser4_message_bound(phi, horizon=HORIZON, quorum=QUORUM, n_arms=10)
        return ratio(sent, [bound] * len(sent)).located(_named(phi))

    shares = tuple(share(phi) for phi in (*PHIS, printed_phi(n)))
    return Claim(
        name="dser4-messages",
        quote="DSER4 [...] exchanges on average at most phi T (M K - 1) messages",
        where="section 4, Theorem 4",
        measured="messages of DSER4 on problem 4 / phi T (M K - 1)",
        asked="at most 1",
        cases=(Case("broadcasts", shares, Range(high=1.0)),),
        along="phi",
        note="As printed the bound leaves out the term that a run starts in, so that a small phi "
        "may break it.",
    )


def _named(phi: float) -> str:
    return f"phi = {phi:.2g}"
