"""The trials of one setting, side by side, with where they came from."""

import io
import json
import platform
import zipfile
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from devote.files import write_whole
from devote.problems import Problem
from devote.protocol import ExperimentSpec
from devote.simulate.errors import ResultError
from devote.simulate.scenario import Scenario
from devote.simulate.trial import NEVER, STATUSES, Event, RunStatus, Trial

FORMAT = 2
FORMATS = (1, FORMAT)
"""What can be read; in format 1 nobody had counted the samples until the decision."""

COLUMNS = tuple(item.name for item in fields(Trial) if item.type is int)
JUDGEMENTS = tuple(item.name for item in fields(Trial) if item.type is bool)


@dataclass(frozen=True)
class Result:
    """Per trial: costs, ending, winners; and the scenario, seed and versions behind them.

    ``first_vote[i, n]`` is player n's number of pulls at its first message about an arm in
    trial i, -1 if there was none. ``samples_to_decision`` is -1 where the group had no answer,
    and in files that were made before it was counted. ``epsilon_optimal`` and
    ``holds_epsilon_optimal`` are as in ``Trial``.
    """

    scenario: Scenario
    seed: int
    samples: NDArray[np.int64]
    samples_to_decision: NDArray[np.int64]
    broadcasts: NDArray[np.int64]
    deliveries: NDArray[np.int64]
    conflicts: NDArray[np.int64]
    resets: NDArray[np.int64]
    suboptimal_plays: NDArray[np.int64]
    epsilon_optimal: NDArray[np.bool_]
    holds_epsilon_optimal: NDArray[np.bool_]
    status: tuple[RunStatus, ...]
    winners: tuple[tuple[int, ...], ...]
    first_vote: NDArray[np.int32]
    traces: tuple[tuple[Event, ...], ...] | None = field(default=None, repr=False)
    versions: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        scenario: Scenario,
        runs: list[Trial],
        *,
        seed: int,
        made_with: dict[str, str] | None = None,
    ) -> "Result":
        """Gather trials of one scenario; ``made_with`` are their versions, if not today's."""
        columns: dict[str, Any] = {
            name: np.array([getattr(run, name) for run in runs], dtype=kind)
            for names, kind in ((COLUMNS, np.int64), (JUDGEMENTS, np.bool_))
            for name in names
        }
        traced = [run.trace for run in runs if run.trace is not None]
        return cls(
            scenario=scenario,
            seed=seed,
            status=tuple(run.status for run in runs),
            winners=tuple(run.winners for run in runs),
            first_vote=np.array([run.first_vote for run in runs], dtype=np.int32).reshape(
                len(runs), -1
            ),
            traces=tuple(traced) if traced else None,
            versions=versions() if made_with is None else made_with,
            **columns,
        )

    @property
    def spec(self) -> ExperimentSpec:
        """The specification."""
        return self.scenario.spec

    @property
    def problem(self) -> Problem:
        """The problem that was played."""
        return self.scenario.problem

    @property
    def n_players(self) -> int:
        """How many played."""
        return self.scenario.n_players

    @property
    def horizon(self) -> int | None:
        """The most pulls of a trial, None if there is no such limit."""
        return self.scenario.horizon

    @property
    def engine(self) -> str:
        """What ran the trials: ``event``, ``clocks``, ``cuda`` or ``players``."""
        return self.scenario.runs_on

    @property
    def trials(self) -> int:
        """How many there are."""
        return len(self.samples)

    @property
    def answers(self) -> tuple[int | None, ...]:
        """The agreed arm of each trial, None where there is none."""
        return tuple(
            arms[0] if status == "agreed" else None
            for arms, status in zip(self.winners, self.status, strict=True)
        )

    def status_counts(self) -> dict[str, int]:
        """How many trials ended in which way."""
        return {name: self.status.count(name) for name in STATUSES}

    def save(self, path: str | Path) -> Path:
        """Write to a compressed NPZ file; it appears whole or not at all."""
        header = {
            "format": FORMAT,
            **self.scenario.to_dict(),
            "seed": self.seed,
            "status": list(self.status),
            "winners": [list(arms) for arms in self.winners],
            "traces": None if self.traces is None else [[list(e) for e in t] for t in self.traces],
            "versions": self.versions,
        }
        file = io.BytesIO()
        np.savez_compressed(
            file,
            header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8),
            first_vote=self.first_vote,
            **{name: getattr(self, name) for name in (*COLUMNS, *JUDGEMENTS)},
        )
        return write_whole(path, file.getvalue())

    @classmethod
    def load(cls, path: str | Path) -> "Result":
        """Read what ``save`` wrote, in this version or an earlier one."""
        try:
            with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                columns: dict[str, Any] = {name: arrays[name] for name in arrays.files}
            header = json.loads(columns.pop("header").tobytes())
            columns.setdefault("samples_to_decision", np.full_like(columns["samples"], NEVER))
            columns.setdefault("holds_epsilon_optimal", columns["epsilon_optimal"])
        except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile) as error:
            raise ResultError(
                f"{Path(path).name} is not a whole file of results ({type(error).__name__}).\n"
                "Run the simulation again, or restore the file from a copy."
            ) from None
        check_format(Path(path).name, header["format"])
        traces = header["traces"]
        return cls(
            scenario=Scenario.from_dict(header),
            seed=header["seed"],
            status=tuple(header["status"]),
            winners=tuple(tuple(arms) for arms in header["winners"]),
            traces=None if traces is None else tuple(tuple(Event(*e) for e in t) for t in traces),
            versions=header["versions"],
            **columns,
        )


def check_format(name: str, given: object) -> None:
    """Refuse a file of a format that is not known here."""
    if given not in FORMATS:
        raise ResultError(
            f"{name} has format {given}, not {FORMAT}.\n"
            "Read it with the version of devote that wrote it."
        )


def versions() -> dict[str, str]:
    """What produced a result."""
    from importlib.metadata import version

    packages = {name: version(name) for name in ("devote", "numpy", "numba")}
    return {"python": platform.python_version(), **packages}
