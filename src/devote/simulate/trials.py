"""Many trials of one scenario, at the speed of compiled code."""

import time
from collections.abc import Sequence
from dataclasses import replace

from devote.problems import Problem
from devote.protocol import ExperimentSpec, SpecError
from devote.simulate.engine.clocks_run import ClocksRun
from devote.simulate.engine.gpu.run import run_batches
from devote.simulate.engine.room import check_room
from devote.simulate.engine.run import Run
from devote.simulate.players import run_players
from devote.simulate.result import Result
from devote.simulate.scenario import Scenario
from devote.simulate.sweep.workers import worker_count
from devote.simulate.trial import Trial


def simulate(
    spec: ExperimentSpec,
    problem: Problem,
    n_players: int,
    *,
    trace: bool = False,
    trials: int = 20,
    seed: int = 0,
    horizon: int | None = None,
    engine: str = "auto",
) -> Result:
    """Run trials 0, 1, ... of one scenario and gather what each came to.

    ``engine`` is ``auto``, ``event``, ``clocks`` or ``cuda``; ``result.engine`` says which ran. A
    trace takes ``event``.

    >>> from devote.problems import PROBLEMS
    >>> result = simulate(ExperimentSpec(arms=10), PROBLEMS["1"], 32, trials=2, seed=1)
    >>> result.broadcasts.tolist()
    [252, 252]
    """
    scenario = Scenario(spec, problem, n_players, horizon, engine)
    if trace and engine == "auto":
        scenario = replace(scenario, engine="event")
    runs, _ = run_chunk(scenario, range(trials), seed, trace, threads=None)
    return Result.of(scenario, runs, seed=seed)


def run_trial(
    scenario: Scenario, *, seed: int, trial: int, trace: bool = False, threads: int | None = None
) -> Trial:
    """One trial, from its own named streams; a scheme without an engine takes the slow path.

    ``threads``, all cores by default, share the players of a large trial on clocks; the result
    is the same for any number.
    """
    check_room(scenario)
    engine = scenario.scheme.engine
    if engine is None:
        return run_players(
            scenario.spec,
            scenario.problem,
            scenario.n_players,
            seed=seed,
            trial=trial,
            horizon=scenario.horizon,
            trace=trace,
        )
    if scenario.runs_on == "cuda":
        _no_trace(scenario, trace)
        [(_, run)] = run_batches(scenario, seed=seed, trials=[trial])
        return run
    if scenario.runs_on == "clocks" and engine.clocks is not None:
        _no_trace(scenario, trace)
        on_clocks = ClocksRun(
            scenario, seed=seed, trial=trial, threads=threads or worker_count(None)
        )
        on_clocks.play()
        return on_clocks.outcome()
    on_loop = Run(scenario, seed=seed, trial=trial, tracing=trace)
    while not on_loop.over:
        on_loop.advance()
    return on_loop.outcome()


def _no_trace(scenario: Scenario, trace: bool) -> None:
    """Refuse a trace on an engine that has none."""
    if trace:
        raise SpecError(
            f"engine={scenario.runs_on!r} keeps no trace: it does not know the order of all pulls."
            "\nUse engine event."
        )


def run_chunk(
    scenario: Scenario,
    trials: Sequence[int],
    seed: int,
    trace: bool = False,
    threads: int | None = 1,
) -> tuple[list[Trial], float]:
    """Run some trials; also the seconds that the quickest of them took."""
    if scenario.runs_on == "cuda" and not trace:
        begin = time.perf_counter()
        on_device = [run for _, run in run_batches(scenario, seed=seed, trials=trials)]
        return on_device, (time.perf_counter() - begin) / max(1, len(trials))
    runs = []
    quickest = float("inf")
    for trial in trials:
        begin = time.perf_counter()
        runs.append(run_trial(scenario, seed=seed, trial=trial, trace=trace, threads=threads))
        quickest = min(quickest, time.perf_counter() - begin)
    return runs, quickest


def compile_loop(scenario: Scenario) -> None:
    """Compile the scenario's loop, or load it from numba's cache, by making a single pull."""
    check_room(scenario)
    spec = scenario.spec
    problem = Problem("compile", scenario.problem.means)
    few = min(scenario.n_players, spec.scheme.fewest_players(spec))
    engine = scenario.runs_on if scenario.scheme.engine is not None else "event"
    run_trial(Scenario(spec, problem, few, 1, engine), seed=0, trial=0)
