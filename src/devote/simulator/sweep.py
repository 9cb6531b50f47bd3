"""Many trials of one or many scenarios: on all cores or any executor, resumable.

Each trial has its own streams, so the results are the same in one process, in many and on a
cluster, and after any number of interruptions.

Nobody knows how long a trial takes before it has been run, so the first trial of each scenario is a
chunk of its own, and its time decides on the size of the next ones.
"""

import pickle
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import ExitStack, closing, nullcontext
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeAlias

import numpy as np

from devote.problems import Problem
from devote.protocol import ExperimentSpec
from devote.rules.outside import homes
from devote.simulator.block import Block
from devote.simulator.errors import SweepError, SweepInterrupted, check
from devote.simulator.executors import InProcess, call_with_rules, local_executor, worker_count
from devote.simulator.grids import as_problem
from devote.simulator.results import Result, Results
from devote.simulator.results_file import Numbers, ResultsFile, join_blocks
from devote.simulator.scenario import Scenario
from devote.simulator.trials import run_chunk, warm_up

CHUNK_SECONDS = 0.4
"""What a chunk should take: far more than handing it out costs, and little to lose by a kill."""

Chunk: TypeAlias = tuple[int, list[int], Block]
"""The place of a scenario, some of its trials, and what they came to."""

Progress: TypeAlias = Callable[[int, int, str], None]
"""Called with the number of finished trials, of all trials, and the label of a cell."""

LINE_DELAY, LINE_EVERY, LINE_WIDTH = 1.0, 0.1, 79
"""Seconds before a progress line is shown, and between two; its width."""


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
) -> Result:
    """Run trials 0, 1, ... of one scenario and gather what each came to.

    ``problem`` is a ``Problem``, the name of one or a table of its fields, as for ``grid``.
    ``horizon`` is the most pulls of a trial; what reaches it is ``unfinished``. Without one, a
    rule of your own that never votes is refused, and a trial that goes on past every known rule's
    need raises ``NeverEnds``. ``engine`` is
    ``auto``, ``event``, ``passes`` or ``cuda``; ``result.engine`` says which ran. ``record`` keeps
    curves over time, pulls per arm and pulls per player; ``trace`` keeps every event; both need
    ``event``, which ``auto`` then takes. A run of more than a second shows a line in a terminal.
    ``run_sweep`` has more: files that a later call goes on with, executors, progress.

    >>> result = simulate(ExperimentSpec(arms=10), "1", 32, trials=2, seed=1)
    >>> result.broadcasts.tolist()
    [252, 252]
    >>> result
    <Result decentralized ser3, problem 1, 32 players: 2 trials, 2 agreed; 19,838 samples each>
    """
    scenario = Scenario(spec, as_problem(problem), n_players, horizon, engine)
    how: dict[str, Any] = {"trials": trials, "seed": seed, "workers": workers, "progress": True}
    [result] = run_sweep([scenario], record=record, trace=trace, **how)
    return result


