"""The whole of it: run, draw, judge, write.

Studies share scenarios. A scenario belongs to the first study, in the order of the registry,
that plans it; its results are in that study's file whichever figures are asked for, so that any
later run finds them.
"""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, Future
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from devote.files import write_whole
from devote.protocol import SpecError
from devote.simulate import Result, ResultError, Scenario
from devote.simulate.gpu import check_device
from devote.simulate.result import versions
from devote.simulate.scenario import check_engine
from devote.simulate.sweep.cluster import dask_executor
from devote.simulate.sweep.sweep import Progress, Sweep, run_sweeps
from devote.simulate.sweep.workers import InProcess, local_executor, worker_count
from devote.studies import report
from devote.studies.claim import Claim
from devote.studies.drawing import style
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
    executor: tuple[Executor, int] | None = None,
    progress: Progress | None = None,
    on_study: Callable[[Study, Table], None] | None = None,
) -> Table:
    """Run what is missing, and gather everything the chosen studies read.

    ``on_study`` is called with each study and what it reads, as soon as that is there.
    """
    asked = []
    there: dict[Scenario, Result] = {}
    waiting = {
        study: {planned.scenario for planned in study.scenarios(settings)} for study in chosen
    }

    def on_sweep(results: Iterable[Result]) -> None:
        there.update((result.scenario, result) for result in results)
        for study, lacking in list(waiting.items()):
            lacking -= there.keys()
            if not lacking:
                del waiting[study]
                if on_study is not None:
                    on_study(study, Table(there.values(), settings).of(study, settings))

    for (owner, trials), scenarios in sweeps_for(chosen, settings).items():
        suffix = "" if trials == settings.trials else f"-{trials}-trials"
        cells = [with_engine(one, engine) for one in scenarios]
        asked.append(Sweep(cells, trials, folder / f"{owner}{suffix}.jsonl"))
    on_sweep(())  # some studies read nothing
    try:
        found = run_sweeps(
            asked,
            seed=settings.seed,
            workers=workers,
            executor=executor,
            progress=progress,
            on_sweep=on_sweep,
        )
    except ResultError as error:
        raise StudyError(f"{error}\nThe results are in {folder}.") from None
    return Table(chain.from_iterable(found), settings)


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
    style.check_there()
    check_engine(engine)
    if engine == "cuda":
        check_device()
    asked = settings or Settings()
    folder = _folder(Path(out))
    with ExitStack() as stack:
        local = local_executor(worker_count(workers))
        pool = stack.enter_context(local if dask is None else dask_executor(dask))
        # Figures are for this machine.
        painter = pool[0] if dask is None else InProcess()
        if engine == "cuda":
            # Meanwhile workers import what drawing takes.
            for _ in range(min(len(chosen), pool[1])):
                painter.submit(get_ready)
        pages: dict[Study, Future[tuple[list[Path], list[Claim]]]] = {}

        def draw(study: Study, table: Table) -> None:
            pages[study] = painter.submit(draw_and_judge, study.name, table, folder)

        run(
            chosen,
            asked,
            folder / "results",
            engine=engine,
            executor=pool,
            progress=progress,
            on_study=draw,
        )
        done = [pages[study].result() for study in chosen]
    written = [path for paths, _ in done for path in paths]
    # A verdict that rests on the range of players is marked if the range was cut.
    claims = [
        replace(claim, missing=asked.missing if claim.over_players else ())
        for _, judged in done
        for claim in judged
    ]
    claims.sort(key=lambda claim: bool(claim.uncounted))
    for form, text in (("md", report.as_markdown), ("json", report.as_json)):
        write_whole(folder / f"claims.{form}", text(claims, asked, versions()).encode())
    return Reproduction(asked, folder, tuple(written), tuple(claims))


def get_ready() -> None:
    """Import what drawing takes, in a worker that will draw later."""
    studies()
    style.get_ready()


def draw_and_judge(name: str, table: Table, folder: Path) -> tuple[list[Path], list[Claim]]:
    """Draw the figure of a study and judge its claims; in a worker, beside others."""
    [study] = choose([name])
    with style.house_style():
        figure = study.figure(table)
    return style.save(figure, folder, name), study.claims(table)


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
