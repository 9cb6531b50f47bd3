"""The trials of one setting, side by side, with where they came from."""

import json
import platform
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from devote.problems import Problem
from devote.protocol import ExperimentSpec
from devote.simulate.setting import Setting
from devote.simulate.trial import STATUSES, Event, RunStatus, Trial

FORMAT = 2
COLUMNS = ("samples", "broadcasts", "deliveries", "conflicts", "resets", "suboptimal_plays")
JUDGEMENTS = ("epsilon_optimal", "holds_epsilon_optimal")


class ResultError(ValueError):
    """A file of results that cannot be used."""


@dataclass(frozen=True)
class Result:
    """Per trial: costs, ending, winners; and the spec, problem, seed and versions behind them.

    ``first_vote[i, n]`` is player n's number of pulls at its first vote in trial i, -1 if it
    has not voted. ``epsilon_optimal`` and ``holds_epsilon_optimal`` are as in ``Trial``.
    """

    spec: ExperimentSpec
    problem: Problem
    n_players: int
    protocol: str
    seed: int
    horizon: int | None
    samples: NDArray[np.int64]
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
        setting: Setting,
        runs: list[Trial],
        *,
        seed: int,
        made_with: dict[str, str] | None = None,
    ) -> "Result":
        """Gather trials of one setting; ``made_with`` are their versions, if not today's."""
        columns: dict[str, Any] = {
            name: np.array([getattr(run, name) for run in runs], dtype=np.int64) for name in COLUMNS
        }
        for name in JUDGEMENTS:
            columns[name] = np.array([getattr(run, name) for run in runs], dtype=np.bool_)
        traced = [run.trace for run in runs if run.trace is not None]
        return cls(
            spec=setting.spec,
            problem=setting.problem,
            n_players=setting.n_players,
            protocol=setting.protocol.name,
            seed=seed,
            horizon=setting.horizon,
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
        target = Path(path)
        header = {
            "format": FORMAT,
            "spec": self.spec.to_dict(),
            "problem": self.problem.to_dict(),
            "n_players": self.n_players,
            "protocol": self.protocol,
            "seed": self.seed,
            "horizon": self.horizon,
            "status": list(self.status),
            "winners": [list(arms) for arms in self.winners],
            "traces": None if self.traces is None else [[list(e) for e in t] for t in self.traces],
            "versions": self.versions,
        }
        partial = target.with_name(target.name + ".partial")
        try:
            with partial.open("wb") as file:
                np.savez_compressed(
                    file,
                    header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8),
                    first_vote=self.first_vote,
                    **{name: getattr(self, name) for name in (*COLUMNS, *JUDGEMENTS)},
                )
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
        return target

    @classmethod
    def load(cls, path: str | Path) -> "Result":
        """Read what ``save`` wrote."""
        try:
            with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                header = json.loads(arrays["header"].tobytes())
                _check_format(header["format"], Path(path).name)
                columns = {name: arrays[name] for name in (*COLUMNS, *JUDGEMENTS)}
                first_vote = arrays["first_vote"]
        except ResultError:
            raise
        except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile) as error:
            raise ResultError(
                f"{Path(path).name} is not a whole file of results ({type(error).__name__}).\n"
                "Run the simulation again, or restore the file from a copy."
            ) from None
        traces = header["traces"]
        return cls(
            spec=ExperimentSpec.from_dict(header["spec"]),
            problem=Problem.from_dict(header["problem"]),
            n_players=header["n_players"],
            protocol=header["protocol"],
            seed=header["seed"],
            horizon=header["horizon"],
            status=tuple(header["status"]),
            winners=tuple(tuple(arms) for arms in header["winners"]),
            first_vote=first_vote,
            traces=None if traces is None else tuple(tuple(Event(*e) for e in t) for t in traces),
            versions=header["versions"],
            **columns,
        )


def _check_format(number: int, name: str) -> None:
    if number != FORMAT:
        raise ResultError(
            f"{name} has format {number}, not {FORMAT}.\n"
            "Read it with the version of devote that wrote it."
        )


def versions() -> dict[str, str]:
    """What produced a result."""
    from importlib.metadata import version

    packages = {name: version(name) for name in ("devote", "numpy", "numba")}
    return {"python": platform.python_version(), **packages}