def run_sweep(
    scenarios: Sequence[Scenario],
    *,
    trials: int | Sequence[int] = 20,
    seed: int = 0,
    workers: int | None = None,
    executor: Executor | None = None,
    results: str | Path | None = None,
    progress: Progress | bool | None = None,
    record: bool = False,
    trace: bool = False,
    on_block: Callable[[int, Block], None] | None = None,
) -> Results:
    """Run trials 0, 1, ... of every scenario; one result per scenario, in order.

    ``trials`` is a number, or one for each scenario. ``workers`` processes share the work, all
    cores by default. Or ``executor`` does it: a ``ProcessPoolExecutor``, that of a cluster, such as
    ``dask_client.get_executor()``, or any other that has their ``submit``; it is left open, and its
    workers need the same version of devote. Trials end in blocks: those that a worker was given
    together, .4 s of work at most, or that a GPU ran at once. With ``results``, each finished block
    is written to that file, and a sweep that was interrupted goes on where it stopped. The same
    file with more trials or scenarios runs only what is missing. ``progress`` is called once at
    the start and after each finished block; True shows a line in a terminal after a second.
    ``record`` and ``trace`` are those of ``simulate``. ``on_block`` is called with the place of a
    scenario and a block of its trials, for those in the file and for each that ends.

    A script that uses several workers must guard its entry with
    ``if __name__ == "__main__":``, as for every use of ``multiprocessing``.

    >>> from devote.problems import PROBLEMS
    >>> scenario = Scenario(ExperimentSpec(arms=10), PROBLEMS["1"], 32)
    >>> [result.trials for result in run_sweep([scenario], trials=3, workers=1)]
    [3]
    """
    wanted = _trials_wanted(trials, len(scenarios))
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise SweepError(f"seed={seed!r} must be a whole number.\nUse 0, or any other.")
    n_workers = worker_count(workers)
    cells = [one.in_order() if trace or record else one for one in scenarios]
    if any(cell.runs_on == "cuda" for cell in cells):
        from devote.simulator.gpu import check_device

        check_device()
    done: list[list[tuple[Numbers, Block]]] = [[] for _ in cells]
    with ExitStack() as stack:
        file = None
        if results is not None:
            file = stack.enter_context(closing(ResultsFile(results, cells, wanted, seed)))
            done = [_usable(file.blocks(i), most, trace, record) for i, most in enumerate(wanted)]
        waiting = _missing(wanted, done)
        finished = sum(wanted) - sum(map(len, waiting.values()))
        report = on_block or (lambda i, block: None)
        for i, blocks in enumerate(done):
            for _, block in blocks:
                report(i, block)
        show = progress if callable(progress) else _progress_line(stack, wanted=bool(progress))
        show(finished, sum(wanted), "")
        chunks = _run(cells, waiting, (seed, trace, record), executor, n_workers)
        try:
            for i, numbers, block in stack.enter_context(closing(chunks)):
                done[i].append((np.asarray(numbers), block))
                if file is not None:
                    file.add(i, numbers, block)
                report(i, block)
                finished += len(block)
                show(finished, sum(wanted), cells[i].label)
        except KeyboardInterrupt:
            raise _interrupted(finished, sum(wanted), results) from None
    return Results(
        Result.of(cell, join_blocks(blocks)[1], seed=seed)
        for cell, blocks in zip(cells, done, strict=True)
    )


def _trials_wanted(trials: int | Sequence[int], n_scenarios: int) -> list[int]:
    """How many trials of each scenario."""
    each = list(trials) if isinstance(trials, Sequence) else [trials] * max(1, n_scenarios)
    for count in each:
        check.whole("trials", count, least=1, remedy="Raise it.")
    if isinstance(trials, Sequence) and len(each) != n_scenarios:
        raise SweepError(
            f"{len(each)} numbers of trials were given for {n_scenarios} scenarios.\n"
            "Give one for each, or one number for all."
        )
    return each[:n_scenarios]


def _usable(
    blocks: list[tuple[Numbers, Block]], most: int, trace: bool, record: bool
) -> list[tuple[Numbers, Block]]:
    """The trials of a file that are asked for, with the traces and records that are."""
    if not blocks:
        return []
    numbers, block = join_blocks(blocks)
    usable = numbers < most
    for is_asked, kept in ((trace, block.traces), (record, block.records)):
        if is_asked:
            usable &= np.array([one is not None for one in kept])
    return [(numbers[usable], block.take(np.flatnonzero(usable)))]


def _missing(
    wanted: Sequence[int], done: Sequence[Sequence[tuple[Numbers, Block]]]
) -> dict[int, list[int]]:
    """The numbers of the trials still to be run, by scenario."""
    missing = {}
    for i, most in enumerate(wanted):
        there = {n for numbers, _ in done[i] for n in numbers.tolist()}
        if left := [n for n in range(most) if n not in there]:
            missing[i] = left
    return missing


