"""Trials of one scenario, one after another, at the speed of compiled code."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from devote.problems import Problem
from devote.simulator.block import Block
from devote.simulator.executors import worker_count
from devote.simulator.outcomes import End, block_of
from devote.simulator.passes_run import PassesPlan, PassesRun
from devote.simulator.players import run_players
from devote.simulator.room import check_room
from devote.simulator.rule_check import check_first
from devote.simulator.run import BLOCK, Plan, Run
from devote.simulator.scenario import Scenario
from devote.simulator.trial import Event, Point, Record, Trial, checkpoints


def run_trial(
    scenario: Scenario,
    *,
    seed: int,
    trial: int,
    trace: bool = False,
    record: bool = False,
    threads: int | None = None,
) -> Trial:
    """One trial, from its own named streams; a scheme without a compiled part takes the slow path.

    ``trace`` keeps its events, ``record`` its curves and who played what, see ``Record``.
    ``threads``, all cores by default, share the players of a large trial in passes; the result
    is the same for any number.
    """
    block, _ = run_chunk(scenario, [trial], seed, trace, record, threads)
    [one] = block
    assert isinstance(one, Trial)
    return one


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
    if trace or record:
        scenario = scenario.in_order()
    check_first(scenario.algorithm)
    if scenario.runs_on == "cuda":
        from devote.simulator.gpu import run_on_device

        block = Block.join([block for _, block in run_on_device(scenario, seed, trials)])
        return block, (time.perf_counter() - begin) / len(trials)
    check_room(scenario)
    if scenario.runs_on == "players":
        slow = [_by_players(scenario, seed, trial, trace, record) for trial in trials]
        block = Block.from_trials(slow, scenario.spec.n_arms, scenario.n_players)
        return block, (time.perf_counter() - begin) / len(trials)
    if scenario.runs_on == "passes":
        return _in_passes(scenario, trials, seed, worker_count(threads))
    plan = Plan(scenario)
    quickest = float("inf")
    ends: list[End] = []
    traces: list[tuple[Event, ...]] = []
    records: list[Record] = []
    for trial in trials:
        begin = time.perf_counter()
        run = Run(scenario, seed=seed, trial=trial, tracing=trace, counting=record, plan=plan)
        if record:
            records.append(_play_recorded(run))
        else:
            _play(run)
        ends.append(run.end())
        traces.append(tuple(run.events))
        quickest = min(quickest, time.perf_counter() - begin)
    block = block_of(scenario, ends)
    if trace:
        block = replace(block, traces=tuple(traces))
    if record:
        block = replace(block, records=tuple(records))
    return block, quickest


def _in_passes(
    scenario: Scenario, trials: Sequence[int], seed: int, threads: int
) -> tuple[Block, float]:
    plan = PassesPlan(scenario, threads)
    quickest = float("inf")
    ends: list[End] = []
    for trial in trials:
        begin = time.perf_counter()
        ends.append(plan.run(seed, trial))
        quickest = min(quickest, time.perf_counter() - begin)
    return block_of(scenario, ends), quickest


def _by_players(scenario: Scenario, seed: int, trial: int, trace: bool, record: bool) -> Trial:
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


def _play(run: Run) -> None:
    """Run to the end."""
    while not run.over:
        run.advance()
        run.scenario.check_goes_on(run.samples, int(run.group["broadcasts"]))


def _play_recorded(run: Run) -> Record:
    """Run to the end, looking at it at the checkpoints and at the end."""
    points: list[Point] = []
    for stop in checkpoints():
        while run.samples < stop and not run.over:
            run.advance(most=min(stop - run.samples, BLOCK))
        sent = int(run.group["broadcasts"])
        points.append(Point(run.samples, int(run.group["suboptimal"]), sent, run.arms_left))
        if run.over:
            break
        run.scenario.check_goes_on(run.samples, sent)
    pulls = run.tables.arm_pulls.tolist(), run.tables.player_pulls.tolist()
    return Record(tuple(points), *map(tuple, pulls))


def compile_loop(scenario: Scenario) -> None:
    """Compile what runs a scenario, or load it from numba's cache, by a pull or a pass of a few."""
    check_room(scenario)
    if scenario.runs_on not in ("event", "passes"):
        return
    spec = scenario.spec
    few = min(scenario.n_players, spec.scheme.fewest_players(spec))
    toy = Scenario(spec, Problem("compile", scenario.problem.means), few, 1)
    if scenario.runs_on == "event":
        Run(toy).advance(1)
        return
    plan = PassesPlan(replace(toy, horizon=None), 1)
    with ThreadPoolExecutor(1) as pool:
        PassesRun(plan, 0, 0, pool).make_pass()
