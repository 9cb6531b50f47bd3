"""Pictures of results, drawn into matplotlib axes; nothing is run here.

Needs the extra ``plots``. Axes that are made here belong to no window: save them with
``axes.figure.savefig(...)``, or let a notebook show ``axes.figure``.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from devote.extras import naming_extras
from devote.simulator.errors import ResultError
from devote.simulator.summary import Row, mean_row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from devote.simulator.results import Result

BAND = (10, 90)
"""Percentiles of the trials between which a curve's band lies."""

CURVE_NAMES = {
    "suboptimal_plays": "suboptimal plays",
    "broadcasts": "messages sent",
    "arms_left": "arms left",
}


def plot(result: "Result", what: str, ax: "Axes | None") -> "Axes":
    """Draw one of ``PICTURES``."""
    if what not in PICTURES:
        raise ResultError(f"There is no picture of {what!r}.\nUse one of: {', '.join(PICTURES)}.")
    if not result.trials:
        raise ResultError("There are no trials to draw.\nRun some first.")
    axes = new_axes() if ax is None else ax
    PICTURES[what](result, axes)
    return axes


def new_axes() -> "Axes":
    """Axes of a figure that no window shows."""
    with naming_extras():
        from matplotlib.figure import Figure

    return Figure(figsize=(6.0, 4.0), layout="constrained").subplots()


def _samples(result: "Result", axes: "Axes") -> None:
    """The fraction of trials that were decided, and known to all players, by so many samples."""
    ended = result.samples_until_all_know[~result.ended("unfinished")]
    for values, words in ((result.decided, "to the decision"), (ended, "until all know")):
        if len(values):
            fractions = np.arange(1, len(values) + 1) / result.trials
            axes.step(np.sort(values), fractions, where="post", label=_label(result, words))
    axes.set(xlabel="samples of all players", ylabel="fraction of trials", ylim=(0.0, 1.02))
    axes.legend()


def _curve(name: str) -> Callable[["Result", "Axes"], None]:
    """A function that draws a curve over time: its mean, and a band of most trials."""

    def draw(result: "Result", axes: "Axes") -> None:
        at, values = result.curve(name)
        low, high = np.percentile(values, BAND, axis=0)
        [line] = axes.plot(at, values.mean(axis=0), label=_label(result, "mean"))
        axes.fill_between(at, low, high, alpha=0.2, color=line.get_color(), linewidth=0)
        axes.set(xscale="log", xlabel="samples of all players", ylabel=CURVE_NAMES[name])
        axes.legend()

    return draw


def _arms(result: "Result", axes: "Axes") -> None:
    pairs = zip(result.spec.arm_names, result.pulls_per_arm.T, strict=True)
    rows = [mean_row(name, column) for name, column in pairs]
    values = [row.value for row in rows]
    axes.bar(range(len(rows)), values, yerr=[_half(row) for row in rows], capsize=2)
    axes.set_xticks(range(len(rows)), [row.name for row in rows])
    axes.set(xlabel="arm", ylabel="pulls, mean of the trials")


def _players(result: "Result", axes: "Axes") -> None:
    ranked = np.sort(result.pulls_per_player, axis=1)[:, ::-1].mean(axis=0)
    axes.step(np.arange(1, len(ranked) + 1), ranked, where="mid", label=_label(result, "mean"))
    axes.set(xlabel="players, the busiest first", ylabel="pulls, mean of the trials")
    axes.legend()


def _half(row: Row) -> float:
    """Half the width of an interval, 0 where there is none."""
    return 0.0 if row.high is None else row.high - row.value


def _label(result: "Result", words: str) -> str:
    return f"{result.scenario.label}, {words}"


PICTURES: dict[str, Callable[["Result", "Axes"], None]] = {
    "samples": _samples,
    **{name: _curve(name) for name in CURVE_NAMES},
    "pulls_per_arm": _arms,
    "pulls_per_player": _players,
}
"""Without a record only the first; curves have the mean of the trials and a band of 10 to 90 %."""


def plot_results(
    results: Sequence["Result"], y: str, x: str, by: tuple[str, ...], ax: "Axes | None"
) -> "Axes":
    """The mean of column ``y`` over ``x``, a line for each value of ``by``, with 95 % intervals."""
    from devote.simulator.results import setting

    lines: dict[Any, dict[Any, tuple[Result, Row]]] = {}
    for result in results:
        table, given = result.rows(), setting(result.scenario)
        for name, known in (
            (y, table[0] if table else given),
            *((name, given) for name in (x, *by)),
        ):
            if name not in known:
                raise ResultError(f"There is no column {name!r}.\nUse one of: {', '.join(known)}.")
        points = lines.setdefault(tuple(given[name] for name in by), {})
        if given[x] in points:
            other = setting(points[given[x]][0].scenario)
            differ = [name for name in given if given[name] != other[name]]
            raise ResultError(
                f"Results that differ in {', '.join(differ) or 'their problems'} would be drawn as "
                "one point.\nName what varies in by=(...), or draw fewer results."
            )
        values = [float(row[y]) for row in table if row[y] is not None]
        if values:
            points[given[x]] = result, mean_row("", values)
    axes = new_axes() if ax is None else ax
    for line, points in lines.items():
        places = sorted(points)
        rows = [points[place][1] for place in places]
        means, half = [row.value for row in rows], [_half(row) for row in rows]
        label = ", ".join(map(str, line))
        axes.errorbar(places, means, yerr=half, marker="o", capsize=3, label=label)
    axes.set(xlabel=x, ylabel=f"{y}, mean")
    axes.legend(title=", ".join(by))
    return axes
