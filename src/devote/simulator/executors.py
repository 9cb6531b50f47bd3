"""Where the chunks of a sweep run: this process, several of its own, or any executor.

Worker processes are spawned, so they inherit nothing but what they are given. They end with the
process that started them, however that ends: each watches a pipe whose other end only the
parent holds, and which closes when the parent asks, raises or is killed.
"""

import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from devote.rules.outside import Home, homes, settle
from devote.simulator.errors import check

T = TypeVar("T")


class InProcess(Executor):
    """Runs what is submitted at once, here."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """The finished future of a call; what it raises is raised here."""
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def worker_count(workers: int | None) -> int:
    """The number of processes asked for, all cores by default."""
    if workers is not None:
        return check.whole("workers", workers, least=1, remedy="Leave it out to use all cores.")
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_chunks(
    executor: Executor,
    size: int,
    work: Callable[..., T],
    what: Any,
    trials: Sequence[int],
    *options: Any,
) -> list[T]:
    """What ``work`` gives for ``what`` and one chunk of the trials after another."""
    chunks = [trials[i : i + size] for i in range(0, len(trials), size)]
    futures = [executor.submit(work, what, chunk, *options) for chunk in chunks]
    return [future.result() for future in futures]


def call_with_rules(where: tuple[Home, ...], call: bytes) -> Any:
    """Make a pickled call in a process that may lack the rules in ``where``.

    As bytes: a scheme of one's own can be read only once its file is imported.
    """
    with _one_at_a_time:
        settle(where)
    work, args = pickle.loads(call)
    return work(*args)


_one_at_a_time = threading.Lock()
"""A worker may have several threads."""


class _Pool(ProcessPoolExecutor):
    """Processes that can be ended in a call, but not while its result is being sent.

    Half a result would keep whoever reads it waiting for the rest, for ever.
    """

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have a worker make a call."""
        return super().submit(_call, fn, *args, **kwargs)


_sending = threading.Lock()
"""In a worker: held from the end of a call to the beginning of the next."""

SENDING_TAKES = 1.0
"""Seconds, at most, between a call's end and the moment at which its result is read."""


def _call(fn: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    if _sending.locked():
        _sending.release()
    try:
        return fn(*args, **kwargs)
    finally:
        _sending.acquire()


@contextmanager
def local_executor(workers: int) -> Iterator[Executor]:
    """This process for one worker, a pool of processes for more; it leaves no process behind."""
    if workers == 1:
        yield InProcess()
        return
    context = multiprocessing.get_context("spawn")
    lifeline, held = context.Pipe(duplex=False)
    pool = _Pool(workers, context, initializer=_begin, initargs=(lifeline, homes()))
    try:
        with _interrupts_held_back():
            # The first call starts all workers, which inherit the signal mask.
            pool.submit(os.getpid)
        yield pool
    finally:
        # Whoever is still in a chunk is not waited for: its trials are simply not done.
        held.close()
        pool.shutdown(wait=True, cancel_futures=True)
        lifeline.close()


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Hold Ctrl-C back in this block, and for ever in processes started in it: the parent acts."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(lifeline: Connection, where: tuple[Home, ...]) -> None:
    """In a worker: leave Ctrl-C to the parent and end with it; know the rules that it knows."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, args=(lifeline,), daemon=True).start()
    settle(where)


def _end_with_parent(lifeline: Connection) -> None:
    lifeline.poll(None)
    _sending.acquire(timeout=SENDING_TAKES)
    os._exit(1)
