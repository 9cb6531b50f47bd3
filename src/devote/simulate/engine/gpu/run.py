"""Trials on the device: as many at once as its memory holds, of several scenarios."""

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from threading import Lock
from typing import Any

from devote.simulate.block import Block
from devote.simulate.engine.clocks_run import ends_apart
from devote.simulate.engine.gpu.tables import CROWD, n_columns
from devote.simulate.engine.gpu.target import check_device, free_bytes, freed_later, simulated
from devote.simulate.engine.room import bytes_per_player
from devote.simulate.errors import SweepError
from devote.simulate.scenario import Scenario

PER_TRIAL = 4096
"""Bytes of a trial beside its players and what is heard of them, at most."""

SHARE = 0.8
"""Of the free memory that players may take."""

LANES = 8
"""Batches on the device at once: alone, many have too few players for it. With twice as many, they
are in each other's way."""

Job = tuple[int, Scenario, Sequence[int]]
"""The place of a scenario, the scenario, and numbers of trials."""

Task = tuple[list[tuple[int, Scenario]], Sequence[int]]
"""Places and scenarios, each of which goes on where the last one stops, and numbers of trials."""


def room() -> int:
    """How much of the device's memory players may take."""
    return int(SHARE * free_bytes())


def trials_at_once(scenario: Scenario, there: int) -> int:
    """How many trials so much memory holds; at least one, or it is refused."""
    player, each = bytes_per_player(scenario), _bytes_each(scenario)
    if each > there:
        raise SweepError(
            f"n_players={scenario.n_players:,} takes {each / 2**30:,.0f} GiB of the GPU's memory, "
            f"{player} bytes each, but {there / 2**30:,.0f} GiB are to be had.\n"
            f"Use {there // player:,} players or fewer, or engine clocks."
        )
    return there // each


def run_batches(
    scenario: Scenario, *, seed: int, trials: Sequence[int]
) -> Iterator[tuple[Sequence[int], Block]]:
    """The numbers of some trials and what they came to, one batch after another."""
    for _, some, block in run_jobs([(0, scenario, trials)], seed=seed):
        yield some, block


def run_jobs(jobs: Sequence[Job], *, seed: int) -> Iterator[tuple[int, Sequence[int], Block]]:
    """The place of a scenario, the numbers of some trials and what they came to, as they end."""
    check_device()
    # The longest first: others fill what is left of the device.
    waiting = deque(sorted(_tasks(jobs), key=_is_short))
    while waiting:
        with freed_later():
            yield from _run_some(waiting, seed)


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


def _run_some(waiting: deque[Task], seed: int) -> Iterator[tuple[int, Sequence[int], Block]]:
    """Run tasks until none is left, or memory that has been used up must be freed first."""
    from devote.simulate.engine.gpu.lane import Pool, lane

    there = room()
    pool = Pool(min(sum(map(_bytes, waiting)), there))
    lanes = [lane(i) for i in range(1 if simulated() else min(LANES, len(waiting)))]
    found: SimpleQueue[Any] = SimpleQueue()
    taking = Lock()

    def next_task() -> Task | None:
        """The next trials that wait, as many as there is room for; none if there is none now."""
        with taking:
            if not waiting:
                return None
            stops, trials = waiting[0]
            size = trials_at_once(stops[0][1], there)
            task, rest = (stops, trials[:size]), trials[size:]
            if not pool.promises(_bytes(task)):
                return None
            waiting.popleft()
            if len(rest):
                waiting.appendleft((stops, rest))
            return task

    def work(own: Any) -> None:
        """Run one task after another on a lane."""
        with own.of(pool):
            while not pool.closed and (task := next_task()):
                for answer in _run_task(task, seed, own):
                    found.put(answer)

    with ThreadPoolExecutor(len(lanes)) as threads:
        workers = [threads.submit(work, own) for own in lanes]
        for worker in workers:
            worker.add_done_callback(found.put)
        try:
            while workers:
                answer = found.get()
                if isinstance(answer, Future):
                    workers.remove(answer)
                    answer.result()
                else:
                    yield answer
        finally:
            pool.closed = True


def _run_task(task: Task, seed: int, lane: Any) -> Iterator[tuple[int, Sequence[int], Block]]:
    """What its trials came to at each stop."""
    (first, *others), trials = task
    batch = _form(first[1])(first[1], seed=seed, trials=trials, lane=lane)
    batch.play()
    block = batch.outcomes()
    yield first[0], trials, block
    for place, scenario in others:
        batch.go_on(scenario, block)
        batch.play()
        block = batch.outcomes()
        yield place, trials, block


def _is_short(task: Task) -> bool:
    [(_, scenario), *_], _ = task
    return scenario.horizon is None and not scenario.algorithm.patient


def _bytes(task: Task) -> int:
    """What the trials of a task take."""
    [(_, scenario), *_], trials = task
    return _bytes_each(scenario) * len(trials)


def _bytes_each(scenario: Scenario) -> int:
    """What a trial takes."""
    heard = CROWD * (21 + 4 * n_columns(scenario.spec.n_arms))
    return bytes_per_player(scenario) * scenario.n_players + heard + PER_TRIAL


def _form(scenario: Scenario) -> Any:
    """How its trials are run."""
    from devote.simulate.engine.gpu.batch import Batch
    from devote.simulate.engine.gpu.lone import LoneBatch
    from devote.simulate.engine.gpu.merged import MergedBatch

    engine = scenario.scheme.engine
    assert engine is not None
    if scenario.own_clocks and ends_apart(scenario):
        return LoneBatch
    return MergedBatch if engine.one_learner or engine.clocks is None else Batch
