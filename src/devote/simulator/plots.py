"""Pictures of results, drawn into matplotlib axes; nothing is run here.

Needs the extra ``plots``. Axes that are made here belong to no window: save them with
``axes.figure.savefig(...)``, or let a notebook show ``axes.figure``.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from devote.extras import naming_extras
from devote.simulator.dataframe import arm_names
from devote.simulator.errors import ResultError
from devote.simulator.summary import mean_row
from devote.simulator.trial import NEVER

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from devote.simulator.result import Result

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
    """The fraction of trials that were decided, and that everybody knew of, by so many samples."""
    decided = result.samples[result.samples != NEVER]
    ended = result.samples_until_all_know[~result.ended("unfinished")]
    for values, words in ((decided, "to the decision"), (ended, "until all know")):
        if len(values):
            fractions = np.arange(1, len(values) + 1) / result.trials
            axes.step(np.sort(values), fractions, where="post", label=_label(result, words))
    axes.set(xlabel="samples of all players", ylabel="fraction of trials", ylim=(0.0, 1.02))
    axes.legend()


def _curve(name: str) -> Callable[["Result", "Axes"], None]:
    def draw(result: "Result", axes: "Axes") -> None:
        at, values = result.curve(name)
        low, high = np.percentile(values, BAND, axis=0)
        [line] = axes.plot(at, values.mean(axis=0), label=_label(result, "mean"))
        axes.fill_between(at, low, high, alpha=0.2, color=line.get_color(), linewidth=0)
        axes.set(xscale="log", xlabel="samples of all players", ylabel=CURVE_NAMES[name])
        axes.legend()

    return draw


def _arms(result: "Result", axes: "Axes") -> None:
    if result.pulls_per_arm is None:
        raise _unrecorded("arms")
    rows = [
        mean_row(name, column)
        for name, column in zip(arm_names(result), result.pulls_per_arm.T, strict=True)
    ]
    values = [row.value for row in rows]
    errors = [[row.value - (row.value if row.low is None else row.low) for row in rows]]
    axes.bar(range(len(rows)), values, yerr=errors * 2, capsize=2)
    axes.set_xticks(range(len(rows)), [row.name for row in rows])
    axes.set(xlabel="arm", ylabel="pulls, mean of the trials")


def _players(result: "Result", axes: "Axes") -> None:
    if result.pulls_per_player is None:
        raise _unrecorded("players")
    ranked = np.sort(result.pulls_per_player, axis=1)[:, ::-1].mean(axis=0)
    axes.step(np.arange(1, len(ranked) + 1), ranked, where="mid", label=_label(result, "mean"))
    axes.set(xlabel="players, the busiest first", ylabel="pulls, mean of the trials")
    axes.legend()


def _unrecorded(what: str) -> ResultError:
    return ResultError(f"The pulls of {what} were not recorded.\nRun it again with record=True.")


def _label(result: "Result", words: str) -> str:
    return f"{result.scenario.scheme.name} {result.spec.algorithm}, {words}"


PICTURES: dict[str, Callable[["Result", "Axes"], None]] = {
    "samples": _samples,
    **{name: _curve(name) for name in CURVE_NAMES},
    "pulls_per_arm": _arms,
    "pulls_per_player": _players,
}
"""Without a record only the first; curves have the mean of the trials and a band of 10 to 90 %."""


def plot_cells(results: Sequence["Result"], y: str, x: str, by: str, ax: "Axes | None") -> "Axes":
    """The mean of column ``y`` over ``x``, a line for each value of ``by``, with 95 % intervals."""
    table = [row for result in results for row in result.rows()]
    for name in (y, x, by):
        if not table or name not in table[0]:
            known = ", ".join(table[0]) if table else "none: there are no trials"
            raise ResultError(f"There is no column {name!r}.\nUse one of: {known}.")
    groups: dict[Any, dict[Any, list[float]]] = {}
    for row in table:
        if row[y] is not None:
            groups.setdefault(row[by], {}).setdefault(row[x], []).append(float(row[y]))
    axes = new_axes() if ax is None else ax
    for group, cells in groups.items():
        places = sorted(cells)
        rows = [mean_row("", cells[place]) for place in places]
        half = [0.0 if row.high is None else row.high - row.value for row in rows]
        axes.errorbar(
            places, [row.value for row in rows], yerr=half, marker="o", capsize=3, label=str(group)
        )
    axes.set(xlabel=x, ylabel=f"{y}, mean")
    axes.legend(title=by)
    return axes
