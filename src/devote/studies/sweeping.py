"""From experiments to results: who owns which cell, and one results file per owner.

Experiments share cells. A cell belongs to the first experiment, in the order of the registry,
that plans it; its results are in that experiment's file whichever figures are asked for, so
that any later run finds them.
"""

from collections.abc import Sequence
from pathlib import Path

from devote.studies.errors import ExperimentError
from devote.studies.experiment import Experiment
from devote.studies.registry import experiments
from devote.studies.settings import Settings
from devote.studies.table import Table
from devote.simulate.cell import Cell
from devote.simulate.result import Result, ResultError
from devote.simulate.sweep import Progress, run_sweep

Sweeps = dict[tuple[str, int], list[Cell]]
"""Cells by the file they are kept in: owner and number of trials."""


def sweeps_for(chosen: Sequence[Experiment], settings: Settings) -> Sweeps:
    """The sweeps that own any cell that the chosen experiments need."""
    owners: dict[str, tuple[str, int]] = {}
    sweeps: Sweeps = {}
    for experiment in dict.fromkeys((*experiments().values(), *chosen)):
        for planned in experiment.plan(settings):
            key = _identity(planned.cell)
            if key not in owners:
                owners[key] = (experiment.name, planned.trials)
                sweeps.setdefault(owners[key], []).append(planned.cell)
    needed = {
        owners[_identity(planned.cell)]
        for experiment in chosen
        for planned in experiment.plan(settings)
    }
    return {owner: cells for owner, cells in sweeps.items() if owner in needed}


def run(
    chosen: Sequence[Experiment],
    settings: Settings,
    folder: Path,
    *,
    workers: int | None = None,
    dask: str | None = None,
    progress: Progress | None = None,
) -> Table:
    """Run what is missing, and gather everything the chosen experiments read."""
    sweeps = sweeps_for(chosen, settings)
    total = sum(trials * len(cells) for (_, trials), cells in sweeps.items())
    gathered: list[Result] = []
    before = 0
    for (owner, trials), cells in sweeps.items():
        suffix = "" if trials == settings.trials else f"-{trials}-trials"

        def report(done: int, _: int, label: str, before: int = before) -> None:
            if progress is not None:
                progress(before + done, total, label)

        try:
            gathered += run_sweep(
                cells,
                trials=trials,
                seed=settings.seed,
                workers=workers,
                results=folder / f"{owner}{suffix}.jsonl",
                dask=dask,
                progress=report,
            )
        except ResultError as error:
            raise ExperimentError(f"{error}\nThe results are in {folder}.") from None
        before += trials * len(cells)
    return Table(gathered)


def _identity(cell: Cell) -> str:
    return repr((cell.spec.fingerprint, cell.problem, cell.protocol, cell.n_players, cell.horizon))
