"""The whole of it: run, draw, judge, write.

Studies share scenarios. Trials are kept in one file, so that any later run, of whichever figures,
finds them.
"""

import json
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from devote.errors import did_you_mean
from devote.files import write_whole
from devote.protocol import SpecError
from devote.simulator import ResultError, Scenario, run_sweep
from devote.simulator.results import versions
from devote.simulator.scenario import check_engine
from devote.simulator.sweep import Progress
from devote.studies import (
    frequent_players,
    mean_gap,
    report,
    section_5,
    style,
    switches,
    theorem_1,
)
from devote.studies.claim import Row
from devote.studies.study import Plan, Settings, Study, StudyError, Table

STUDIES = (
    *(*section_5.STUDIES, *mean_gap.STUDIES, *switches.STUDIES),
    *(*theorem_1.STUDIES, *frequent_players.STUDIES),
)
"""In the order of the paper; what the paper lacks comes last."""


def studies() -> dict[str, Study]:
    """Every study, by name."""
    return {study.name: study for study in STUDIES}


def choose(names: Sequence[str]) -> list[Study]:
    """The studies of these names, or all if there are none.

    >>> [study.name for study in choose(["problem-2"])]
    ['problem-2']
    """
    known = studies()
    for name in names:
        if name not in known:
            raise StudyError(
                f"figure {name!r} is not known.\n{did_you_mean(name, known)}"
                f"Use any of: {', '.join(known)}."
            )
    return [known[name] for name in dict.fromkeys(names)] if names else list(known.values())


def plan(chosen: Iterable[Study], settings: Settings) -> Plan:
    """The scenarios that the studies read, with the most trials that any asks for."""
    planned: Plan = {}
    for study in chosen:
        for scenario, trials in study.scenarios(settings).items():
            planned[scenario] = max(trials, planned.get(scenario, 0))
    return planned


def with_engine(scenario: Scenario, engine: str) -> Scenario:
    """The scenario on the engine that was asked for; on any where that one cannot run it."""
    try:
        return replace(scenario, engine=engine)
    except SpecError:
        return scenario


def run(
    chosen: Sequence[Study], settings: Settings, folder: Path, *, engine: str = "auto", **how: Any
) -> Table:
    """Run what is missing in the results file, and gather everything the studies read.

    ``how``, such as ``workers``, goes to ``run_sweep``.
    """
    planned = plan(chosen, settings)
    try:
        found = run_sweep(
            [with_engine(scenario, engine) for scenario in planned],
            trials=list(planned.values()),
            seed=settings.seed,
            results=folder / "trials.jsonl",
            **how,
        )
    except ResultError as error:
        raise StudyError(f"{error}\nThe results are in {folder}.") from None
    return Table(found, settings)


@dataclass(frozen=True)
class Reproduction:
    """What was written, and the claims with their verdicts."""

    settings: Settings
    folder: Path
    figures: tuple[Path, ...]
    document: Row
    """``claims.json``."""

    @property
    def claims(self) -> list[Row]:
        """The rows of the table."""
        rows: list[Row] = self.document["claims"]
        return rows

    def to_dict(self) -> Row:
        """What was written, as JSON values, with all that ``claims.json`` has."""
        figures = [path.name for path in self.figures]
        return {"out": str(self.folder), "figures": figures, **self.document}


def reproduce(
    figures: Sequence[str] = (),
    *,
    settings: Settings | None = None,
    out: str | Path = "reproduction",
    engine: str = "auto",
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Reproduction:
    """Run studies, all by default; write their figures and the table of claims to ``out``.

    Trials go to an append-only file in ``out/results``: an interrupted run goes on where it
    stopped, and a second one only draws. ``engine`` runs what it can run, any other the rest.

    Paper: section 5.
    """
    chosen = choose(figures)
    style.check_there()
    check_engine(engine)
    if engine == "cuda":
        from devote.simulator.gpu import check_device

        check_device()
    asked = settings or Settings()
    folder = _folder(Path(out))
    how: dict[str, Any] = {"workers": workers, "executor": executor, "progress": progress}
    table = run(chosen, asked, folder / "results", engine=engine, **how)
    drawn: list[Path] = []
    for study in chosen:
        with style.house_style():
            drawn += style.save(study.figure(table), folder, study.name)
    claims = [claim for study in chosen for claim in study.claims(table)]
    for claim in claims:
        # Its verdict is marked if the range was cut.
        claim["missing_n_players"] = list(asked.missing) if claim["over_players"] else []
    claims.sort(key=lambda claim: bool(claim["uncounted"]))
    document = report.document_of(claims, asked, versions())
    text = json.dumps(document, indent=1, allow_nan=False) + "\n"
    write_whole(folder / "claims.json", text.encode())
    write_whole(folder / "claims.md", report.as_markdown(document).encode())
    return Reproduction(asked, folder, tuple(drawn), document)


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
