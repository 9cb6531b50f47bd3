"""DSER4 through switches of the best arm, against DSER3, which never looks back.

A trial draws from its own streams, so the run to a later horizon begins with the run to an
earlier one: the difference of two counts is what happened in between. Plays of suboptimal arms
are counted on past the end of a run that has agreed: once all hold one arm, all play it. DSER3
stops there, and what its devices play is known.

Paper: section 4, Theorem 4; the paper runs no experiment on it.
"""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from devote import theory
from devote.problems import get_problem
from devote.simulator import Result, Scenario
from devote.studies import style
from devote.studies.claim import Case, Range, Row, judged
from devote.studies.estimates import Estimate, mean, ratio
from devote.studies.study import Floats, Plan, Settings, Study, Table
from devote.studies.style import Axes, Figure
from devote.studies.variants import DELTA, QUORUM, SER3_UNION, SER4

PROBLEM = get_problem("4")
HORIZON = 180_000
WINDOW = 6_000
HORIZONS = tuple(range(WINDOW, HORIZON + 1, WINDOW))

PHI = 4e-5
"""About what ``theory.recommended_phi`` gives: 3.8e-5, where a term costs 7,800 plays."""

PHIS = (5e-6, 1e-5, 2e-5, PHI, 8e-5, 1.6e-4, 3.2e-4, 6.4e-4)

DSER3, DSER4 = style.SUBROUTINES["SER3 (union)"], style.SUBROUTINES["SER4"]


def scenarios(settings: Settings) -> Plan:
    """What the figure and the claims read.

    The smallest number of players: switches come every 60,000 pulls, and terms must fit.
    """
    n = settings.players[0]
    over_time = [scenario(n, horizon, phi) for phi in (None, PHI) for horizon in HORIZONS]
    over_phi = [scenario(n, HORIZON, phi) for phi in (*PHIS, printed_phi(n)) if phi != PHI]
    return dict.fromkeys(over_time + over_phi, settings.trials)


def scenario(n_players: int, horizon: int, phi: float | None = None) -> Scenario:
    """DSER4 with this probability of a reset, or DSER3 with none."""
    spec = SER3_UNION.spec() if phi is None else SER4.spec(phi=phi)
    return Scenario(spec, PROBLEM, n_players, horizon)


def printed_phi(
    n_players: int, *, quorum: int = QUORUM, n_switches: int = len(PROBLEM.switches)
) -> float:
    """The probability of a reset that the paper prints.

    Paper: Theorem 4, end of its proof.
    Differs from print: not recommended (erratum 17); ``PHI`` is.
    """
    return theory.printed_phi(
        n_switches, p_star=1.0 / n_players, n_arms=10, quorum=quorum, delta=DELTA
    )


def suboptimal_plays(result: Result) -> Floats:
    """Per trial, the plays of arms that were not epsilon-optimal up to the horizon."""
    assert result.horizon is not None
    plays = result.suboptimal_plays.astype(np.float64)
    times = [0, *(time for time, _ in result.problem.switches), result.horizon]
    for start, stop in pairwise(times):
        good = result.problem.optimal(result.n_players, start, result.spec.epsilon)
        bad = ~np.isin(result.left[:, 0], list(good))
        rest = min(stop, result.horizon) - np.maximum(start, result.samples_until_all_know)
        plays += bad * np.maximum(0, rest)
    return plays


def total(table: Table, phi: float | None, horizon: int = HORIZON) -> Floats:
    """Suboptimal plays of each trial, to a horizon."""
    return suboptimal_plays(table[scenario(table.players[0], horizon, phi)])


def shares_over_time(table: Table, phi: float | None) -> Floats:
    """The share of plays that are suboptimal: a row per trial, a column per window of time."""
    counts = np.stack([total(table, phi, horizon) for horizon in HORIZONS], axis=1)
    return np.diff(counts, axis=1, prepend=0.0) / WINDOW


def figure(table: Table) -> Figure:
    """Panel (a) over time, panel (b) over phi."""
    drawn, (left, right) = style.panels(2, right=0.98, between=0.24)
    _over_time(left, table)
    _over_phi(right, table)
    style.footnote(
        drawn,
        f"Problem 4, {table.players[0]} players: the best arm (.8, the next .4) switches at "
        f"60,000 and 120,000. Means of {table.trials} trials. {style.BARS} Radius “union”.",
        "(a) Share of the plays in each window of 6,000. (b) After DSER3 has agreed, its "
        "players go on with the arm they agreed on.",
    )
    return drawn


