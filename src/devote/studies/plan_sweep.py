"""What a plan costs as eta, the number of players or epsilon varies: ``devote plan --sweep``.

The picture is drawn from the saved sweep, and drawing never simulates.
"""

from contextlib import suppress
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any

from devote.errors import did_you_mean
from devote.files import write_whole
from devote.plan.promises import summarise
from devote.protocol import SpecError
from devote.simulator import Scenario, run_sweep
from devote.simulator.estimates import mean
from devote.simulator.sweep.sweep import Progress
from devote.studies.drawing.style import BARS, BLACK, Axes, bars
from devote.studies.sheet import Sheet

AXES = {
    "eta": "η, the error allowed to one device",
    "players": "number of devices",
    "epsilon": "ε, how far from the best an arm may be",
}
"""What may vary, and how the picture names it."""

ETAS = (0.3, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95)
FACTORS = (0.5, 0.7, 1.0, 1.4, 2.0, 2.8)


@dataclass(frozen=True)
class PlanSweep(Sheet):
    """One summary per value of the axis, as ``summarise`` gives them."""

    axis: str
    values: tuple[float, ...]
    rows: tuple[dict[str, Any], ...]


def sweep_plan(
    base: Scenario,
    axis: str,
    *,
    trials: int = 5,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> PlanSweep:
    """Simulate the plan at each value of the axis that can work at all.

    >>> from devote.problems import Problem
    >>> from devote.protocol import ExperimentSpec
    >>> base = Scenario(ExperimentSpec(arms=2, epsilon=0.5), Problem("toy", [0.9, 0.1]), 64)
    >>> sweep_plan(base, "players", trials=1, workers=1).values
    (28, 32, 64)
    """
    if axis not in AXES:
        raise SpecError(
            f"sweep={axis!r} is not known.\n{did_you_mean(axis, AXES)}"
            f"Use one of: {', '.join(AXES)}."
        )
    planned: dict[float, Scenario] = {}
    for value in _values(base, axis):
        with suppress(SpecError):
            if axis == "players":
                planned[value] = replace(base, n_players=int(value))
            else:
                planned[value] = replace(base, spec=base.spec.with_(**{axis: value}))
    scenarios = list(planned.values())
    results = run_sweep(scenarios, trials=trials, seed=seed, workers=workers, progress=progress)
    # The wall time of one scenario is not known when many share the machine.
    rows = (summarise(result, wall_seconds=0.0) for result in results)
    timing = {"wall_seconds", "pulls_per_second"}
    untimed = tuple({key: row[key] for key in row if key not in timing} for row in rows)
    return PlanSweep(axis, tuple(planned), untimed)


def _values(base: Scenario, axis: str) -> list[float]:
    if axis == "eta":
        return sorted({*ETAS, base.spec.eta})
    if axis == "epsilon":
        return sorted({min(1.0, round(base.spec.epsilon * factor, 12)) for factor in FACTORS})
    least = max(2, base.scheme.fewest_players(base.spec))
    powers = {2**i for i in range(1, 31) if least < 2**i < base.n_players}
    return sorted({least, *powers, base.n_players})


def draw_plan(sweep: PlanSweep, out: str | Path) -> Path:
    """Samples above, broadcast votes below, against the axis; PNG or SVG by the name."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 5.6), layout="constrained")
    FigureCanvasAgg(figure)
    above, below = figure.subplots(2, 1, sharex=True)
    _panel(above, sweep, "samples_until_all_know", "samples until all know")
    _panel(below, sweep, "broadcasts", f"{sweep.rows[0]['sends']} broadcast")
    _mark_trouble(above, sweep)
    if sweep.axis != "eta":
        above.set_xscale("log")
    _scale_samples(above, sweep)
    below.set_ylim(bottom=0)
    below.set_xlabel(AXES[sweep.axis])
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


def _panel(axes: Axes, sweep: PlanSweep, name: str, label: str) -> None:
    means = [row[name]["mean"] for row in sweep.rows]
    if sweep.rows[0]["trials"] > 1:
        bars(axes, sweep.values, [mean(row[name]["values"]) for row in sweep.rows], BLACK)
    axes.plot(sweep.values, means, color=BLACK, marker="o", markersize=4)
    axes.set_ylabel(label)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)


def _scale_samples(axes: Axes, sweep: PlanSweep) -> None:
    """A log axis where samples span much, one from zero where they do not; whole numbers."""
    from matplotlib.ticker import FuncFormatter

    plain = FuncFormatter(lambda value, _: f"{value:,.0f}")
    means = [row["samples_until_all_know"]["mean"] for row in sweep.rows]
    if max(means) > 4 * min(means):
        axes.set_yscale("log")
        axes.yaxis.set_minor_formatter(plain)
    else:
        axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(plain)


def _mark_trouble(axes: Axes, sweep: PlanSweep) -> None:
    """Hollow points where some runs did not end with one arm."""
    means = dict(zip(sweep.values, sweep.rows, strict=True))
    x = [value for value, row in means.items() if row["status"]["agreed"] < row["trials"]]
    if x:
        y = [means[value]["samples_until_all_know"]["mean"] for value in x]
        label = "some runs without one answer"
        axes.plot(x, y, "o", color=BLACK, label=label, markersize=7, markerfacecolor="white")
        axes.legend(frameon=False, fontsize=8, loc="best")
