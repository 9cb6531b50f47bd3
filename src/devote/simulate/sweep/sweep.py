"""Many settings, many trials each: on all cores, resumable, or on a Dask cluster.

Each trial has its own streams, so the results are the same on one process, on many and on a
cluster, and after any number of interruptions.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from devote.simulate.block import Block
from devote.simulate.engine.gpu.run import run_jobs
from devote.simulate.engine.gpu.target import check_device
from devote.simulate.errors import SweepError, SweepInterrupted, check
from devote.simulate.progress import Progress, progress_line
from devote.simulate.results import Results
from devote.simulate.scenario import Scenario
from devote.simulate.sweep.cluster import dask_executor, lost_on_dask
from devote.simulate.sweep.pieces import Pieces
from devote.simulate.sweep.results_file import Header, ResultsFile, gather
from devote.simulate.sweep.schedule import Schedule
from devote.simulate.sweep.workers import local_executor, worker_count
from devote.simulate.trials import compile_loop, run_chunk

__all__ = ["Progress", "run_sweep"]


def run_sweep(
    cells: Sequence[Scenario],
    *,
    trials: int = 20,
    seed: int = 0,
    workers: int | None = None,
    results: str | Path | None = None,
    dask: Any = None,
    progress: Progress | bool | None = None,
    record: bool = False,
    trace: bool = False,
    on_block: Callable[[int, Block], None] | None = None,
) -> Results:
    """Run trials 0, 1, ... of every cell; one result per cell, in order.

    ``workers`` processes share the work, all cores by default; with ``dask`` a Dask cluster does:
    give the address of its scheduler, the cluster or a client. Trials end in blocks: those that a
    worker was given together, .4 s of work at most, or that a GPU ran at once. With ``results``,
    each finished block is written to that file, and a sweep that was interrupted goes on where it
    stopped. The same file with more trials or other cells runs only what is missing. ``progress``
    is called once at the start and after each finished block; True shows a line in a terminal.
    ``record`` and ``trace`` are those of ``simulate``. ``on_block`` is called with the place of a
    cell and a block of its trials, for those in the file and for each that ends.

    A script that uses several workers must guard its entry with
    ``if __name__ == "__main__":``, as for every use of ``multiprocessing``.

    >>> from devote.problems import PROBLEMS
    >>> from devote.protocol import ExperimentSpec
    >>> cell = Scenario(ExperimentSpec(arms=10), PROBLEMS["1"], 32)
    >>> [result.trials for result in run_sweep([cell], trials=3, workers=1)]
    [3]
    """
    check.whole("trials", trials, least=1, remedy="Raise it.")
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise SweepError(f"seed={seed!r} must be a whole number.\nUse 0, or any other.")
    n_workers = worker_count(workers)
    if trace and results is not None:
        raise SweepError("A results file keeps no traces.\nLeave out trace or results.")
    if trace or record:
        cells = [cell.in_order() for cell in cells]
    header = Header(tuple(cells), trials, seed, record)
    on_device = [i for i, cell in enumerate(cells) if cell.runs_on == "cuda"]
    if on_device:
        check_device()
    with ExitStack() as stack:
        # An address that nobody answers at is found out before a file is made.
        cluster = stack.enter_context(dask_executor(dask)) if dask is not None else None
        file = None
        done = Pieces()
        if results is not None:
            file = ResultsFile(results, header)
            stack.callback(file.close)
            done = file.done
        heard = on_block or (lambda cell, block: None)
        left: dict[int, Sequence[int]] = {i: range(trials) for i in range(len(cells))}
        for i, cell in enumerate(cells):
            there, block = done.of(i, cell)
            if len(there):
                heard(i, block)
                left[i] = np.setdiff1d(left[i], there).tolist()
        tell = stack.enter_context(progress_line(progress))
        total = len(cells) * trials
        finished = total - sum(map(len, left.values()))
        tell(finished, total, "")

        def note(i: int, numbers: Sequence[int], block: Block) -> None:
            nonlocal finished
            done.add(i, numbers, block)
            finished += len(block)
            if file is not None:
                file.add(i, np.asarray(numbers), block)
            heard(i, block)
            tell(finished, total, cells[i].label)

        try:
            jobs = [(i, cells[i], left.pop(i)) for i in on_device]
            for i, numbers, block in run_jobs(jobs, seed=seed) if jobs else ():
                note(i, numbers, block)
            schedule = Schedule(header.cells, left)
            if schedule.waiting:
                executor, at_once = cluster or stack.enter_context(local_executor(n_workers))
                for i, some, block in _run(schedule, seed, executor, at_once, trace, record):
                    note(i, some, block)
        except KeyboardInterrupt:
            raise _interrupted(finished, total, results) from None
    return gather(header, done)


def _interrupted(done: int, total: int, results: str | Path | None) -> SweepInterrupted:
    if results is None:
        way = "Nothing is kept. Give a results file, such as sweep.jsonl, to go on next time."
    else:
        way = f"They are kept in {Path(results).name}. Run the same again to go on from there."
    return SweepInterrupted(f"Stopped after {done:,} of {total:,} trials.\n{way}")


def _run(
    schedule: Schedule, seed: int, executor: Executor, at_once: int, trace: bool, record: bool
) -> Iterator[tuple[int, list[int], Block]]:
    """Hand out chunks and pass on their trials as they are finished."""
    compiled: set[tuple[str, str, str]] = set()
    # One worker alone compiles what it needs when it needs it.
    loops = schedule.loops() if at_once > 1 else []
    if not loops:
        compiled = {cell.loop for cell in schedule.loops()}
    compiling: dict[Future[Any], Scenario] = {}
    running: dict[Future[Any], tuple[int, list[int]]] = {}
    # A chunk more than there are workers, so that nobody waits for the next one.
    room = at_once + 1 if at_once > 1 else 1
    while loops or compiling or running or schedule.waiting:
        while len(compiling) + len(running) < room:
            if loops:
                cell = loops.pop(0)
                compiling[executor.submit(compile_loop, cell)] = cell
                continue
            chunk = schedule.next_chunk(compiled)
            if chunk is None:
                break
            i, trials = chunk
            # One worker alone may use all cores for a large trial.
            threads = None if at_once == 1 else 1
            work = (schedule.cells[i], trials, seed, trace, record, threads)
            running[executor.submit(run_chunk, *work)] = chunk
        finished, _ = wait([*compiling, *running], return_when=FIRST_COMPLETED)
        for future in finished:
            outcome = _result(future)
            if future in compiling:
                compiled.add(compiling.pop(future).loop)
                continue
            i, trials = running.pop(future)
            block, seconds = outcome
            schedule.took(i, seconds)
            yield i, trials, block


def _result(future: Future[Any]) -> Any:
    try:
        return future.result()
    except BrokenProcessPool:
        raise SweepError(
            "A worker process ended unexpectedly, perhaps for want of memory.\n"
            "Use fewer workers. Trials in the results file are not lost: run the sweep again."
        ) from None
    except lost_on_dask():
        raise SweepError(
            "The Dask cluster lost its scheduler, or one worker after another.\n"
            "Look at its logs. Trials in the results file are not lost: run the sweep again."
        ) from None
