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
    waiting = deque(sorted((job for job in jobs if job[2]), key=_first, reverse=True))
    with ThreadPoolExecutor(FETCHERS) as pool:
        while waiting:
            with freed_later():
                for i, trials, fetched in _run_some(waiting, seed, pool):
                    yield i, trials, fetched.result()


def _run_some(
    waiting: deque[Job], seed: int, pool: ThreadPoolExecutor
) -> Iterator[tuple[int, Sequence[int], Future[Block]]]:
    """Run jobs until none is left, or memory that has been used up must be freed first."""
    from devote.simulate.engine.gpu.lane import lane

    lanes = [lane(i) for i in range(LANES)]
    flying: list[tuple[int, Sequence[int], Any, Iterator[None]]] = []
    fetching: list[tuple[int, Sequence[int], Future[Block]]] = []
    short = False
    while flying or fetching or (waiting and not short):
        if waiting and lanes and not short and len(fetching) < LANES:
            short = bool(flying or fetching) and _bytes(waiting[0]) > SHARE * free_bytes()
            if not short:
                flying.append(_launch(waiting, seed, lanes.pop()))
        went_on = False
        for one in [one for one in flying if one[2].lane.answered]:
            i, trials, batch, steps = one
            went_on = True
            if next(steps, steps) is steps:
                flying.remove(one)
                lanes.append(batch.lane)
                fetching.append((i, trials, pool.submit(batch.outcomes)))
        for done in [done for done in fetching if done[2].done()]:
            went_on = True
            fetching.remove(done)
            yield done
        if not went_on and (short or not waiting or not lanes):
            time.sleep(PAUSE)


def _first(job: Job) -> tuple[bool, int]:
    return job[1].algorithm.patient, _bytes(job)


def _bytes(job: Job) -> int:
    """What the trials of a job take."""
    _, scenario, trials = job
    return (bytes_per_player(scenario) * scenario.n_players + PER_TRIAL) * len(trials)


def _launch(
    waiting: deque[Job], seed: int, lane: Any
) -> tuple[int, Sequence[int], Any, Iterator[None]]:
    """Begin the next trials that wait, as many as there is room for."""
    from devote.simulate.engine.gpu.batch import Batch
    from devote.simulate.engine.gpu.lone import LoneBatch
    from devote.simulate.engine.gpu.merged import MergedBatch

    i, scenario, trials = waiting.popleft()
    engine = scenario.scheme.engine
    assert engine is not None
    form: Any = MergedBatch if engine.one_learner or engine.clocks is None else Batch
    if scenario.own_clocks and runs_by_itself(scenario):
        form = LoneBatch
    size = trials_at_once(scenario)
    some, rest = trials[:size], trials[size:]
    if rest:
        waiting.appendleft((i, scenario, rest))
    batch = form(scenario, seed=seed, trials=some, lane=lane)
    steps = batch.steps()
    next(steps)
    return i, some, batch, steps
