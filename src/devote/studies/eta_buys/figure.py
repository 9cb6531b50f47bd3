"""What eta really buys, at a glance; it reads a saved sweep and never simulates."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from devote.studies.drawing.labels import EndLabel, write_labels
from devote.studies.drawing.style import BARS, GREY, bars, house_style, save
from devote.studies.estimates import Estimate
from devote.studies.eta_buys.sweep import EtaSweep, Point

COLOURS = ("#1a1a1a", "#555555", "#8f8f8f")
"""Shades for numbers of players: colours are subroutines, and there is one."""

MARKS = ("o", "s", "^")


def draw_eta(sweep: EtaSweep, out: str | Path) -> list[Path]:
    """Success of the adversary, share of players heard of, samples: over eta, for each N.

    Saved as SVG, PDF and PNG, whichever of them was named.
    """
    with house_style():
        figure = Figure(figsize=(11.0, 3.9))
        FigureCanvasAgg(figure)
        figure.subplots_adjust(left=0.06, right=0.925, bottom=0.2, top=0.915, wspace=0.66)
        named, heard, cost = figure.subplots(1, 3)
        _success(named, sweep)
        _lines(heard, sweep, lambda point: point.voters, top=1.04)
        heard.set_ylabel("share of players")
        heard.set_title("… and makes more players vote")
        _lines(cost, sweep, lambda point: point.samples_per_player, top=None)
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
    etas = _etas(sweep)
    axes.plot(range(len(etas)), [1.0 - eta for eta in etas], color=GREY, linestyle=(0, (4, 2)))
    axes.annotate("claimed cap, 1 − η", (1.25, 0.7), color=GREY, fontsize=8.5)
    axes.axhline(sweep.chance, color=GREY, linewidth=0.9, linestyle=":")
    axes.annotate(
        "without any\nmessage",
        (len(etas) - 0.55, sweep.chance - 0.012),
        ha="right",
        va="top",
        color=GREY,
        fontsize=8,
    )
    _lines(axes, sweep, lambda point: point.named["value"], top=1.04)
    for place, n_players in enumerate(_sizes(sweep)):
        points = _points(sweep, n_players)
        named = [Estimate(point.named["value"], *point.named["interval"]) for point in points]
        bars(axes, [etas.index(point.eta) for point in points], named, COLOURS[place])
    axes.set_ylabel("a voter's good arm named")
    axes.set_title("A higher η gives a voter away")


def _lines(
    axes: Any, sweep: EtaSweep, value: Callable[[Point], float], *, top: float | None
) -> None:
    """One line for each N; the limits of the axes come first, as labels are placed by them."""
    etas = _etas(sweep)
    highest = max(value(point) for point in sweep.points)
    axes.set_ylim(0.0, 1.04 * highest if top is None else top)
    axes.set_xlim(-0.4, len(etas) - 0.5)
    axes.set_xticks(range(len(etas)), [f"{eta:g}".lstrip("0") for eta in etas])
    axes.set_xlabel("η")
    ends = []
    for place, n_players in enumerate(_sizes(sweep)):
        points = _points(sweep, n_players)
        values = [value(point) for point in points]
        axes.plot(
            [etas.index(point.eta) for point in points],
            values,
            color=COLOURS[place],
            marker=MARKS[place],
            markersize=4,
        )
        label = EndLabel(len(etas) - 1, values[-1], f"N = {n_players:,}", COLOURS[place])
        if points[-1].eta == etas[-1]:
            ends.append(label)
        else:
            _name_left(axes, label, etas.index(points[-1].eta))
    write_labels(axes, ends)


def _name_left(axes: Any, label: EndLabel, last: int) -> None:
    """Of a line that ends before the others: on its left, apart from where they end."""
    axes.annotate(
        label.text,
        (last, label.y),
        xytext=(-7, 0),
        textcoords="offset points",
        ha="right",
        va="center",
        fontsize=8.5,
        color=label.colour,
    )


def _etas(sweep: EtaSweep) -> list[float]:
    return sorted({point.eta for point in sweep.points})


def _sizes(sweep: EtaSweep) -> list[int]:
    return sorted({point.n_players for point in sweep.points})


def _points(sweep: EtaSweep, n_players: int) -> list[Point]:
    return [point for point in sweep.points if point.n_players == n_players]
