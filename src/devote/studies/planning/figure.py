"""The picture of a plan's sweep; it reads a saved sweep and never simulates."""

from io import BytesIO
from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from devote.files import write_whole
from devote.simulate.estimates import mean
from devote.studies.drawing.style import BARS, BLACK, bars
from devote.studies.planning.sweep import PlanSweep

LABELS = {
    "eta": "η, the error allowed to one device",
    "players": "number of devices",
    "epsilon": "ε, how far from the best an arm may be",
}


def draw_plan(sweep: PlanSweep, out: str | Path) -> Path:
    """Samples above, broadcast votes below, against the axis; PNG or SVG by the name."""
    figure = Figure(figsize=(6.4, 5.6), layout="constrained")
    FigureCanvasAgg(figure)
    above, below = figure.subplots(2, 1, sharex=True)
    _panel(above, sweep, "samples", "samples, all devices")
    _panel(below, sweep, "broadcasts", f"{sweep.rows[0]['sends']} broadcast")
    _mark_trouble(above, sweep)
    if sweep.axis != "eta":
        above.set_xscale("log")
    _scale_samples(above, sweep)
    below.set_ylim(bottom=0)
    below.set_xlabel(LABELS[sweep.axis])
    if sweep.axis != "eta":
        below.set_xticks(sweep.values, [f"{value:,g}" for value in sweep.values])
        below.minorticks_off()
    first = sweep.rows[0]
    spec = first["spec"]
    above.set_title(
        f"{first['scheme']} {spec['algorithm']}, {len(spec['arms'])} arms, "
        f"means of {first['trials']} trials\n{BARS if first['trials'] > 1 else ''}",
        fontsize=9,
        loc="left",
    )
    buffer = BytesIO()
    figure.savefig(buffer, format=Path(out).suffix.lstrip("."), dpi=160)
    return write_whole(out, buffer.getvalue())


def _panel(axes: Any, sweep: PlanSweep, name: str, label: str) -> None:
    means = [row[name]["mean"] for row in sweep.rows]
    if sweep.rows[0]["trials"] > 1:
        bars(axes, sweep.values, [mean(row[name]["values"]) for row in sweep.rows], BLACK)
    axes.plot(sweep.values, means, color=BLACK, marker="o", markersize=4)
    axes.set_ylabel(label)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)


def _scale_samples(axes: Any, sweep: PlanSweep) -> None:
    """A log axis where samples span much, one from zero where they do not; whole numbers."""
    plain = FuncFormatter(lambda value, _: f"{value:,.0f}")
    means = [row["samples"]["mean"] for row in sweep.rows]
    if max(means) > 4 * min(means):
        axes.set_yscale("log")
        axes.yaxis.set_minor_formatter(plain)
    else:
        axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(plain)


def _mark_trouble(axes: Any, sweep: PlanSweep) -> None:
    """Hollow points where some runs did not end with one arm."""
    points = [
        (value, row["samples"]["mean"])
        for value, row in zip(sweep.values, sweep.rows, strict=True)
        if row["status"]["agreed"] < row["trials"]
    ]
    if points:
        style = {"linestyle": "", "marker": "o", "markersize": 7, "markerfacecolor": "white"}
        label = "some runs without one answer"
        axes.plot(*zip(*points, strict=True), color=BLACK, label=label, **style)
        axes.legend(frameon=False, fontsize=8, loc="best")
