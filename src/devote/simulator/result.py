"""The trials of one setting, side by side, with where they came from."""

import io
import json
import platform
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from devote.files import write_whole
from devote.problems import Problem
from devote.protocol import ExperimentSpec
from devote.simulator.block import COUNTS, JUDGEMENTS, Block, Columns, ends
from devote.simulator.errors import ResultError
from devote.simulator.scenario import Scenario
from devote.simulator.trial import (
    STATUSES,
    Event,
    Point,
    Record,
    RunStatus,
    Trial,
    checkpoints,
)
from devote.simulator.votes import Votes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from devote.simulator.summary import Summary

FORMAT = 4
"""Of saved results and sweeps; no other can be read."""

RECORDED = ("checkpoints", "curves", "pulls_per_arm", "pulls_per_player")
CURVES = Point._fields[1:]


@dataclass(frozen=True, eq=False, repr=False)
class Result(Columns):
    """Per trial: costs, ending, winners; and the scenario, seed and versions behind them.

    ``samples`` counts pulls until the group has its answer, -1 where it never had one;
    ``samples_until_all_know`` until every player has it. ``first_vote[i, n]`` is player n's number
    of pulls at its first message about an arm in trial i, -1 if there was none.
    ``epsilon_optimal`` and ``holds_epsilon_optimal`` are as in ``Trial``, the other columns as in
    ``Columns``.

    With ``record=True`` also ``pulls_per_arm[i, k]``, ``pulls_per_player[i, n]`` and curves: after
    ``checkpoints[j]`` pulls ``curves[i, j]`` has the suboptimal plays, broadcasts and arms left of
    trial i; a trial that has ended stays as it ended. Otherwise these four are None.

    Two results are equal if their scenario, seed and all numbers are; versions do not matter.
    """

    scenario: Scenario
    seed: int
    traces: tuple[tuple[Event, ...], ...] | None = None
    versions: dict[str, str] = field(default_factory=dict)
    checkpoints: NDArray[np.int64] | None = None
    curves: NDArray[np.int64] | None = None
    pulls_per_arm: NDArray[np.int64] | None = None
    pulls_per_player: NDArray[np.int64] | None = None

    @classmethod
    def of(
        cls,
        scenario: Scenario,
        runs: Sequence[Trial],
        *,
        seed: int,
        made_with: dict[str, str] | None = None,
    ) -> "Result":
        """Gather trials of one scenario; ``made_with`` are their versions, if not today's."""
        block = runs
        if not isinstance(block, Block):
            block = Block.of(runs, scenario.spec.n_arms, scenario.n_players)
        columns: dict[str, Any] = {item.name: getattr(block, item.name) for item in fields(Columns)}
        traced = [trace for trace in block.traces or () if trace is not None]
        return cls(
            scenario=scenario,
            seed=seed,
            traces=tuple(traced) if traced else None,
            versions=versions() if made_with is None else made_with,
            **columns,
            **_recorded(block.records or ()),
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Result):
            return NotImplemented
        names = (item.name for item in fields(self) if item.name != "versions")
        return all(_same(getattr(self, name), getattr(other, name)) for name in names)

    __hash__ = None  # type: ignore[assignment]

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

    def status_counts(self) -> dict[RunStatus, int]:
        """How many trials ended in which way."""
        counts = np.bincount(self.ending, minlength=len(STATUSES)).tolist()
        return dict(zip(STATUSES, counts, strict=True))

    def curve(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Numbers of pulls, and one row per trial of how it stood then; needs ``record=True``.

        ``name`` is ``suboptimal_plays``, ``broadcasts`` or ``arms_left``.
        """
        if self.checkpoints is None or self.curves is None:
            raise ResultError(
                f"The {name} over time were not recorded.\nRun it again with record=True."
            )
        if name not in CURVES:
            raise ResultError(f"{name!r} is not a curve.\nUse one of: {', '.join(CURVES)}.")
        return self.checkpoints, self.curves[:, :, CURVES.index(name)]

    def summary(self) -> "Summary":
        """What the trials came to, each number with its 95 % interval and the name of that."""
        from devote.simulator.summary import summarise

        return summarise(self)

    def __repr__(self) -> str:
        from devote.simulator.summary import in_short

        return f"<Result {in_short(self)}>"

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()

    def rows(self, of: str = "trials") -> list[dict[str, Any]]:
        """One dict per trial; or per trial and arm, player or checkpoint (see ``TABLES``)."""
        from devote.simulator.dataframe import rows

        return rows(self, of)

    def to_dataframe(self, of: str = "trials") -> Any:
        """``rows`` as a pandas ``DataFrame``; the rows themselves where pandas is missing."""
        from devote.simulator.dataframe import dataframe

        return dataframe(self.rows(of))

    def to_csv(self, path: str | Path, of: str = "trials") -> Path:
        """Write ``rows`` to a CSV file; it appears whole or not at all."""
        from devote.simulator.dataframe import write_csv

        return write_csv(path, self.rows(of))

    def plot(self, what: str = "samples", *, ax: "Axes | None" = None) -> "Axes":
        """Draw ``what`` into matplotlib axes, new ones if none are given (see ``PICTURES``)."""
        from devote.simulator.plots import plot

        return plot(self, what, ax)

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
        names = (*COUNTS, *JUDGEMENTS, *(n for n in RECORDED if getattr(self, n) is not None))
        file = io.BytesIO()
        np.savez_compressed(
            file,
            header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8),
            first_vote=self.first_vote,
            **{name: getattr(self, name) for name in names},
        )
        return write_whole(path, file.getvalue())

    @classmethod
    def load(cls, path: str | Path) -> "Result":
        """Read what ``save`` wrote."""
        try:
            with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                columns: dict[str, Any] = {name: arrays[name] for name in arrays.files}
            header = json.loads(columns.pop("header").tobytes())
        except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile) as error:
            raise ResultError(
                f"{Path(path).name} is not a whole file of results ({type(error).__name__}).\n"
                "Run the simulation again, or restore the file from a copy."
            ) from None
        check_format(Path(path).name, header["format"])
        traces, scenario = header["traces"], Scenario.from_dict(header)
        ending, left = ends(header["status"], header["winners"], scenario.spec.n_arms)
        return cls(
            scenario=scenario,
            seed=header["seed"],
            ending=ending,
            left=left,
            votes=Votes.of(columns.pop("first_vote")),
            traces=None if traces is None else tuple(tuple(Event(*e) for e in t) for t in traces),
            versions=header["versions"],
            **columns,
        )


def _recorded(kept: Sequence[Record | None]) -> dict[str, Any]:
    """The records of trials on one row of checkpoints, the last one the end of the longest."""
    records = [record for record in kept if record is not None]
    if not records or len(records) < len(kept):
        return {}
    end = max(record.points[-1].samples for record in records)
    grid = []
    for at in checkpoints():
        grid.append(min(at, end))
        if at >= end:
            break
    curves = np.zeros((len(records), len(grid), len(CURVES)), dtype=np.int64)
    for i, record in enumerate(records):
        points = np.array(record.points, dtype=np.int64)
        last = np.searchsorted(points[:, 0], grid, side="right") - 1
        curves[i] = points[last, 1:]
    return {
        "checkpoints": np.array(grid, dtype=np.int64),
        "curves": curves,
        "pulls_per_arm": np.array([r.pulls_per_arm for r in records], dtype=np.int64),
        "pulls_per_player": np.array([r.pulls_per_player for r in records], dtype=np.int64),
    }


def _same(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return one is not None and other is not None and np.array_equal(one, other)  # type: ignore[arg-type]
    return bool(one == other)


def check_format(name: str, given: object) -> None:
    """Refuse a file of another format."""
    if given != FORMAT:
        raise ResultError(
            f"{name} has format {given}, not {FORMAT}.\n"
            "Read it with the version of devote that wrote it."
        )


def versions() -> dict[str, str]:
    """What produced a result."""
    from devote import __version__

    packages = {name: _installed(name) for name in ("numpy", "numba")}
    return {"python": platform.python_version(), "devote": __version__, **packages}


@cache
def _installed(package: str) -> str:
    """A package's version, read from its files once."""
    from importlib.metadata import version

    return version(package)