def _over_time(axes: Axes, table: Table) -> None:
    middles = np.array(HORIZONS, dtype=np.float64) - WINDOW / 2
    for time, _ in PROBLEM.switches:
        axes.axvline(time, color=style.GREY, linewidth=1.0, dashes=(4, 3))
        axes.text(time + 1_500, 108, "switch", color=style.GREY, fontsize=8.5, va="center")
    for phi, name, colour, height in (
        (None, "DSER3", DSER3, 95.0),
        (PHI, f"DSER4, φ = {1e5 * PHI:g}·10⁻⁵", DSER4, 5.0),
    ):
        estimates = [_percent(column) for column in shares_over_time(table, phi).T]
        style.bars(axes, middles.tolist(), estimates, colour)
        axes.plot(middles, [e.value for e in estimates], color=colour)
        axes.text(HORIZON - 2_000, height, name, color=colour, fontsize=8.5, ha="right")
    axes.set_ylim(0, 115)
    axes.set_xlim(0, HORIZON)
    times = [0, 60_000, 120_000, 180_000]
    axes.set_xticks(times, [style.count_text(time) for time in times])
    axes.set_yticks([0, 25, 50, 75, 100])
    axes.set_xlabel("time (pulls of all players)")
    axes.set_ylabel("suboptimal plays, %")
    axes.set_title("(a) Suboptimal plays over time")


def _over_phi(axes: Axes, table: Table) -> None:
    printed = printed_phi(table.players[0])
    phis = [*PHIS, printed]
    estimates = [_percent(total(table, phi) / HORIZON) for phi in phis]
    style.bars(axes, phis, estimates, DSER4)
    axes.plot(phis, [e.value for e in estimates], "-o", color=DSER4)
    axes.plot([printed], [estimates[-1].value], "o", color=style.BLACK, zorder=3)
    without = _percent(total(table, None) / HORIZON)
    axes.axhline(without.value, color=DSER3)
    style.bars(axes, [PHIS[0]], [without], DSER3)
    axes.text(PHIS[0], without.value + 1.5, "DSER3", color=DSER3, fontsize=8.5)
    leader = {"arrowstyle": "-", "color": style.GREY, "linewidth": 0.5, "shrinkB": 5.0}
    look: dict[str, Any] = {"textcoords": "offset points", "ha": "right", "fontsize": 8.5}
    look |= {"xytext": (12, -34), "arrowprops": leader}
    axes.annotate("φ of Theorem 4", (printed, estimates[-1].value), **look)
    axes.text(PHI, estimates[3].value - 7, "DSER4", color=DSER4, fontsize=8.5)
    axes.set_xscale("log")
    axes.set_xticks([1e-5, 1e-4, 1e-3])
    axes.minorticks_off()
    axes.set_ylim(0, 100)
    axes.set_xlabel("probability φ of a reset after a pull")
    axes.set_ylabel("suboptimal plays in all, %")
    axes.set_title("(b) In total, against φ")


def _percent(shares: Floats) -> Estimate:
    """The mean in per cent, with its interval cut to 0 to 100 %."""
    estimate = mean(100 * shares)
    return replace(estimate, low=max(0.0, estimate.low), high=min(100.0, estimate.high))


def claims(table: Table) -> list[Row]:
    """What section 4 says about DSER4."""
    n, without = table.players[0], total(table, None)
    printed = printed_phi(n)

    def against(phi: float) -> Estimate:
        return ratio(total(table, phi), without).located(f"phi = {phi:.2g}")

    def messages(phi: float) -> Estimate:
        sent = table[scenario(n, HORIZON, phi)].broadcasts
        bound = theory.ser4_message_bound(phi, horizon=HORIZON, quorum=QUORUM, n_arms=10)
        return ratio(sent, [bound] * len(sent)).located(f"phi = {phi:.2g}")

    plays = (
        Case("phi chosen by trying", (against(PHI),), Range(high=1.0)),
        Case("phi that Theorem 4 sets", (against(printed),), Range(high=1.0)),
    )
    shares = tuple(messages(phi) for phi in (*PHIS, printed))
    numbers = {"phi": PHI, "often": 1 / PHI, "printed": printed, "seldom": 1 / printed}
    return [
        judged("dser4-handles-switches", plays, **numbers),
        judged("dser4-messages", [Case("broadcasts", shares, Range(high=1.0))]),
    ]


STUDIES = (Study("switches", scenarios, figure, claims),)
