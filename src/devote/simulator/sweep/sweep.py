"""Many settings, many trials each: on all cores, resumable, or on a Dask cluster.

Each trial has its own streams, so the results are the same on one process, on many and on a
cluster, and after any number of interruptions.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from devote.simulator.block import Block
from devote.simulator.errors import SweepError, SweepInterrupted, check
from devote.simulator.progress import Progress, progress_line
from devote.simulator.results import Results
from devote.simulator.scenario import Scenario
from devote.simulator.sweep.cluster import dask_executor, lost_on_dask
from devote.simulator.sweep.pieces import Pieces
from devote.simulator.sweep.results_file import Header, ResultsFile, gather
from devote.simulator.sweep.schedule import Schedule
from devote.simulator.sweep.workers import local_executor, worker_count
from devote.simulator.trials import run_chunk

__all__ = ["Progress", "Sweep", "run_sweep", "run_sweeps"]


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
    [found] = run_sweeps(
        [Sweep(cells, trials, results)],
        seed=seed,
        workers=workers,
        dask=dask,
        progress=progress,
        record=record,
        trace=trace,
        on_block=on_block,
    )
    return found


@dataclass(frozen=True)
class Sweep:
    """Trials 0, 1, ... of some cells, kept in the file ``results`` if one is named."""

    cells: Sequence[Scenario]
    trials: int = 20
    results: str | Path | None = None


def run_sweeps(
    sweeps: Sequence[Sweep],
    *,
    seed: int = 0,
    workers: int | None = None,
    executor: tuple[Executor, int] | None = None,
    dask: Any = None,
    progress: Progress | bool | None = None,
    record: bool = False,
    trace: bool = False,
    on_block: Callable[[int, Block], None] | None = None,
    on_sweep: Callable[[Results], None] | None = None,
) -> list[Results]:
    """Run several sweeps as if they were one, so that no core waits for the end of another.

    All is as in ``run_sweep``. ``executor`` does the work if it is given, with how many chunks it
    runs at once; it is left open. ``on_sweep`` is called with the results of each sweep when all of
    its trials are there.
    """
    for sweep in sweeps:
        check.whole("trials", sweep.trials, least=1, remedy="Raise it.")
        if trace and sweep.results is not None:
            raise SweepError("A results file keeps no traces.\nLeave out trace or results.")
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise SweepError(f"seed={seed!r} must be a whole number.\nUse 0, or any other.")
    n_workers = worker_count(workers)
    headers = [
        Header(
            tuple(cell.in_order() if trace or record else cell for cell in sweep.cells),
            sweep.trials,
            seed,
            record,
        )
        for sweep in sweeps
    ]
    cells = [cell for header in headers for cell in header.cells]
    places = [(j, i) for j, header in enumerate(headers) for i in range(len(header.cells))]
    on_device = [n for n, cell in enumerate(cells) if cell.runs_on == "cuda"]
    if on_device:
        from devote.simulator.gpu import check_device

        check_device()
    with ExitStack() as stack:
        # An address that nobody answers at is found out before a file is made.
        if dask is not None:
            executor = stack.enter_context(dask_executor(dask))
        files: list[ResultsFile | None] = []
        for sweep, header in zip(sweeps, headers, strict=True):
            file = None if sweep.results is None else ResultsFile(sweep.results, header)
            files.append(file)
            if file is not None:
                stack.callback(file.close)
        done = [Pieces() if file is None else file.done for file in files]
        heard = on_block or (lambda cell, block: None)
        left: dict[int, Sequence[int]] = {
            n: range(headers[j].trials) for n, (j, _) in enumerate(places)
        }
        total = sum(map(len, left.values()))
        for n, (j, i) in enumerate(places):
            there, block = done[j].of(i, cells[n])
            if len(there):
                heard(n, block)
                left[n] = np.setdiff1d(left[n], there, assume_unique=True).tolist()
        tell = stack.enter_context(progress_line(progress))
        finished = total - sum(map(len, left.values()))
        tell(finished, total, "")
        found: dict[int, Results] = {}
        lacking = [0] * len(sweeps)
        for n, (j, _) in enumerate(places):
            lacking[j] += len(left[n])

        def close(j: int) -> None:
            found[j] = gather(headers[j], done[j])
            if on_sweep is not None:
                on_sweep(found[j])

        for j, rest in enumerate(lacking):
            if not rest:
                close(j)

        def note(n: int, numbers: Sequence[int], block: Block) -> None:
            nonlocal finished
            j, i = places[n]
            done[j].add(i, numbers, block)
            finished += len(block)
            if (file := files[j]) is not None:
                file.add(i, np.asarray(numbers), block)
            heard(n, block)
            tell(finished, total, cells[n].label)
            lacking[j] -= len(block)
            if not lacking[j]:
                close(j)

        try:
            for n in on_device:
                from devote.simulator.gpu import run_on_device

                for numbers, block in run_on_device(cells[n], seed, left.pop(n)):
                    note(n, numbers, block)
            schedule = Schedule(cells, left)
            if schedule.waiting:
                pool, at_once = executor or stack.enter_context(local_executor(n_workers))
                for n, some, block in _run(schedule, seed, pool, at_once, trace, record):
                    note(n, some, block)
        except KeyboardInterrupt:
            raise _interrupted(finished, total, [sweep.results for sweep in sweeps]) from None
    return [found[j] for j in range(len(sweeps))]


def _interrupted(done: int, total: int, results: Sequence[str | Path | None]) -> SweepInterrupted:
    paths = [Path(path) for path in results if path is not None]
    if not paths:
        way = "Nothing is kept. Give a results file, such as sweep.jsonl, to go on next time."
    else:
        where = paths[0].name if len(paths) == 1 else paths[0].parent
        way = f"They are kept in {where}. Run the same again to go on from there."
    return SweepInterrupted(f"Stopped after {done:,} of {total:,} trials.\n{way}")


def _run(
    schedule: Schedule, seed: int, executor: Executor, at_once: int, trace: bool, record: bool
) -> Iterator[tuple[int, list[int], Block]]:
    """Hand out chunks and pass on their trials as they are finished."""
    running: dict[Future[Any], tuple[int, list[int]]] = {}
    # A chunk more than there are workers, so that nobody waits for the next one.
    room = at_once + 1 if at_once > 1 else 1
    while running or schedule.waiting:
        while schedule.waiting and len(running) < room:
            i, trials = schedule.next_chunk()
            # One worker alone may use all cores for a large trial.
            threads = None if at_once == 1 else 1
            work = (schedule.cells[i], trials, seed, trace, record, threads)
            running[executor.submit(run_chunk, *work)] = (i, trials)
        finished, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in finished:
            block, seconds = _result(future)
            i, trials = running.pop(future)
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
