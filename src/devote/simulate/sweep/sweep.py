"""Many settings, many trials each: on all cores, resumable, or on a Dask cluster.

Each trial has its own streams, so the results are the same on one process, on many and on a
cluster, and after any number of interruptions.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias

from devote.simulate.engine.gpu.run import run_batches
from devote.simulate.engine.gpu.target import check_device
from devote.simulate.errors import SweepError, check
from devote.simulate.result import Result
from devote.simulate.scenario import Scenario
from devote.simulate.sweep.cluster import dask_executor, lost_on_dask
from devote.simulate.sweep.results_file import Done, Header, ResultsFile, gather
from devote.simulate.sweep.schedule import Schedule
from devote.simulate.sweep.workers import local_executor, worker_count
from devote.simulate.trial import Trial
from devote.simulate.trials import compile_loop, run_chunk

__all__ = ["Progress", "run_sweep"]

Progress: TypeAlias = Callable[[int, int, str], None]
"""Called with the number of finished trials, of all trials, and the label of a cell."""


def run_sweep(
    cells: Sequence[Scenario],
    *,
    trials: int = 20,
    seed: int = 0,
    workers: int | None = None,
    results: str | Path | None = None,
    dask: str | None = None,
    progress: Progress | None = None,
) -> list[Result]:
    """Run trials 0, 1, ... of every cell; one result per cell, in order.

    ``workers`` processes share the work, all cores by default; with ``dask``, the address of a
    scheduler, its cluster does. With ``results``, each finished trial is written to that file,
    and a sweep that was interrupted goes on where it stopped. ``progress`` is called once at
    the start and after each finished trial.

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
    header = Header(tuple(cells), trials, seed)
    on_device = [i for i, cell in enumerate(cells) if cell.runs_on == "cuda"]
    if on_device:
        check_device()
    with ExitStack() as stack:
        # An address that nobody answers at is found out before a file is made.
        cluster = stack.enter_context(dask_executor(dask)) if dask is not None else None
        file = None
        done: Done = {}
        if results is not None:
            file = ResultsFile(results, header)
            stack.callback(file.close)
            done.update(file.done)
        tell = progress or (lambda done, total, label: None)
        total = len(cells) * trials
        tell(len(done), total, "")
        left = {i: [t for t in range(trials) if (i, t) not in done] for i in range(len(cells))}

        def note(i: int, trial: int, run: Trial) -> None:
            done[i, trial] = run
            if file is not None:
                file.add(i, trial, run)
            tell(len(done), total, cells[i].label)

        for i in on_device:
            for trial, run in run_batches(cells[i], seed=seed, trials=left.pop(i)):
                note(i, trial, run)
        schedule = Schedule(header.cells, left)
        if schedule.waiting:
            executor, at_once = cluster or stack.enter_context(local_executor(n_workers))
            for i, trial, run in _run(schedule, seed, executor, at_once):
                note(i, trial, run)
    return gather(header, done)


def _run(
    schedule: Schedule, seed: int, executor: Executor, at_once: int
) -> Iterator[tuple[int, int, Trial]]:
    """Hand out chunks and pass on trials as they are finished."""
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
            job = executor.submit(run_chunk, schedule.cells[i], trials, seed, threads=threads)
            running[job] = chunk
        finished, _ = wait([*compiling, *running], return_when=FIRST_COMPLETED)
        for future in finished:
            outcome = _result(future)
            if future in compiling:
                compiled.add(compiling.pop(future).loop)
                continue
            i, trials = running.pop(future)
            runs, seconds = outcome
            schedule.took(i, seconds)
            for trial, run in zip(trials, runs, strict=True):
                yield i, trial, run


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
