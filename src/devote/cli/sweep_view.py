"""A sweep as a table: a row per cell, filled in as trials end."""

import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from rich.console import Console, RenderableType
from rich.live import Live

from devote.cli.terminal import CLOSE, console, number, probability, table
from devote.simulate import Result, Scenario, Trial
from devote.simulate.dataframe import setting
from devote.simulate.summary import mean_row

HEADS = ("trials", "samples", "±", "messages", "good")
REFRESH = 4
"""Times a second."""


def varying(cells: Sequence[Scenario]) -> list[str]:
    """What differs between the cells; their algorithms where nothing does."""
    rows = [setting(cell) for cell in cells]
    names = [name for name in rows[0] if len({row[name] for row in rows}) > 1] if rows else []
    return names or ["algorithm"]


def cells_table(cells: Sequence[Scenario], runs: Sequence[Sequence[Trial]]) -> RenderableType:
    """The table, of the trials there are."""
    names = varying(cells)
    rows = []
    for cell, trials in zip(cells, runs, strict=True):
        values = setting(cell)
        rows.append([*(str(values[name]) for name in names), *_numbers(trials)])
    return table("l" * len(names) + "r", [*names, *HEADS], rows, **CLOSE)


def _numbers(trials: Sequence[Any]) -> list[str]:
    if not trials:
        return ["0", "", "", "", ""]
    samples = mean_row("", [trial.samples for trial in trials])
    half = "" if samples.high is None else number(samples.high - samples.value)
    sent = sum(trial.broadcasts for trial in trials) / len(trials)
    good = sum(trial.epsilon_optimal for trial in trials) / len(trials)
    return [str(len(trials)), number(samples.value), half, number(sent), probability(good)]


class LiveTable:
    """The table on stderr while a sweep runs, if that is a terminal; gone when done."""

    def __init__(self, cells: Sequence[Scenario], trials: int) -> None:
        self._cells = cells
        self._total = len(cells) * trials
        self._runs: list[list[Trial]] = [[] for _ in cells]
        self._live: Live | None = None
        if sys.stderr.isatty():
            self._live = Live(
                get_renderable=self._render,
                console=Console(stderr=True, highlight=False),
                refresh_per_second=REFRESH,
                transient=True,
            )

    def _render(self) -> RenderableType:
        return cells_table(self._cells, self._runs)

    def take(self, cell: int, trial: int, run: Trial) -> None:
        """A trial has ended, now or in an earlier run."""
        self._runs[cell].append(run)

    def __enter__(self) -> "LiveTable":
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()


def show_cells(results: Sequence[Result], kept: Path) -> None:
    """Print the table of a finished sweep."""
    out = console()
    out.print(cells_table([one.scenario for one in results], [_trials(one) for one in results]))
    out.print("\nMean per trial; ± is half of the 95 % Student t interval.", style="dim")
    out.print(f"Trials are kept in {kept}: raise trials or add values, and run it again.")


class _Row:
    """One trial of a result."""

    def __init__(self, result: Result, i: int) -> None:
        self.samples = int(result.samples[i])
        self.broadcasts = int(result.broadcasts[i])
        self.epsilon_optimal = bool(result.epsilon_optimal[i])


def _trials(result: Result) -> list[Any]:
    return [_Row(result, i) for i in range(result.trials)]


def told_cells(results: Sequence[Result]) -> list[dict[str, Any]]:
    """The cells as JSON values."""
    return [
        {
            **setting(one.scenario),
            "trials": one.trials,
            "status": one.status_counts(),
            "summary": one.summary().to_dict()["rows"],
        }
        for one in results
    ]
