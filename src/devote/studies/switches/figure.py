"""Suboptimal plays over time, and in total against the probability of a reset."""

from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from devote.problems import get_problem
from devote.studies.drawing import style
from devote.studies.estimates import Estimate, mean
from devote.studies.study import Table
from devote.studies.switches.claims import shares_over_time, total
from devote.studies.switches.sweep import (
    HORIZON,
    HORIZONS,
    PHI,
    PHIS,
    WINDOW,
    printed_phi,
)

DSER3, DSER4 = style.SUBROUTINES["SER3 (union)"], style.SUBROUTINES["SER4"]


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
    for time, _ in get_problem("4").switches:
        axes.axvline(time, color=style.GREY, linewidth=1.0, dashes=(4, 3))
        axes.text(time + 1_500, 108, "switch", color=style.GREY, fontsize=8.5, va="center")
    for phi, name, colour, height in (
        (None, "DSER3", DSER3, 95.0),
        (PHI, f"DSER4, φ = {1e5 * PHI:g}·10⁻⁵", DSER4, 5.0),
    ):
        shares = 100 * shares_over_time(table, phi)
        estimates = [mean(column) for column in shares.T]
        style.bars(axes, middles.tolist(), [_percentage(e) for e in estimates], colour)
        axes.plot(middles, [e.value for e in estimates], color=colour)
        axes.text(HORIZON - 2_000, height, name, color=colour, fontsize=8.5, ha="right")
    axes.set_ylim(0, 115)
    axes.set_xlim(0, HORIZON)
    axes.xaxis.set_major_locator(FixedLocator([0, 60_000, 120_000, 180_000]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: style.count_text(x)))
    axes.yaxis.set_major_locator(FixedLocator([0, 25, 50, 75, 100]))
    axes.set_xlabel("time (pulls of all players)")
    axes.set_ylabel("suboptimal plays, %")
    axes.set_title("(a) Suboptimal plays over time")


def _over_phi(axes: Axes, table: Table) -> None:
    printed = printed_phi(table.players[0])
    phis = [*PHIS, printed]
    estimates = [mean(100 * total(table, phi) / HORIZON) for phi in phis]
    style.bars(axes, phis, [_percentage(e) for e in estimates], DSER4)
    axes.plot(phis, [e.value for e in estimates], "-o", color=DSER4)
    axes.plot([printed], [estimates[-1].value], "o", color=style.BLACK, zorder=3)
    without = mean(100 * total(table, None) / HORIZON)
    axes.axhline(without.value, color=DSER3)
    style.bars(axes, [PHIS[0]], [_percentage(without)], DSER3)
    axes.text(PHIS[0], without.value + 1.5, "DSER3", color=DSER3, fontsize=8.5)
    axes.annotate(
        "φ of Theorem 4",
        (printed, estimates[-1].value),
        xytext=(12, -34),
        textcoords="offset points",
        ha="right",
        fontsize=8.5,
        arrowprops={"arrowstyle": "-", "color": style.GREY, "linewidth": 0.5, "shrinkB": 5.0},
    )
    axes.text(PHI, estimates[3].value - 7, "DSER4", color=DSER4, fontsize=8.5)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator([1e-5, 1e-4, 1e-3]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_ylim(0, 100)
    axes.set_xlabel("probability φ of a reset after a pull")
    axes.set_ylabel("suboptimal plays in all, %")
    axes.set_title("(b) In total, against φ")


def _percentage(estimate: Estimate) -> Estimate:
    """The interval cut where a share cannot be."""
    return replace(estimate, low=max(0.0, estimate.low), high=min(100.0, estimate.high))
