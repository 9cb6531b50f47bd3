"""The results of several settings, in order: a list that also gives one table and one picture."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from devote.simulator import dataframe
from devote.simulator.result import Result
from devote.simulator.summary import html_table, summarise, text_table
from devote.simulator.trial import NEVER

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HEADS = ("setting", "trials", "samples", "95 % interval", "broadcasts", "good answers")


class Results(list[Result]):
    """What ``run_sweep`` and ``load_results`` give, one result per cell."""

    def rows(self, of: str = "trials") -> list[dict[str, Any]]:
        """The rows of all results, as ``Result.rows``."""
        return [row for result in self for row in result.rows(of)]

    def to_dataframe(self, of: str = "trials") -> Any:
        """One pandas ``DataFrame``; the rows themselves where pandas is missing."""
        return dataframe.dataframe(self.rows(of))

    def to_csv(self, path: str | Path, of: str = "trials") -> Path:
        """One CSV file."""
        return dataframe.write_csv(path, self.rows(of))

    def plot(
        self,
        y: str = "samples",
        *,
        x: str = "n_players",
        by: str = "algorithm",
        ax: "Axes | None" = None,
    ) -> "Axes":
        """The mean of a column over another, a line for each value of ``by``; 95 % t intervals."""
        from devote.simulator.plots import plot_cells

        return plot_cells(self, y, x, by, ax)

    def __repr__(self) -> str:
        return text_table(HEADS, [_texts(result) for result in self]) if self else "[]"

    def _repr_html_(self) -> str:
        title = f"{len(self)} settings; means with Student t intervals"
        return html_table(title, HEADS, [_texts(result) for result in self])


def _texts(result: Result) -> tuple[str, ...]:
    label = result.scenario.label
    if not result.trials:
        return label, "0", "-", "-", "-", "-"
    summary = summarise(result)
    samples = between = "-"
    if (result.samples != NEVER).any():
        _, samples, between, _, _ = summary["samples"].texts()
    trials = f"{result.trials:,}"
    sent, good = (summary[name].texts()[1] for name in ("broadcasts", "good answers"))
    return label, trials, samples, between, sent, good
