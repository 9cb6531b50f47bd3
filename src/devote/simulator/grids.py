"""A grid of scenarios: every combination of what is given as a list."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import product
from pathlib import Path
from typing import Any

from devote.errors import did_you_mean
from devote.problems import Problem, get_problem
from devote.protocol import ExperimentSpec
from devote.protocol.scheme import make_scheme
from devote.simulator.errors import SweepError, check
from devote.simulator.scenario import Scenario

OF_SPEC = tuple(item.name for item in fields(ExperimentSpec) if item.name != "arms")
KEYS = ("problem", "activity", "n_players", "horizon", "engine", *OF_SPEC)
"""What can be an axis of a grid."""


def grid(**given: Any) -> list[Scenario]:
    """The scenarios of all combinations: a list is an axis, anything else is the same for all.

    ``problem`` is a name, a ``Problem`` or a table of its fields, ``activity`` replaces who wakes;
    ``n_players``, ``horizon``, ``engine`` and the fields of ``ExperimentSpec`` are as there.

    >>> cells = grid(problem="1", n_players=[32, 64], eta=[0.5, 0.9], algorithm="ser3")
    >>> [(cell.n_players, cell.spec.eta) for cell in cells]
    [(32, 0.5), (32, 0.9), (64, 0.5), (64, 0.9)]
    """
    for key in given:
        if key not in KEYS:
            raise SweepError(
                f"{key!r} is not part of a grid.\n{did_you_mean(key, KEYS)}"
                f"Use any of: {', '.join(KEYS)}."
            )
    for key in ("problem", "n_players"):
        if key not in given:
            raise SweepError(f"The grid has no {key}.\nGive one, or a list of them.")
    axes = [_axis(key, value) for key, value in given.items()]
    return [_cell(dict(zip(given, values, strict=True))) for values in product(*axes)]


def _axis(key: str, value: Any) -> Sequence[Any]:
    if not isinstance(value, list | tuple | range):
        return (value,)
    if not len(value):
        raise SweepError(f"{key} is an empty list.\nGive at least one value, or leave it out.")
    return value


def _cell(values: dict[str, Any]) -> Scenario:
    """One scenario, from a value for each key."""
    problem = as_problem(values.pop("problem"))
    activity = values.pop("activity", None)
    if activity is not None:
        problem = problem.with_activity(activity)
    n_players, horizon = values.pop("n_players"), values.pop("horizon", None)
    engine = values.pop("engine", "auto")
    if "scheme" in values:
        values["scheme"] = make_scheme(values["scheme"])
    spec = ExperimentSpec(arms=problem.n_arms, **values)
    return Scenario(spec, problem, n_players, horizon, engine)


def as_problem(given: Any) -> Problem:
    """A problem that is given as one, by its name or as a table of its fields."""
    if isinstance(given, Problem):
        return given
    if isinstance(given, Mapping):
        return Problem.from_dict({"name": "(your problem)", **given})
    return get_problem(str(given))


@dataclass(frozen=True)
class SweepFile:
    """What a sweep file asks for."""

    cells: list[Scenario]
    trials: int
    seed: int


def read_sweep(path: str | Path) -> SweepFile:
    """Read a TOML file: ``trials``, ``seed``, and what ``grid`` takes."""
    try:
        values = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise SweepError(f"{path} cannot be read ({error.strerror}).\nName a TOML file.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SweepError(
            f"{Path(path).name} is not TOML: {error}.\n"
            "Write lines such as n_players = [32, 64], see docs/simulate.md."
        ) from None
    trials = check.whole("trials", values.pop("trials", 20), least=1, remedy="Raise it.")
    seed = check.whole("seed", values.pop("seed", 0), least=0, remedy="Use 0, or any other.")
    return SweepFile(grid(**values), trials, seed)
