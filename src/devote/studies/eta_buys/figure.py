"""What eta really buys, at a glance; it reads a saved sweep and never simulates."""

from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

from devote.simulate.estimates import Estimate
from devote.studies.drawing.labels import EndLabel, write_labels
from devote.studies.drawing.style import BARS, GREY, bars, house_style, panels, save
from devote.studies.eta_buys.sweep import EtaSweep, Point

LOOKS = (("#1a1a1a", "o"), ("#555555", "s"), ("#8f8f8f", "^"))
"""Shades and marks for numbers of players: colours are subroutines, and there is one."""


def draw_eta(sweep: EtaSweep, out: str | Path) -> list[Path]:
    """Success of the adversary, share of players heard of, samples: over eta, for each N.

    Saved as SVG, PDF and PNG, whichever of them was named.
    """
    with house_style():
        figure, (named, heard, cost) = panels(3, size=(11.0, 3.9), right=0.925, between=0.66)
        figure.subplots_adjust(left=0.06, top=0.915)
        _success(named, sweep)
        _lines(heard, sweep, lambda point: point.voters, top=1.04)
        heard.set_ylabel("share of players")
        heard.set_title("… and makes more players vote")
        most = max(point.samples_per_player for point in sweep.points)
        _lines(cost, sweep, lambda point: point.samples_per_player, top=1.04 * most)
        cost.set_ylabel("samples per player")
        cost.set_title("… at more samples each")
        figure.text(
            0.06,
            0.02,
            f"Decentralized SER3, problem 1, ε = .25, δ = .05, M = ⌊log δ / log η⌋; {sweep.runs} "
            f"runs per point, one voter of each. {BARS}",
            fontsize=8,
            color=GREY,
        )
    return save(figure, Path(out).parent, Path(out).stem)


def _success(axes: Any, sweep: EtaSweep) -> None:
    etas = sweep.etas
    axes.plot(range(len(etas)), [1.0 - eta for eta in etas], color=GREY, linestyle=(0, (4, 2)))
    axes.annotate("claimed cap, 1 − η", (1.25, 0.7), color=GREY, fontsize=8.5)
    axes.axhline(sweep.chance, color=GREY, linewidth=0.9, linestyle=":")
    place = (len(etas) - 0.55, sweep.chance - 0.012)
    axes.annotate("without any\nmessage", place, ha="right", va="top", color=GREY, fontsize=8)
    _lines(axes, sweep, lambda point: point.named["value"], top=1.04)
    for (colour, _), points in zip(cycle(LOOKS), sweep.by_players.values(), strict=False):
        named = [Estimate(point.named["value"], *point.named["interval"]) for point in points]
        bars(axes, [etas.index(point.eta) for point in points], named, colour)
    axes.set_ylabel("a voter's good arm named")
    axes.set_title("A higher η gives a voter away")


def _lines(axes: Any, sweep: EtaSweep, value: Callable[[Point], float], *, top: float) -> None:
    """One line for each N; the limits of the axes come first, as labels are placed by them."""
    etas = sweep.etas
    axes.set_ylim(0.0, top)
    axes.set_xlim(-0.4, len(etas) - 0.5)
    axes.set_xticks(range(len(etas)), [f"{eta:g}".lstrip("0") for eta in etas])
    axes.set_xlabel("η")
    ends = []
    for (colour, mark), (n_players, points) in zip(
        cycle(LOOKS), sweep.by_players.items(), strict=False
    ):
        x = [etas.index(point.eta) for point in points]
        y = [value(point) for point in points]
        axes.plot(x, y, color=colour, marker=mark, markersize=4)
        name = f"N = {n_players:,}"
        if x[-1] == len(etas) - 1:
            ends.append(EndLabel(x[-1], y[-1], name, colour))
        else:  # A line that ends before the others is named on its left, apart from their ends.
            axes.annotate(
                name,
                (x[-1], y[-1]),
                xytext=(-7, 0),
                textcoords="offset points",
                ha="right",
                va="center",
                fontsize=8.5,
                color=colour,
            )
    write_labels(axes, ends)
