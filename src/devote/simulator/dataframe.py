"""Results as rows of plain values: for pandas, for CSV, for anything that reads a table."""

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from devote.files import write_whole
from devote.simulator.errors import ResultError
from devote.simulator.scenario import Scenario
from devote.simulator.trial import NEVER

if TYPE_CHECKING:
    from devote.simulator.result import Result

TABLES = ("trials", "curves", "arms", "players")
"""A row per trial; per trial and checkpoint, arm, or player. The latter need ``record=True``."""

Row = dict[str, Any]


def rows(result: "Result", of: str = "trials") -> list[Row]:
    """The table ``of`` a result; each row begins with the setting."""
    if of not in TABLES:
        raise ResultError(f"There is no table of {of!r}.\nUse one of: {', '.join(TABLES)}.")
    first = {**setting(result.scenario), "seed": result.seed}
    if of == "trials":
        return [{**first, "trial": i, **row} for i, row in enumerate(_trials(result))]
    if of == "curves":
        from devote.simulator.result import CURVES

        at = result.curve(CURVES[0])[0].tolist()
        curves = {name: result.curve(name)[1].tolist() for name in CURVES}
        return [
            {**first, "trial": i, "samples": samples, **{n: curves[n][i][j] for n in CURVES}}
            for i in range(result.trials)
            for j, samples in enumerate(at)
        ]
    counted = result.pulls_per_arm if of == "arms" else result.pulls_per_player
    if counted is None:
        raise ResultError(f"The pulls of {of} were not recorded.\nRun it again with record=True.")
    names: Iterable[object] = arm_names(result) if of == "arms" else range(result.n_players)
    return [
        {**first, "trial": i, of[:-1]: name, "pulls": pulls}
        for i, row in enumerate(counted.tolist())
        for name, pulls in zip(names, row, strict=True)
    ]


def arm_names(result: "Result") -> tuple[str, ...]:
    """The names of the arms."""
    arms = result.spec.arms
    assert not isinstance(arms, int)  # a specification has named them
    return tuple(arms)


def setting(scenario: Scenario) -> Row:
    """What a scenario is, as the first columns of every table."""
    spec, scheme = scenario.spec, scenario.scheme
    changed = {
        item.name: getattr(scheme, item.name)
        for item in fields(scheme)
        if getattr(scheme, item.name) != item.default
    }
    return {
        "scheme": scheme.name,
        "parameters": _pairs(changed),
        "algorithm": spec.algorithm,
        "options": _pairs(spec.options),
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


def _pairs(values: Any) -> str:
    return " ".join(f"{name}={value}" for name, value in values.items())


def _trials(result: "Result") -> Iterator[Row]:
    from devote.simulator.block import COUNTS, JUDGEMENTS

    columns = [getattr(result, name).tolist() for name in (*COUNTS, *JUDGEMENTS)]
    names, arms = (*COUNTS, *JUDGEMENTS), arm_names(result)
    for status, answer, *values in zip(result.status, result.answers, *columns, strict=True):
        row: Row = dict(zip(names, values, strict=True))
        if row["samples"] == NEVER:
            row["samples"] = None
        yield {"status": status, "answer": None if answer is None else arms[answer], **row}


def dataframe(table: list[Row]) -> Any:
    """A pandas ``DataFrame``, or the rows as they are where pandas is not installed."""
    try:
        import pandas
    except ModuleNotFoundError:
        return table
    return pandas.DataFrame(table)


def write_csv(path: str | Path, table: list[Row]) -> Path:
    """A CSV file with a line of names; what is None is left empty."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, fieldnames=list(table[0]) if table else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    return write_whole(path, text.getvalue().encode())
