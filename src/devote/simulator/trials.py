"""Trials of one scenario, one after another, at the speed of compiled code."""

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from devote.problems import Problem
from devote.simulator.block import Block
from devote.simulator.errors import SweepError
from devote.simulator.executors import worker_count
from devote.simulator.outcomes import block_of
from devote.simulator.part import Ending
from devote.simulator.passes_run import Passes
from devote.simulator.players import run_players
from devote.simulator.rule_check import check_first
from devote.simulator.run import BLOCK, Run
from devote.simulator.scenario import Scenario
from devote.simulator.trial import Event, Point, Record, Trial, checkpoints

EXTRA = 64
"""Bytes of a player beside its learner and its record: lists that exist at first or at last."""

SMALL = 1 << 20
"""Players times arms that fit anywhere."""


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
    [one] = run_chunk(scenario, [trial], seed, trace, record, threads)
    return one


def run_chunk(
    scenario: Scenario,
    trials: Sequence[int],
    seed: int,
    trace: bool = False,
    record: bool = False,
    threads: int | None = 1,
) -> Block:
    """Run some trials, at least one, as ``run_trial`` runs each."""
    if trace or record:
        scenario = scenario.in_order()
    check_first(scenario.algorithm, must_vote=scenario.horizon is None)
    if scenario.runs_on == "cuda":
        from devote.simulator.gpu import run_on_device

        return Block.join([block for _, block in run_on_device(scenario, seed, trials)])
    check_room(scenario)
    if scenario.runs_on == "players":
        given = scenario.spec, scenario.problem, scenario.n_players
        how: dict[str, Any] = {"horizon": scenario.horizon, "trace": trace, "record": record}
        slow = [run_players(*given, seed=seed, trial=trial, **how) for trial in trials]
        return Block.from_trials(slow, scenario.spec.n_arms, scenario.n_players)
    if scenario.runs_on == "passes":
        passes = Passes(scenario, worker_count(threads))
        return block_of(scenario, [passes.run(seed, trial) for trial in trials])
    run = Run(scenario, seed=seed, trial=trials[0], tracing=trace, counting=record)
    ends: list[Ending] = []
    traces: list[tuple[Event, ...] | None] = []
    records: list[Record | None] = []
    for trial in trials:
        if ends:
            run.start(seed, trial)
        records.append(_play(run, record))
        traces.append(tuple(run.events) if trace else None)
        ends.append(run.end())
    return replace(block_of(scenario, ends), traces=tuple(traces), records=tuple(records))


def _play(run: Run, record: bool) -> Record | None:
    """Run to the end; for a record, looking at it at the checkpoints and at the end."""
    if not record:
        while not run.over:
            run.advance()
            run.scenario.check_goes_on(run.samples, int(run.group["broadcasts"]))
        return None
    points: list[list[Point]] = []
    for stop in checkpoints():
        while run.samples < stop and not run.over:
            run.advance(most=min(stop - run.samples, BLOCK))
        points.append(run.points())
        if run.over:
            break
        run.scenario.check_goes_on(run.samples, int(run.group["broadcasts"]))
    everybody, *groups = zip(*points, strict=True)
    pulls = run.tables.arm_pulls.tolist(), run.tables.player_pulls.tolist()
    return Record(everybody, tuple(pulls[0]), tuple(pulls[1]), tuple(groups))


def warm_up(scenario: Scenario) -> None:
    """Compile what runs a scenario, or load it from numba's cache: by a pull or a pass of a few.

    Whoever measures times calls it first.
    """
    check_first(scenario.algorithm, must_vote=scenario.horizon is None)
    check_room(scenario)
    if scenario.runs_on not in ("event", "passes"):
        return
    spec = scenario.spec
    n_segments = len(spec.scheme.sending.segments)
    few = min(scenario.n_players, max(n_segments, spec.scheme.fewest_players(spec)))
    problem = Problem("compile", means := scenario.problem.means)
    if n_segments:
        problem = Problem(
            "compile", groups=(means,) * n_segments, shares=(1.0 / n_segments,) * n_segments
        )
    toy = Scenario(spec, problem, few, horizon=1)
    if scenario.runs_on == "event":
        Run(toy).advance(1)
        return
    passes = Passes(replace(toy, horizon=None), 1)
    passes.start(0, 0)
    passes.make_pass(None)


def bytes_per_player(scenario: Scenario) -> int:
    """What a player takes."""
    part = scenario.part
    if part is None or part.one_learner:
        return EXTRA
    fresh = scenario.algorithm.new_state(scenario.spec.n_arms)
    learner = 2 * len(fresh.alive) + 4 * (len(fresh.pulls) + len(fresh.ints))
    learner += 8 * (len(fresh.sums) + len(fresh.floats))
    copies = 1 if scenario.runs_on == "event" else 2
    return copies * (learner + EXTRA)


def check_room(scenario: Scenario) -> None:
    """Refuse more players than the memory of this machine holds, before any of it is taken."""
    if scenario.n_players * scenario.spec.n_arms < SMALL:
        return
    each = bytes_per_player(scenario)
    try:
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not known here
        return
    if each * scenario.n_players > there:
        raise SweepError(
            f"n_players={scenario.n_players:,} takes {each * scenario.n_players / 2**30:,.0f} GiB "
            f"of memory, {each} bytes each, but there are {there / 2**30:,.0f} GiB.\n"
            f"Use {there // each:,} players or fewer."
        )
