"""Samples and votes against eta, the number of players, or epsilon, and a file that keeps them."""

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from devote.errors import did_you_mean
from devote.guarantees.summary import summarise
from devote.protocol import SpecError
from devote.simulate import Scenario, run_sweep
from devote.simulate.sweep.sweep import Progress
from devote.studies.sheet import Sheet

AXES = ("eta", "players", "epsilon")
ETAS = (0.3, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95)
FACTORS = (0.5, 0.7, 1.0, 1.4, 2.0, 2.8)


@dataclass(frozen=True)
class PlanSweep(Sheet):
    """One summary per value of the axis, as ``summarise`` gives them."""

    axis: str
    values: tuple[float, ...]
    rows: tuple[dict[str, Any], ...]


def sweep_plan(
    base: Scenario,
    axis: str,
    *,
    trials: int = 5,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> PlanSweep:
    """Simulate the plan at each value of the axis that can work at all.

    >>> from devote.problems import Problem
    >>> from devote.protocol import ExperimentSpec
    >>> base = Scenario(ExperimentSpec(arms=2, epsilon=0.5), Problem("toy", [0.9, 0.1]), 64)
    >>> sweep_plan(base, "players", trials=1, workers=1).values
    (28, 32, 64)
    """
    if axis not in AXES:
        raise SpecError(
            f"sweep={axis!r} is not known.\n{did_you_mean(axis, AXES)}"
            f"Use one of: {', '.join(AXES)}."
        )
    planned: dict[float, Scenario] = {}
    for value in _values(base, axis):
        with suppress(SpecError):
            if axis == "players":
                planned[value] = replace(base, n_players=int(value))
            else:
                planned[value] = replace(base, spec=base.spec.with_(**{axis: value}))
    scenarios = list(planned.values())
    results = run_sweep(scenarios, trials=trials, seed=seed, workers=workers, progress=progress)
    # The wall time of one scenario is not known when many share the machine.
    rows = (summarise(result, wall_seconds=0.0) for result in results)
    timing = {"wall_seconds", "pulls_per_second"}
    untimed = tuple({key: row[key] for key in row if key not in timing} for row in rows)
    return PlanSweep(axis, tuple(planned), untimed)


def _values(base: Scenario, axis: str) -> list[float]:
    if axis == "eta":
        return sorted({*ETAS, base.spec.eta})
    if axis == "epsilon":
        return sorted({min(1.0, round(base.spec.epsilon * factor, 12)) for factor in FACTORS})
    least = max(2, base.scheme.fewest_players(base.spec))
    powers = {2**i for i in range(1, 31) if least < 2**i < base.n_players}
    return sorted({least, *powers, base.n_players})
