"""Samples and votes against eta, the number of players, or epsilon, and a file that keeps them."""

import difflib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from devote.protocol import SpecError, get_protocol
from devote.simulate.cell import Cell
from devote.simulate.result import Result, ResultError
from devote.simulate.summary import summarise
from devote.simulate.sweep import Progress, run_sweep

AXES = ("eta", "players", "epsilon")
ETAS = (0.3, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95)
FACTORS = (0.5, 0.7, 1.0, 1.4, 2.0, 2.8)


@dataclass(frozen=True)
class PlanSweep:
    """One summary per value of the axis, as ``summarise`` gives them."""

    axis: str
    values: tuple[float, ...]
    rows: tuple[dict[str, Any], ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)

    def save(self, path: str | Path) -> Path:
        """Write as JSON; the file appears whole or not at all."""
        target = Path(path)
        partial = target.with_name(target.name + ".partial")
        try:
            partial.write_text(json.dumps(self.to_dict(), allow_nan=False), encoding="utf-8")
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
        return target

    @classmethod
    def load(cls, path: str | Path) -> "PlanSweep":
        """Read what ``save`` wrote."""
        try:
            document = json.loads(Path(path).read_text(encoding="utf-8"))
            return cls(document["axis"], tuple(document["values"]), tuple(document["rows"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ResultError(
                f"{Path(path).name} is not a whole sweep of a plan ({type(error).__name__}).\n"
                "Run the sweep again."
            ) from None


def plan_cells(base: Cell, axis: str) -> tuple[tuple[float, ...], list[Cell]]:
    """The values of the axis that can work at all, and a cell for each."""
    if axis not in AXES:
        near = difflib.get_close_matches(axis, AXES, n=1, cutoff=0.4)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        raise SpecError(f"sweep={axis!r} is not known.\n{hint}Use one of: {', '.join(AXES)}.")
    values: list[float] = []
    cells: list[Cell] = []
    for value in _values(base, axis):
        try:
            cell = _cell(base, axis, value)
            _ = cell.setting
        except SpecError:
            continue
        values.append(value)
        cells.append(cell)
    return tuple(values), cells


def sweep_plan(
    base: Cell,
    axis: str,
    *,
    trials: int = 5,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> PlanSweep:
    """Simulate the plan at each value of the axis.

    >>> from devote.problems import Problem
    >>> from devote.protocol import ExperimentSpec
    >>> base = Cell(ExperimentSpec(arms=2, epsilon=0.5), Problem("toy", [0.9, 0.1]), 64)
    >>> sweep_plan(base, "players", trials=1, workers=1).values
    (28, 32, 64)
    """
    _ = base.setting
    values, cells = plan_cells(base, axis)
    results = run_sweep(cells, trials=trials, seed=seed, workers=workers, progress=progress)
    return PlanSweep(axis, values, _rows(results))


def _rows(results: Sequence[Result]) -> tuple[dict[str, Any], ...]:
    # The wall time of one cell is not known when many share the machine.
    rows = (summarise(result, wall_seconds=0.0) for result in results)
    timing = {"wall_seconds", "pulls_per_second"}
    return tuple({key: row[key] for key in row if key not in timing} for row in rows)


def _values(base: Cell, axis: str) -> list[float]:
    if axis == "eta":
        return sorted({*ETAS, base.spec.eta})
    if axis == "epsilon":
        return sorted({min(1.0, round(base.spec.epsilon * factor, 12)) for factor in FACTORS})
    rules = get_protocol(base.protocol)
    least = max(2, rules.votes_needed(base.spec), rules.seats_to_fill(base.spec))
    powers = {2**i for i in range(1, 31) if least < 2**i < base.n_players}
    return sorted({least, *powers, base.n_players})


def _cell(base: Cell, axis: str, value: float) -> Cell:
    spec, n_players = base.spec, base.n_players
    if axis == "players":
        n_players = int(value)
    else:
        spec = spec.with_(**{axis: value})
    return Cell(spec, base.problem, n_players, base.protocol, base.horizon)
