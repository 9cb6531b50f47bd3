"""What trials came to, with where they came from: to read, tabulate, draw and save.

A ``Result`` is the trials of one scenario. ``Results`` is a list of them, as a sweep gives it.
"""

import csv
import io
import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from devote.files import write_whole
from devote.problems import Problem
from devote.protocol import ExperimentSpec, RunStatus
from devote.simulator.block import COUNTS, JUDGEMENTS, KINDS, Block
from devote.simulator.errors import ResultError
from devote.simulator.optimality import environment, good_arms_by_group
from devote.simulator.scenario import Scenario
from devote.simulator.trial import NEVER, STATUSES, Point, Record, Trial, checkpoints

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from devote.simulator.summary import Summary

CURVES = Point._fields[1:]
Row = dict[str, Any]


@cache
def versions() -> dict[str, str]:
    """What produces results today."""
    from importlib.metadata import version

    from devote import __version__

    packages = {name: version(name) for name in ("numpy", "numba")}
    return {"python": platform.python_version(), "devote": __version__, **packages}


@dataclass(frozen=True, eq=False, repr=False)
class Result(Block):
    """Trials 0, 1, ... of one scenario, and the scenario, seed and versions behind them.

    It has the columns of ``Block`` and, with ``record=True``, curves over time and pulls per arm
    and player. Two results are equal if their scenario, seed and all numbers are; versions do not
    matter.
    """

    scenario: Scenario
    seed: int
    versions: dict[str, str] = field(default_factory=versions)

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
            block = Block.from_trials(runs, scenario.spec.n_arms, scenario.n_players)
        columns: Any = {item.name: getattr(block, item.name) for item in fields(Block)}
        return cls(**columns, scenario=scenario, seed=seed, versions=made_with or versions())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Result):
            return NotImplemented
        same = ("scenario", "seed", "traces", "records")
        return all(getattr(self, name) == getattr(other, name) for name in same) and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in KINDS
        )

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
        """What ran the trials: ``event``, ``passes``, ``cuda`` or ``players``."""
        return self.scenario.runs_on

    @property
    def trials(self) -> int:
        """How many there are."""
        return len(self)

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

    @cached_property
    def recorded(self) -> bool:
        """Whether there is a record of every trial."""
        return len(self) > 0 and None not in self.records

    @property
    def pulls_per_arm(self) -> NDArray[np.int64]:
        """``[i, k]``: how often arm k was pulled in trial i; needs ``record=True``."""
        kept = self._records("pulls of arms")
        return np.array([record.pulls_per_arm for record in kept], dtype=np.int64)

    @property
    def pulls_per_player(self) -> NDArray[np.int64]:
        """``[i, n]``: how often player n was active in trial i; needs ``record=True``."""
        kept = self._records("pulls of players")
        return np.array([record.pulls_per_player for record in kept], dtype=np.int64)

    def _records(self, what: str) -> list[Record]:
        if not self.recorded:
            raise ResultError(f"The {what} were not recorded.\nRun it again with record=True.")
        return [record for record in self.records if record is not None]

    def curve(
        self, name: str, group: int | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Numbers of pulls, and one row per trial of how it stood then; needs ``record=True``.

        ``name`` is ``suboptimal_plays``, ``broadcasts`` or ``arms_left``. A trial that has ended
        stays as it ended. ``group``: of the players of this group, such as a segment, alone.
        """
        kept = self._records(f"{name} over time")
        if name not in CURVES:
            raise ResultError(f"{name!r} is not a curve.\nUse one of: {', '.join(CURVES)}.")
        end = max(record.points[-1].samples for record in kept)
        at = np.array([*takewhile(lambda stop: stop < end, checkpoints()), end])
        place, curves = Point._fields.index(name), []
        for record in kept:
            some = record.points if group is None else record.groups[group]
            points = np.array(some, dtype=np.int64)
            last = np.searchsorted(points[:, 0], at, side="right") - 1
            curves.append(points[last, place])
        return at, np.array(curves)

    def summary(self) -> "Summary":
        """What the trials came to, each number with its 95 % interval and the name of that."""
        from devote.simulator.summary import summarise

        return summarise(self)

    def __repr__(self) -> str:
        ends = ", ".join(f"{n} {name}" for name, n in self.status_counts().items() if n)
        cost = f"; {self.decided.mean():,.0f} samples each" if len(self.decided) else ""
        label = self.scenario.label
        return f"<Result {label}: {self.trials} trials, {ends or 'none ended'}{cost}>"

    def rows(self, of: str = "trials") -> list[Row]:
        """One dict per trial; or per trial and arm, player, group or checkpoint (``TABLES``)."""
        if of not in TABLES:
            raise ResultError(f"There is no table of {of!r}.\nUse one of: {', '.join(TABLES)}.")
        first = {**setting(self.scenario), "seed": self.seed}
        return [{**first, "trial": i, **row} for i, row in TABLES[of](self)]

    def to_dataframe(self, of: str = "trials") -> Any:
        """``rows`` as a pandas ``DataFrame``; the rows themselves where pandas is missing."""
        return Results([self]).to_dataframe(of)

    def to_csv(self, path: str | Path, of: str = "trials") -> Path:
        """Write ``rows`` to a CSV file; it appears whole or not at all."""
        return Results([self]).to_csv(path, of)

    def plot(self, what: str = "samples", *, ax: "Axes | None" = None) -> "Axes":
        """Draw ``what`` into matplotlib axes, new ones if none are given (see ``PICTURES``)."""
        from devote.simulator.plots import plot

        return plot(self, what, ax)

    def save(self, path: str | Path) -> Path:
        """Write a file for ``load_results``; it appears whole or not at all."""
        return Results([self]).save(path)


class Results(list[Result]):
    """What ``run_sweep`` and ``load_results`` give, one result per scenario."""

    def rows(self, of: str = "trials") -> list[Row]:
        """The rows of all results, as ``Result.rows``."""
        return [row for result in self for row in result.rows(of)]

    def to_dataframe(self, of: str = "trials") -> Any:
        """One pandas ``DataFrame``; the rows themselves where pandas is missing."""
        try:
            import pandas
        except ModuleNotFoundError:
            return self.rows(of)
        return pandas.DataFrame(self.rows(of))

    def to_csv(self, path: str | Path, of: str = "trials") -> Path:
        """One CSV file with a line of names; what is None is left empty."""
        rows, text = self.rows(of), io.StringIO(newline="")
        writer = csv.DictWriter(text, fieldnames=list(rows[0]) if rows else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return write_whole(path, text.getvalue().encode())

    def plot(
        self,
        y: str = "samples",
        *,
        x: str = "n_players",
        by: str | Sequence[str] = "algorithm",
        ax: "Axes | None" = None,
    ) -> "Axes":
        """The mean of a column over another, a line for each value of ``by``; 95 % t intervals.

        ``by`` names one column or several. Each point is one result: what else varies between
        them must be among ``x`` and ``by``.
        """
        from devote.simulator.plots import plot_results

        return plot_results(self, y, x, (by,) if isinstance(by, str) else tuple(by), ax)

    def save(self, path: str | Path) -> Path:
        """Write a file for ``load_results``; it appears whole or not at all."""
        from devote.simulator.results_file import file_of

        return write_whole(path, file_of(self))

    def __repr__(self) -> str:
        from devote.simulator.summary import results_table, text_table

        return text_table(*results_table(self)) if self else "[]"


def setting(scenario: Scenario) -> Row:
    """What a scenario is, as the first columns of every table."""
    spec, scheme = scenario.spec, scenario.scheme
    return {
        "scheme": scheme.name,
        "parameters": scenario.parameters,
        "algorithm": spec.algorithm,
        "options": " ".join(f"{name}={value}" for name, value in spec.options.items()),
        "problem": scenario.problem.name,
        "activity": scenario.problem.activity.spec,
        "n_players": scenario.n_players,
        "n_arms": spec.n_arms,
        "epsilon": spec.epsilon,
        "eta": spec.eta,
        "delta": spec.delta,
        "horizon": scenario.horizon,
        "engine": scenario.runs_on,
    }


def varying(scenarios: Sequence[Scenario]) -> list[str]:
    """The columns of ``setting`` in which scenarios differ; the algorithm where they do not."""
    rows = [setting(scenario) for scenario in scenarios]
    names = [name for name in rows[0] if len({row[name] for row in rows}) > 1] if rows else []
    return names or ["algorithm"]


Rows = Iterator[tuple[int, Row]]
"""Rows of a table, each with the trial it is about."""


def _trials(result: Result) -> Rows:
    names, arms = (*COUNTS, *JUDGEMENTS), result.spec.arm_names
    columns = [getattr(result, name).tolist() for name in names]
    for i, values in enumerate(zip(*columns, strict=True)):
        row: Row = dict(zip(names, values, strict=True))
        if row["samples"] == NEVER:
            row["samples"] = None
        answer = result.answers[i]
        yield (
            i,
            {
                "status": result.status[i],
                "answer": None if answer is None else arms[answer],
                **row,
            },
        )


def _curves(result: Result) -> Rows:
    curves = {name: result.curve(name) for name in CURVES}
    at = curves[CURVES[0]][0].tolist()
    for i in range(result.trials):
        for j, pulls in enumerate(at):
            yield i, {"pulls": pulls, **{name: int(curves[name][1][i, j]) for name in CURVES}}


def _arms(result: Result) -> Rows:
    for i, pulls in enumerate(result.pulls_per_arm.tolist()):
        for arm, n in zip(result.spec.arm_names, pulls, strict=True):
            yield i, {"arm": arm, "pulls": n}


def _answers(result: Result, i: int) -> NDArray[np.int32]:
    """The answer of each player in a trial, its own or that of the group; -1 for none."""
    if result.player_answers.size:
        return np.asarray(result.player_answers[i])
    answer = result.answers[i]
    return np.full(result.n_players, NEVER if answer is None else answer, dtype=np.int32)


def _players(result: Result) -> Rows:
    groups, arms = environment(result.scenario).groups, result.spec.arm_names
    pulls = result.pulls_per_player.tolist() if result.recorded else None
    for i, ended in enumerate(result.samples_until_all_know.tolist()):
        good = good_arms_by_group(result.scenario, ended)
        for n, answer in enumerate(_answers(result, i).tolist()):
            vote = int(result.first_vote[i, n])
            yield (
                i,
                {
                    "player": n,
                    "group": groups[n],
                    "answer": None if answer == NEVER else arms[answer],
                    "good": answer in good[groups[n]],
                    "first_vote": None if vote == NEVER else vote,
                    "pulls": pulls[i][n] if pulls else None,
                },
            )


def _groups(result: Result) -> Rows:
    groups, arms = np.array(environment(result.scenario).groups), result.spec.arm_names
    names = result.spec.scheme.sending.segments
    for i, ended in enumerate(result.samples_until_all_know.tolist()):
        answers = _answers(result, i)
        for group, good in enumerate(good_arms_by_group(result.scenario, ended)):
            theirs = answers[groups == group]
            is_one = theirs[0] != NEVER and (theirs == theirs[0]).all()
            yield (
                i,
                {
                    "group": group,
                    "segment": names[group] if names else None,
                    "players": len(theirs),
                    "answer": arms[theirs[0]] if is_one else None,
                    "good": float(np.isin(theirs, list(good)).mean()),
                },
            )


TABLES: dict[str, Callable[[Result], Rows]] = {
    "trials": _trials,
    "curves": _curves,
    "arms": _arms,
    "players": _players,
    "groups": _groups,
}
"""A row per trial; per trial and checkpoint, arm, player, or group of players (their
answer where they have the same, and the share of them with a good one). ``curves`` and ``arms``
need ``record=True``."""