def _run(
    cells: Sequence[Scenario],
    waiting: dict[int, list[int]],
    how: tuple[int, bool, bool],
    executor: Executor | None,
    n_workers: int,
) -> Generator[Chunk, None, None]:
    """Run what is waiting; ``how`` is the seed, and whether to keep traces and records."""
    for i in [i for i in waiting if cells[i].runs_on == "cuda"]:
        from devote.simulator.gpu import run_on_device

        for numbers, block in run_on_device(cells[i], how[0], waiting.pop(i)):
            yield i, list(numbers), block
    if not waiting:
        return
    with nullcontext(executor) if executor is not None else local_executor(n_workers) as pool:
        if not isinstance(pool, InProcess):
            yield from _run_on(pool, cells, waiting, how)
            return
        for i, trials in waiting.items():
            size = 1
            while trials:
                some, trials = trials[:size], trials[size:]
                # A large trial may use all cores.
                block, size = run_timed(cells[i], some, *how, threads=None)
                yield i, some, block


def _run_on(
    executor: Executor,
    cells: Sequence[Scenario],
    waiting: dict[int, list[int]],
    how: tuple[int, bool, bool],
) -> Iterator[Chunk]:
    """On the workers of an executor: first a trial of each scenario, then the rest in chunks."""
    where = homes()
    running: dict[Future[Any], tuple[int, list[int]]] = {}
    ended: SimpleQueue[Future[Any]] = SimpleQueue()

    def submit(i: int, trials: list[int]) -> None:
        call = pickle.dumps((run_timed, (cells[i], trials, *how)))
        future = executor.submit(call_with_rules, where, call)
        running[future] = i, trials
        future.add_done_callback(ended.put)

    try:
        # Long trials first: a worker that begins one at the end would keep the others waiting.
        for i in sorted(waiting, key=lambda i: cells[i].n_players, reverse=True):
            submit(i, [waiting[i].pop(0)])
        while running:
            future = ended.get()
            i, trials = running.pop(future)
            block, size = _result(future)
            rest = waiting.pop(i, [])
            for begin in range(0, len(rest), size):
                submit(i, rest[begin : begin + size])
            yield i, trials, block
    finally:
        for future in running:
            future.cancel()


def run_timed(
    scenario: Scenario,
    trials: list[int],
    seed: int,
    trace: bool,
    record: bool,
    threads: int | None = 1,
) -> tuple[Block, int]:
    """Run a chunk; returns it, and by the time it took how many trials the next one may have."""
    if len(trials) == 1:  # It may be the first: the next chunks compile nothing.
        warm_up(scenario)
    begin = time.perf_counter()
    block = run_chunk(scenario, trials, seed, trace, record, threads)
    seconds = (time.perf_counter() - begin) / len(trials)
    return block, max(1, int(CHUNK_SECONDS / max(seconds, 1e-6)))


def _result(future: Future[Any]) -> tuple[Block, int]:
    try:
        found: tuple[Block, int] = future.result()
    except (BrokenExecutor, CancelledError):
        raise SweepError(
            "A worker ended unexpectedly, perhaps for want of memory, or its cluster went away.\n"
            "Use fewer workers. Trials in the results file are not lost: run the sweep again."
        ) from None
    return found


def _interrupted(done: int, total: int, results: str | Path | None) -> SweepInterrupted:
    way = "Nothing is kept. Give a results file, such as sweep.jsonl, to go on next time."
    if results is not None:
        way = f"They are kept in {Path(results).name}. Run the same again to go on from there."
    return SweepInterrupted(f"Stopped after {done:,} of {total:,} trials.\n{way}")


def _progress_line(stack: ExitStack, *, wanted: bool) -> Progress:
    """What shows progress on one line of a terminal, which is cleared when the stack closes."""
    begin = due = time.monotonic() + LINE_DELAY

    def write(text: str) -> None:
        sys.stderr.write(f"\r{text[:LINE_WIDTH]:<{LINE_WIDTH}}\r")
        sys.stderr.flush()

    def show(done: int, total: int, label: str) -> None:
        nonlocal due
        now = time.monotonic()
        if not wanted or not sys.stderr.isatty() or now < due:
            return
        if due == begin:
            stack.callback(write, "")
        due = now + LINE_EVERY
        left = (now - begin + LINE_DELAY) / max(done, 1) * (total - done)
        write(f"{done:,} of {total:,} trials, about {left:,.0f} s left  {label}")

    return show
