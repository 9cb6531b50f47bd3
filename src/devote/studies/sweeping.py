"""From studies to results: who owns which scenario, and one results file per owner.

Studies share scenarios. A scenario belongs to the first study, in the order of the registry,
that plans it; its results are in that study's file whichever figures are asked for, so that any
later run finds them.
"""

from collections.abc import Sequence
from pathlib import Path

from devote.simulate import Result, ResultError, Scenario, run_sweep
from devote.simulate.sweep.sweep import Progress
from devote.studies.registry import studies
from devote.studies.settings import Settings, StudyError
from devote.studies.study import Study, Table

Sweeps = dict[tuple[str, int], list[Scenario]]
"""Scenarios by the file they are kept in: owner and number of trials."""


def sweeps_for(chosen: Sequence[Study], settings: Settings) -> Sweeps:
    """The sweeps that own any scenario that the chosen studies need."""
    owners: dict[Scenario, tuple[str, int]] = {}
    sweeps: Sweeps = {}
    for study in dict.fromkeys((*studies().values(), *chosen)):
        for planned in study.scenarios(settings):
            if planned.scenario not in owners:
                owner = (study.name, planned.trials)
                owners[planned.scenario] = owner
                sweeps.setdefault(owner, []).append(planned.scenario)
    needed = {owners[planned.scenario] for study in chosen for planned in study.scenarios(settings)}
    return {owner: scenarios for owner, scenarios in sweeps.items() if owner in needed}


def run(
    chosen: Sequence[Study],
    settings: Settings,
    folder: Path,
    *,
    workers: int | None = None,
    dask: str | None = None,
    progress: Progress | None = None,
) -> Table:
    """Run what is missing, and gather everything the chosen studies read."""
    sweeps = sweeps_for(chosen, settings)
    total = sum(trials * len(scenarios) for (_, trials), scenarios in sweeps.items())
    gathered: list[Result] = []
    before = 0
    for (owner, trials), scenarios in sweeps.items():
        suffix = "" if trials == settings.trials else f"-{trials}-trials"

        def report(done: int, _: int, label: str, before: int = before) -> None:
            if progress is not None:
                progress(before + done, total, label)

        try:
            gathered += run_sweep(
                scenarios,
                trials=trials,
                seed=settings.seed,
                workers=workers,
                results=folder / f"{owner}{suffix}.jsonl",
                dask=dask,
                progress=report,
            )
        except ResultError as error:
            raise StudyError(f"{error}\nThe results are in {folder}.") from None
        before += trials * len(scenarios)
    return Table(gathered, settings)
