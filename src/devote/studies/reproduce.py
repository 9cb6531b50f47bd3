"""The whole of it: run, draw, judge, write.

Studies share scenarios. A scenario belongs to the first study, in the order of the registry,
that plans it; its results are in that study's file whichever figures are asked for, so that any
later run finds them.
"""

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from devote.files import write_whole
from devote.protocol import SpecError
from devote.simulate import Result, ResultError, Scenario, run_sweep
from devote.simulate.engine.gpu.target import check_device
from devote.simulate.result import versions
from devote.simulate.scenario import check_engine
from devote.simulate.sweep.sweep import Progress
from devote.simulate.sweep.workers import local_executor, worker_count
from devote.studies import report
from devote.studies.claim import Claim
from devote.studies.registry import choose, studies
from devote.studies.study import Settings, Study, StudyError, Table

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


def with_engine(scenario: Scenario, engine: str) -> Scenario:
    """The scenario on the engine that was asked for; on any where that one cannot run it."""
    try:
        return replace(scenario, engine=engine)
    except SpecError:
        return scenario


def run(
    chosen: Sequence[Study],
    settings: Settings,
    folder: Path,
    *,
    engine: str = "auto",
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

        def tell(done: int, _: int, label: str, before: int = before) -> None:
            if progress is not None:
                progress(before + done, total, label)

        try:
            gathered += run_sweep(
                [with_engine(one, engine) for one in scenarios],
                trials=trials,
                seed=settings.seed,
                workers=workers,
                results=folder / f"{owner}{suffix}.jsonl",
                dask=dask,
                progress=tell,
            )
        except ResultError as error:
            raise StudyError(f"{error}\nThe results are in {folder}.") from None
        before += trials * len(scenarios)
    return Table(gathered, settings)


@dataclass(frozen=True)
class Reproduction:
    """What was written, and the claims with their verdicts."""

    settings: Settings
    folder: Path
    figures: tuple[Path, ...]
    claims: tuple[Claim, ...]

    def to_dict(self) -> dict[str, Any]:
        """What was written, as JSON values."""
        return {
            "out": str(self.folder),
            "trials": self.settings.trials,
            "n_players": list(self.settings.players),
            "seed": self.settings.seed,
            "figures": [path.name for path in self.figures],
            "verdicts": report.tally(self.claims),
            "claims": [claim.to_dict() for claim in self.claims],
        }


def reproduce(
    figures: Sequence[str] = (),
    *,
    settings: Settings | None = None,
    out: str | Path = "reproduction",
    engine: str = "auto",
    workers: int | None = None,
    dask: str | None = None,
    progress: Progress | None = None,
) -> Reproduction:
    """Run studies, all by default; write their figures and the table of claims to ``out``.

    Trials go to append-only files in ``out/results``: an interrupted run goes on where it
    stopped, and a second one only draws. ``engine`` runs what it can run, any other the rest.

    Paper: section 5.
    """
    chosen = choose(figures)
    check_engine(engine)
    if engine == "cuda":
        check_device()
    asked = settings or Settings()
    folder = _folder(Path(out))
    how: dict[str, Any] = {"engine": engine, "workers": workers, "dask": dask}
    from devote.studies.drawing.style import get_ready, house_style, save

    saved: list[Future[list[Path]]] = []
    claims: list[Claim] = []
    # A figure takes half a second to save; what it takes is imported while trials run.
    savers = max(1, min(len(chosen), worker_count(workers) - 2))
    with local_executor(savers) as (executor, _):
        for _ in range(savers):
            executor.submit(get_ready)
        table = run(chosen, asked, folder / "results", progress=progress, **how)
        for study in chosen:
            for claim in study.claims(table):
                # A verdict that rests on the range of players is marked if the range was cut.
                claims.append(replace(claim, missing=asked.missing if claim.over_players else ()))
            with house_style():
                figure = study.figure(table)
            saved.append(executor.submit(save, figure, folder, study.name))
        written = [path for future in saved for path in future.result()]
    claims.sort(key=lambda claim: bool(claim.uncounted))
    for form, text in (("md", report.as_markdown), ("json", report.as_json)):
        write_whole(folder / f"claims.{form}", text(claims, asked, versions()).encode())
    return Reproduction(asked, folder, tuple(written), tuple(claims))


def _folder(out: Path) -> Path:
    """The folder, made if need be; refused before any work is done if it cannot be written."""
    probe = out / "results" / ".writable"
    try:
        probe.parent.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise StudyError(
            f"The folder {out} cannot be written ({error.strerror}).\nChoose another with --out."
        ) from None
    return out
