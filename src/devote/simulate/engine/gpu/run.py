"""Trials on the device: as many at once as its memory holds, of several scenarios."""

import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from devote.simulate.block import Block
from devote.simulate.engine.clocks_run import runs_by_itself
from devote.simulate.engine.gpu.target import check_device, free_bytes, freed_later
from devote.simulate.engine.room import bytes_per_player
from devote.simulate.errors import SweepError
from devote.simulate.scenario import Scenario

PER_TRIAL = 4096
"""Bytes of a trial beside its players, at most."""

SHARE = 0.8
"""Of the free memory that players may take."""

LANES = 16
"""Batches on the device at once: alone, most have too few players for it."""

FETCHERS = 4
"""Threads that fetch and judge what batches came to."""

PAUSE = 2e-5
"""Seconds between two questions whether a batch has gone on."""

Job = tuple[int, Scenario, Sequence[int]]
"""The place of a scenario, the scenario, and numbers of trials."""

Task = tuple[list[tuple[int, Scenario]], Sequence[int]]
"""Places and scenarios, each of which goes on where the last one stops, and numbers of trials."""


def trials_at_once(scenario: Scenario) -> int:
    """How many trials the memory of the device holds; at least one, or it is refused."""
    player = bytes_per_player(scenario)
    each = player * scenario.n_players + PER_TRIAL
    there = SHARE * free_bytes()
    if each > there:
        raise SweepError(
            f"n_players={scenario.n_players:,} takes {each / 2**30:,.0f} GiB of the GPU's memory, "
            f"{player} bytes each, but {there / 2**30:,.0f} GiB are to be had.\n"
            f"Use {int(there) // player:,} players or fewer, or engine clocks."
        )
    return int(there // each)


def run_batches(
    scenario: Scenario, *, seed: int, trials: Sequence[int]
) -> Iterator[tuple[Sequence[int], Block]]:
    """The numbers of some trials and what they came to, one batch after another."""
    for _, some, block in run_jobs([(0, scenario, trials)], seed=seed):
        yield some, block


def run_jobs(jobs: Sequence[Job], *, seed: int) -> Iterator[tuple[int, Sequence[int], Block]]:
    """The place of a scenario, the numbers of some trials and what they came to, as they end."""
    check_device()
    # The longest first, then the largest: small ones fill what is left of the device.
    waiting = deque(sorted(_tasks(jobs), key=_first, reverse=True))
    with ThreadPoolExecutor(FETCHERS) as pool:
        while waiting:
            with freed_later():
                yield from _run_some(waiting, seed, pool)


def _tasks(jobs: Sequence[Job]) -> list[Task]:
    """The jobs that some trials are for; those that differ in nothing but a horizon are one."""
    tasks: dict[Any, Task] = {}
    for n, (i, scenario, trials) in enumerate(jobs):
        if not len(trials):
            continue
        key: Any = n
        if hasattr(_form(scenario), "go_on") and not scenario.own_clocks and scenario.horizon:
            key = (scenario.spec, scenario.problem, scenario.n_players, tuple(trials))
        tasks.setdefault(key, ([], trials))[0].append((i, scenario))
    for stops, _ in tasks.values():
        stops.sort(key=lambda stop: stop[1].horizon or 0)
    return list(tasks.values())


def _run_some(
    waiting: deque[Task], seed: int, pool: ThreadPoolExecutor
) -> Iterator[tuple[int, Sequence[int], Block]]:
    """Run tasks until none is left, or memory that has been used up must be freed first."""
    from devote.simulate.engine.gpu.lane import lane

    lanes = [lane(i) for i in range(LANES)]
    flying: list[tuple[Task, Any, Iterator[None]]] = []
    fetching: list[tuple[Task, Any, Future[Block]]] = []
    short = False
    while flying or fetching or (waiting and not short):
        if waiting and lanes and not short and len(fetching) < LANES:
            short = bool(flying or fetching) and _bytes(waiting[0]) > SHARE * free_bytes()
            if not short:
                task, batch = _next_batch(waiting, seed, lanes.pop())
                flying.append((task, batch, _begun(batch)))
        went_on = False
        for one in [one for one in flying if one[1].lane.answered]:
            task, batch, steps = one
            went_on = True
            if next(steps, steps) is steps:
                flying.remove(one)
                fetching.append((task, batch, pool.submit(batch.outcomes)))
                if len(task[0]) == 1:
                    lanes.append(batch.lane)
        for done in [done for done in fetching if done[2].done()]:
            (stops, trials), batch, fetched = done
            went_on = True
            fetching.remove(done)
            block = fetched.result()
            if further := stops[1:]:
                batch.go_on(further[0][1], block)
                flying.append(((further, trials), batch, _begun(batch)))
            yield stops[0][0], trials, block
        if not went_on and (short or not waiting or not lanes):
            time.sleep(PAUSE)


def _begun(batch: Any) -> Iterator[None]:
    """The steps of a batch, of which the first is made."""
    steps: Iterator[None] = batch.steps()
    next(steps)
    return steps


def _first(task: Task) -> tuple[bool, bool, int]:
    [(_, scenario), *_], _ = task
    return scenario.horizon is not None, scenario.algorithm.patient, _bytes(task)


def _bytes(task: Task) -> int:
    """What the trials of a task take."""
    [(_, scenario), *_], trials = task
    return (bytes_per_player(scenario) * scenario.n_players + PER_TRIAL) * len(trials)


def _next_batch(waiting: deque[Task], seed: int, lane: Any) -> tuple[Task, Any]:
    """The next trials that wait, as many as there is room for."""
    stops, trials = waiting.popleft()
    scenario = stops[0][1]
    size = trials_at_once(scenario)
    some, rest = trials[:size], trials[size:]
    if len(rest):
        waiting.appendleft((stops, rest))
    return (stops, some), _form(scenario)(scenario, seed=seed, trials=some, lane=lane)


def _form(scenario: Scenario) -> Any:
    """How its trials are run."""
    from devote.simulate.engine.gpu.batch import Batch
    from devote.simulate.engine.gpu.lone import LoneBatch
    from devote.simulate.engine.gpu.merged import MergedBatch

    engine = scenario.scheme.engine
    assert engine is not None
    if scenario.own_clocks and runs_by_itself(scenario):
        return LoneBatch
    return MergedBatch if engine.one_learner or engine.clocks is None else Batch
