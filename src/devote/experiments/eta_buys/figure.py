"""What eta really buys, at a glance; it reads a saved sweep and never simulates."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from devote.experiments.drawing.canvas import save
from devote.experiments.drawing.style import BLUE, GREEN, GREY, VERMILLION, house_style
from devote.experiments.eta_buys.sweep import EtaSweep, Point

COLOURS = (BLUE, VERMILLION, GREEN)
MARKS = ("o", "s", "^")


def draw_eta(sweep: EtaSweep, out: str | Path) -> list[Path]:
    """Success of the adversary, share of players heard of, samples: over eta, for each N.

    Saved as PNG and as SVG, whichever of the two was named.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with house_style():
        figure = Figure(figsize=(11.0, 4.2))
        FigureCanvasAgg(figure)
        figure.subplots_adjust(left=0.065, right=0.965, bottom=0.19, top=0.83, wspace=0.42)
        named, heard, cost = figure.subplots(1, 3)
        _success(named, sweep)
        _lines(heard, sweep, lambda point: point.voters)
        heard.set_ylim(0.0, 1.04)
        heard.set_ylabel("share of players")
        heard.set_title("… and makes more players vote")
        _lines(cost, sweep, lambda point: point.samples_per_player)
        cost.set_ylim(bottom=0.0)
        cost.set_ylabel("samples per player")
        cost.set_title("… at more samples each")
        for axes in (named, heard, cost):
            etas = _etas(sweep)
            axes.set_xlim(-0.4, len(etas) + 0.45)
            axes.set_xticks(range(len(etas)), [f"{eta:g}".lstrip("0") for eta in etas])
            axes.set_xlabel("η; “the higher η, the higher the privacy”")
        figure.text(
            0.065,
            0.015,
            f"Decentralized SER3, problem 1, ε = .25, δ = .05, M = ⌊log δ / log η⌋; {sweep.runs} "
            "runs per point, one voter of each; bars: exact 95 % intervals.",
            fontsize=8,
            color=GREY,
        )
    return save(figure, Path(out).parent, Path(out).stem)


def _success(axes: Any, sweep: EtaSweep) -> None:
    etas = _etas(sweep)
    axes.plot(range(len(etas)), [1.0 - eta for eta in etas], color=GREY, linestyle=(0, (4, 2)))
    axes.annotate("claimed cap, 1 − η", (1.25, 0.7), color=GREY, fontsize=8.5)
    axes.axhline(sweep.chance, color=GREY, linewidth=0.9, linestyle=":")
    axes.annotate("without any message", (-0.2, sweep.chance - 0.13), color=GREY, fontsize=8)
    _lines(axes, sweep, lambda point: point.named["value"])
    for place, n_players in enumerate(_sizes(sweep)):
        for point in _points(sweep, n_players):
            low, high = point.named["interval"]
            axes.plot([etas.index(point.eta)] * 2, [low, high], color=COLOURS[place], linewidth=0.9)
    axes.set_ylim(0.0, 1.04)
    axes.set_ylabel("a voter's good arm named")
    axes.set_title("A higher η gives a voter away")


def _lines(axes: Any, sweep: EtaSweep, value: Callable[[Point], float]) -> None:
    etas = _etas(sweep)
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
        last = etas.index(points[-1].eta)
        axes.annotate(
            f"N = {n_players:,}",
            (last, values[-1]),
            xytext=(7 if last == len(etas) - 1 else -7, 0),
            textcoords="offset points",
            ha="left" if last == len(etas) - 1 else "right",
            va="center",
            fontsize=8.5,
            color=COLOURS[place],
            annotation_clip=False,
        )


def _etas(sweep: EtaSweep) -> list[float]:
    return sorted({point.eta for point in sweep.points})


def _sizes(sweep: EtaSweep) -> list[int]:
    return sorted({point.n_players for point in sweep.points})


def _points(sweep: EtaSweep, n_players: int) -> list[Point]:
    return [point for point in sweep.points if point.n_players == n_players]
