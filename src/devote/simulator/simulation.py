"""Many trials of one scenario."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from devote.problems import Problem
from devote.protocol import ExperimentSpec
from devote.simulator.progress import Progress
from devote.simulator.result import Result
from devote.simulator.scenario import Scenario
from devote.simulator.sweep.grid import as_problem
from devote.simulator.sweep.sweep import run_sweep


def simulate(
    spec: ExperimentSpec,
    problem: Problem | str | Mapping[str, Any],
    n_players: int,
    *,
    trials: int = 20,
    seed: int = 0,
    horizon: int | None = None,
    engine: str = "auto",
    workers: int | None = 1,
    record: bool = False,
    trace: bool = False,
    results: str | Path | None = None,
    progress: Progress | bool | None = True,
) -> Result:
    """Run trials 0, 1, ... of one scenario and gather what each came to.

    ``problem`` is a ``Problem``, the name of one or a table of its fields, as for ``grid``.
    ``horizon`` is the most pulls of a trial; what reaches it is ``unfinished``. Without one, a
    trial that goes on past every known rule's need raises ``NeverEnds``, and a rule of your own
    that has not voted after a million pulls is checked, see ``check_algorithm``. ``engine`` is
    ``auto``, ``event``, ``passes`` or ``cuda``; ``result.engine`` says which ran. ``workers``
    processes share the trials, None for all cores. ``record`` keeps curves over time, pulls per
    arm and pulls per player; ``trace`` keeps every event; both need ``event``, which ``auto`` then
    takes. With ``results``, a file that ends in .jsonl, an interrupted run goes on where it
    stopped, and one with more trials runs only those. ``progress`` True shows a line in a terminal
    after a second.

    >>> from devote.problems import PROBLEMS
    >>> result = simulate(ExperimentSpec(arms=10), PROBLEMS["1"], 32, trials=2, seed=1)
    >>> result.broadcasts.tolist()
    [252, 252]
    >>> result
    <Result decentralized ser3, problem 1, 32 players: 2 trials, 2 agreed; 19,881 samples each>
    """
    [result] = run_sweep(
        [Scenario(spec, as_problem(problem), n_players, horizon, engine)],
        trials=trials,
        seed=seed,
        workers=workers,
        record=record,
        trace=trace,
        results=results,
        progress=progress,
    )
    return result
