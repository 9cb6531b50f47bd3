"""Trials of one scenario, one after another, at the speed of compiled code."""

import time
from collections.abc import Sequence
from dataclasses import replace

from devote.kernels.tables import BROADCASTS, SUBOPTIMAL, Arena
from devote.problems import Problem
from devote.simulate.block import Block
from devote.simulate.engine.clocks_run import ClocksRun
from devote.simulate.engine.gpu.run import run_batches
from devote.simulate.engine.outcomes import block_of
from devote.simulate.engine.room import check_room
from devote.simulate.engine.run import BLOCK, Run
from devote.simulate.players import run_players
from devote.simulate.scenario import Scenario
from devote.simulate.sweep.workers import worker_count
from devote.simulate.trial import Event, Point, Record, Trial, checkpoints


def run_trial(
    scenario: Scenario,
    *,
    seed: int,
    trial: int,
    trace: bool = False,
    record: bool = False,
    threads: int | None = None,
) -> Trial:
    """One trial, from its own named streams; a scheme without an engine takes the slow path.

    ``trace`` keeps its events, ``record`` its curves and who played what, see ``Record``.
    ``threads``, all cores by default, share the players of a large trial on clocks; the result
    is the same for any number.
    """
    check_room(scenario)
    if trace or record:
        scenario = scenario.in_order()
    if scenario.scheme.engine is None:
        return run_players(
            scenario.spec,
            scenario.problem,
            scenario.n_players,
            seed=seed,
            trial=trial,
            horizon=scenario.horizon,
            trace=trace,
            record=record,
        )
    if scenario.runs_on == "cuda":
        [(_, [one])] = run_batches(scenario, seed=seed, trials=[trial])
        return one
    if record:
        return _record(Run(scenario, seed=seed, trial=trial, tracing=trace, recording=True))
    return _played(scenario, seed, trial, trace, threads).outcome()


def _played(
    scenario: Scenario, seed: int, trial: int, trace: bool, threads: int | None
) -> Run | ClocksRun:
    """A run of the engine at its end."""
    engine = scenario.scheme.engine
    if scenario.runs_on == "clocks" and engine is not None and engine.clocks is not None:
        on_clocks = ClocksRun(
            scenario, seed=seed, trial=trial, threads=threads or worker_count(None)
        )
        on_clocks.play()
        return on_clocks
    run = Run(scenario, seed=seed, trial=trial, tracing=trace)
    while not run.over:
        run.advance()
        scenario.check_goes_on(run.samples, int(run.counters[BROADCASTS]))
    return run


def _record(run: Run) -> Trial:
    """Run to the end, looking at it at the checkpoints and at the end."""
    points: list[Point] = []
    for stop in checkpoints():
        while run.samples < stop and not run.over:
            run.advance(most=min(stop - run.samples, BLOCK))
        sent = int(run.counters[BROADCASTS])
        points.append(Point(run.samples, int(run.counters[SUBOPTIMAL]), sent, run.arms_left))
        if run.over:
            break
        run.scenario.check_goes_on(run.samples, sent)
    pulls = run.arena.arm_pulls.tolist(), run.arena.player_pulls.tolist()
    return replace(run.outcome(), record=Record(tuple(points), *map(tuple, pulls)))


def run_chunk(
    scenario: Scenario,
    trials: Sequence[int],
    seed: int,
    trace: bool = False,
    record: bool = False,
    threads: int | None = 1,
) -> tuple[Block, float]:
    """Run some trials, at least one; returns them, and the seconds that the quickest took."""
    begin = time.perf_counter()
    if scenario.runs_on == "cuda" and not (trace or record):
        blocks = [block for _, block in run_batches(scenario, seed=seed, trials=trials)]
        return Block.join(blocks), (time.perf_counter() - begin) / len(trials)
    check_room(scenario)
    singly = record or scenario.scheme.engine is None
    quickest = float("inf")
    runs: list[Trial] = []
    ended: list[Arena] = []
    traces: list[tuple[Event, ...]] = []
    in_order = scenario.in_order() if trace else scenario
    for trial in trials:
        if singly:
            keep = {"trace": trace, "record": record}
            runs.append(run_trial(scenario, seed=seed, trial=trial, **keep))
        else:
            run = _played(in_order, seed, trial, trace, threads)
            ended.append(run.close())
            if isinstance(run, Run):
                traces.append(tuple(run.events))
        end = time.perf_counter()
        begin, quickest = end, min(quickest, end - begin)
    if singly:
        return Block.of(runs, scenario.spec.n_arms, scenario.n_players), quickest
    block = block_of(in_order, ended)
    return (replace(block, traces=tuple(traces)) if trace else block), quickest


def compile_loop(scenario: Scenario) -> None:
    """Compile the scenario's loop, or load it from numba's cache, by making a single pull."""
    check_room(scenario)
    spec = scenario.spec
    problem = Problem("compile", scenario.problem.means)
    few = min(scenario.n_players, spec.scheme.fewest_players(spec))
    engine = scenario.runs_on if scenario.scheme.engine is not None else "event"
    run_trial(Scenario(spec, problem, few, 1, engine), seed=0, trial=0)


def compile_loops(scenarios: Sequence[Scenario]) -> None:
    """Compile the loop of each scenario, or load it."""
    for scenario in scenarios:
        compile_loop(scenario)
