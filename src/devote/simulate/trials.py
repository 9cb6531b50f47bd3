"""Many trials of one scenario, at the speed of compiled code."""

import time
from collections.abc import Sequence

from devote.problems import Problem
from devote.protocol import ExperimentSpec
from devote.simulate.engine.run import Run
from devote.simulate.players import run_players
from devote.simulate.result import Result
from devote.simulate.scenario import Scenario
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
) -> Result:
    """Run trials 0, 1, ... of one scenario and gather what each came to.

    >>> from devote.problems import PROBLEMS
    >>> result = simulate(ExperimentSpec(arms=10), PROBLEMS["1"], 32, trials=2, seed=1)
    >>> result.broadcasts.tolist()
    [252, 252]
    """
    scenario = Scenario(spec, problem, n_players, horizon)
    runs = [run_trial(scenario, seed=seed, trial=trial, trace=trace) for trial in range(trials)]
    return Result.of(scenario, runs, seed=seed)


def run_trial(scenario: Scenario, *, seed: int, trial: int, trace: bool = False) -> Trial:
    """One trial, from its own named streams; a scheme without an engine takes the slow path."""
    if scenario.scheme.engine is None:
        return run_players(
            scenario.spec,
            scenario.problem,
            scenario.n_players,
            seed=seed,
            trial=trial,
            horizon=scenario.horizon,
            trace=trace,
        )
    run = Run(scenario, seed=seed, trial=trial, tracing=trace)
    while not run.over:
        run.advance()
    return run.outcome()


def run_chunk(
    scenario: Scenario, trials: Sequence[int], seed: int, trace: bool = False
) -> tuple[list[Trial], float]:
    """Run some trials; returns them, and the seconds that the quickest took."""
    runs = []
    quickest = float("inf")
    for trial in trials:
        begin = time.perf_counter()
        runs.append(run_trial(scenario, seed=seed, trial=trial, trace=trace))
        quickest = min(quickest, time.perf_counter() - begin)
    return runs, quickest


def compile_loop(scenario: Scenario) -> None:
    """Compile the scenario's loop, or load it from numba's cache, by making a single pull."""
    spec = scenario.spec
    problem = Problem("compile", scenario.problem.means)
    few = min(scenario.n_players, spec.scheme.fewest_players(spec))
    run_trial(Scenario(spec, problem, few, horizon=1), seed=0, trial=0)
