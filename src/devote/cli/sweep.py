"""``devote sweep``: a grid of scenarios from a file."""

from pathlib import Path
from typing import Annotated, Any

import typer

from devote.cli import options
from devote.cli.options import takes


def sweep(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="What to run.")],
    trials: Annotated[int | None, takes("T", "Trials per cell, in place of the file's.")] = None,
    results: Annotated[
        Path | None, takes("FILE.jsonl", "Where trials are kept. Default: beside FILE.toml.")
    ] = None,
    csv: Annotated[Path | None, takes("FILE.csv", "Also write a row per trial there.")] = None,
    workers: options.Workers = 0,
    seed: Annotated[int | None, takes("S", "In place of the file's.")] = None,
    json: options.Json = False,
) -> None:
    """Run every combination of what a file lists, and show it as it goes.

    Interrupted, it goes on where it stopped when it is started again. With more trials, or more
    values in the file, it runs only what is missing.

    Examples:
        devote sweep grid.toml
        devote sweep grid.toml --trials 100 --csv grid.csv
        devote sweep grid.toml --import my_rule.py --workers 4
        where grid.toml holds
        problem = "1"
        n_players = [32, 64, 128]
        eta = [0.5, 0.9]
        algorithm = ["ser3", "mixture_elimination"]
        trials = 20
    """
    from devote.cli.output_file import check_writable
    from devote.cli.sweep_view import LiveTable, show_cells, told_cells
    from devote.cli.terminal import tell
    from devote.simulator.grids import read_sweep

    asked = read_sweep(file)
    if csv is not None:
        check_writable(csv)
    kept = file.with_suffix(".jsonl") if results is None else results
    how: dict[str, Any] = {
        "trials": asked.trials if trials is None else trials,
        "seed": asked.seed if seed is None else seed,
        "workers": workers or None,
        "results": kept,
    }
    from devote.simulator import run_sweep

    with LiveTable(asked.cells, how["trials"]) as live:
        done = run_sweep(asked.cells, on_block=live.take, **how)
    if csv is not None:
        done.to_csv(csv)
    told = {"results": str(kept), "seed": how["seed"], "cells": told_cells(done)}
    tell(told, json, lambda _: show_cells(done, kept))
