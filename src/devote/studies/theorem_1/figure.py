"""Failure of both votes over the number of players, beside the claim and what any M of N give."""

from typing import TYPE_CHECKING

import numpy as np

from devote.studies.drawing.canvas import footnote, panels
from devote.studies.drawing.style import BARS, BLACK, GREY, bars
from devote.studies.settings import Settings
from devote.studies.table import Table
from devote.studies.theorem_1.claims import lost
from devote.studies.theorem_1.sweep import DELTA, ETA, ROUNDS, WORST, worst
from devote.theory import claimed_failure, vote_failure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(table: Table, settings: Settings) -> "Figure":
    """One panel: measured points with their intervals, computed lines.

    Paper: Theorem 1.
    """
    figure, [axes] = panels(1, size=(7.2, 3.9), right=0.8)
    _points(axes, table, settings, "decentralized", "o")
    _points(axes, table, settings, "jury", "D")
    last = max(settings.players[-1], settings.players[0] + 4)
    grid = range(WORST.votes_needed, last + 1)
    exact = [vote_failure(n, lone=ETA, quorum=WORST.votes_needed) for n in grid]
    axes.plot(list(grid), exact, color=BLACK, linewidth=1.0)
    claimed = claimed_failure(ETA, WORST.votes_needed)
    axes.axhline(claimed, color=GREY, linestyle=(0, (4, 2)), linewidth=1.2)
    _players_axis(axes, settings.players)
    axes.set_ylim(-0.03, 1.05)
    axes.set_ylabel("best arm voted out")
    axes.set_title("Subroutines that fail with probability η = .9")
    for text, height, colour in (
        ("decentralized:\nany 28 of N", 1.0, BLACK),
        (f"claimed, ηᴹ = {claimed:.3f}", 0.115, GREY),
        (f"jury, δ = {DELTA:g}", 0.02, BLACK),
    ):
        axes.annotate(
            text,
            (1.02, (height + 0.03) / 1.08),
            xycoords="axes fraction",
            va="center",
            fontsize=8.5,
            color=colour,
        )
    footnote(
        figure,
        f"Points: share of {ROUNDS * settings.trials:,} runs, hollow for the jury. {BARS} "
        "Line: P(Bin(N, η) ≥ 28), computed.",
    )
    return figure


def _players_axis(axes: "Axes", players: tuple[int, ...]) -> None:
    """A tick for each number that was run, on a scale that opens where all happens: next to M."""
    start = WORST.votes_needed - 1
    axes.set_xscale(
        "function",
        functions=(lambda n: np.log2(np.maximum(n - start, 0.5)), lambda x: 2.0**x + start),
    )
    axes.set_xticks(players, [f"{n:,}" for n in players])
    axes.minorticks_off()
    axes.set_xlim(start + 0.75, start + 1.25 * (max(players) - start))
    axes.set_xlabel("number of players")


def _points(axes: "Axes", table: Table, settings: Settings, protocol: str, mark: str) -> None:
    jury = protocol == "jury"
    least = WORST.jury_size if jury else WORST.votes_needed
    for n in settings.players:
        if n >= least:
            found = lost(table[worst(protocol, n)])
            bars(axes, [n], [found], BLACK)
            fill = "white" if jury else BLACK
            axes.plot([n], [found.value], mark, color=BLACK, markerfacecolor=fill)
