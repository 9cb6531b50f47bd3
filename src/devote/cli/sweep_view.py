"""A sweep as a table: a row per cell, filled in as trials end."""

import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from rich.console import Console, RenderableType
from rich.live import Live

from devote.cli.terminal import CLOSE, console, number, probability, table
from devote.simulator import Result, Scenario
from devote.simulator.block import Columns
from devote.simulator.dataframe import setting
from devote.simulator.summary import mean_row
from devote.simulator.trial import NEVER

HEADS = ("trials", "samples", "±", "messages", "good")
REFRESH = 4
"""Times a second."""


def varying(cells: Sequence[Scenario]) -> list[str]:
    """What differs between the cells; their algorithms where nothing does."""
    rows = [setting(cell) for cell in cells]
    names = [name for name in rows[0] if len({row[name] for row in rows}) > 1] if rows else []
    return names or ["algorithm"]


def cells_table(cells: Sequence[Scenario], blocks: Sequence[Sequence[Columns]]) -> RenderableType:
    """The table, of the trials there are in the blocks of each cell."""
    names = varying(cells)
    rows = []
    for cell, some in zip(cells, blocks, strict=True):
        values = setting(cell)
        rows.append([*(str(values[name]) for name in names), *_numbers(some)])
    return table("l" * len(names) + "r", [*names, *HEADS], rows, **CLOSE)


def _numbers(blocks: Sequence[Columns]) -> list[str]:
    if not sum(len(block.samples) for block in blocks):
        return ["0", "", "", "", ""]
    samples, sent, good = (
        np.concatenate([getattr(block, name) for block in blocks])
        for name in ("samples", "broadcasts", "epsilon_optimal")
    )
    told = number(float(sent.mean())), probability(float(good.mean()))
    decided = samples[samples != NEVER]
    if not len(decided):
        return [str(len(samples)), "-", "", *told]
    row = mean_row("", decided)
    half = "" if row.high is None else number(row.high - row.value)
    return [str(len(samples)), number(row.value), half, *told]


class LiveTable:
    """The table on stderr while a sweep runs, if that is a terminal; gone when done."""

    def __init__(self, cells: Sequence[Scenario], trials: int) -> None:
        self._cells = cells
        self._total = len(cells) * trials
        self._blocks: list[list[Columns]] = [[] for _ in cells]
        self._live: Live | None = None
        if sys.stderr.isatty():
            self._live = Live(
                get_renderable=self._render,
                console=Console(stderr=True, highlight=False),
                refresh_per_second=REFRESH,
                transient=True,
            )

    def _render(self) -> RenderableType:
        return cells_table(self._cells, self._blocks)

    def take(self, cell: int, block: Columns) -> None:
        """Trials have ended, now or in an earlier run."""
        self._blocks[cell].append(block)

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
    out.print(cells_table([one.scenario for one in results], [[one] for one in results]))
    out.print("\nMean per trial; ± is half of the 95 % Student t interval.", style="dim")
    out.print(f"Trials are kept in {kept}: raise trials or add values, and run it again.")


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
