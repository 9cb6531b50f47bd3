"""The chunks of a sweep on a Dask cluster.

Workers need the same version of devote with the extra ``sim``. A worker that is lost takes its
chunks with it; the scheduler hands them to others.
"""

import re
import sys
from collections.abc import Iterator
from concurrent.futures import CancelledError, Executor
from contextlib import contextmanager
from typing import Any

from devote.simulate.errors import SweepError

TIMEOUT = 5.0
"""Seconds to wait for a scheduler to answer."""

ADDRESS = r"[a-z]+://\S+:\d+|inproc://\S+"
REMEDY = "Give the address that `dask scheduler` prints, such as tcp://127.0.0.1:8786."

RETRIES = 10
"""How often a chunk is given to another worker before the sweep gives up."""


@contextmanager
def dask_executor(address: str) -> Iterator[tuple[Executor, int]]:
    """An executor on the cluster at an address, and how many chunks it runs at once."""
    client = _connect(address)
    executor: Executor | None = None
    try:
        n_threads = sum(client.nthreads().values())
        if not n_threads:
            raise SweepError(
                f"The Dask cluster at {address} has no workers.\nStart some: dask worker {address}"
            )
        executor = client.get_executor(pure=False, retries=RETRIES)
        yield executor, n_threads
    finally:
        if executor is not None:
            executor.shutdown(wait=False)
        client.close()


def _connect(address: str) -> Any:
    if not re.fullmatch(ADDRESS, address):
        raise SweepError(f"{address!r} is not the address of a Dask scheduler.\n{REMEDY}")
    try:
        import distributed
    except ImportError:
        raise SweepError(
            "Dask is not installed.\nInstall the extra: pip install 'devote[cluster]'"
        ) from None
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
