"""The chunks of a sweep on a Dask cluster.

Workers need the same version of devote with the extra ``sim``; rules of one's own are sent along.
A worker that is lost takes its chunks with it; the scheduler hands them to others.
"""

import pickle
import re
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, Future
from contextlib import contextmanager
from typing import Any

from devote.extras import naming_extras
from devote.rules.outside import Home, homes, settle
from devote.simulator.errors import SweepError

TIMEOUT = 5.0
"""Seconds to wait for a scheduler to answer."""

ADDRESS = r"[a-z]+://\S+:\d+|inproc://\S+"
REMEDY = (
    "Give the address that `dask scheduler` prints, such as tcp://127.0.0.1:8786, a cluster or a "
    "client."
)

RETRIES = 10
"""How often a chunk is given to another worker before the sweep gives up."""


class OnDask(Executor):
    """Hands calls to the executor of a client, together with the rules they may need."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._homes = homes()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """The future of a call on some worker."""
        # As bytes: a scheme from outside can be read only once its file is imported.
        call = pickle.dumps((fn, args, kwargs))
        return self._executor.submit(run_settled, self._homes, call)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the executor."""
        self._executor.shutdown(wait=wait)


def run_settled(where: tuple[Home, ...], call: bytes) -> Any:
    """On a worker: know the rules, then make the call."""
    with _one_at_a_time:
        settle(where)
    fn, args, kwargs = pickle.loads(call)
    return fn(*args, **kwargs)


_one_at_a_time = threading.Lock()
"""A worker may have several threads."""


@contextmanager
def dask_executor(where: Any) -> Iterator[tuple[Executor, int]]:
    """An executor on a cluster, and how many chunks it runs at once.

    ``where`` is the address of a scheduler, a cluster or a client; a client is left open.
    """
    client = where if hasattr(where, "get_executor") else _connect(where)
    executor: Executor | None = None
    try:
        n_threads = sum(client.nthreads().values())
        if not n_threads:
            address = client.scheduler.address
            raise SweepError(
                f"The Dask cluster at {address} has no workers.\nStart some: dask worker {address}"
            )
        executor = OnDask(client.get_executor(pure=False, retries=RETRIES))
        yield executor, n_threads
    finally:
        if executor is not None:
            executor.shutdown(wait=False)
        if client is not where:
            client.close()


def _connect(where: Any) -> Any:
    address = getattr(where, "scheduler_address", where)
    if not isinstance(address, str) or not re.fullmatch(ADDRESS, address):
        raise SweepError(f"{address!r} is not the address of a Dask scheduler.\n{REMEDY}")
    with naming_extras():
        import distributed
    connect: Any = distributed.Client
    try:
        return connect(address, timeout=TIMEOUT, set_as_default=False)
    except (OSError, TimeoutError, ValueError, TypeError) as error:
        raise SweepError(
            f"No Dask scheduler answers at {address!r} ({type(error).__name__}).\n{REMEDY}"
        ) from None


def lost_on_dask() -> tuple[type[BaseException], ...]:
    """What a chunk raises when its cluster went away, or worker after worker died over it."""
    distributed: Any = sys.modules.get("distributed")
    return (CancelledError,) if distributed is None else (CancelledError, distributed.KilledWorker)
