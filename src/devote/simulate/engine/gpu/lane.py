"""A lane of the device: launches that are made in order, beside those of other lanes.

A launch through numba takes most of a millisecond, because it hands over some thirty arrays. One
that is recorded once is made again in a few microseconds.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import cache, partial
from threading import Lock
from typing import Any

import numpy as np
from numba import cuda

from devote.simulate.engine.gpu.target import simulated
from devote.simulate.scenario import Scenario


def _made(answer: Any) -> Any:
    """What a call of the driver gives."""
    error, *values = answer
    assert int(error) == 0, error
    return values[0] if values else None


@cache
def lane(number: int) -> "Lane":
    """One of those that are used again and again."""
    return Lane()


class Pool:
    """A piece of the device's memory that is handed out: to ask for more, all lanes would wait.

    Once it is ``closed``, nobody waits for an answer any more.
    """

    def __init__(self, size: int) -> None:
        self.closed = False
        self._size = size
        self._promised = self._used = 0
        self._memory = cuda.device_array(max(size, 1), np.uint8)
        self._lock = Lock()

    def promises(self, size: int) -> bool:
        """Whether so much is kept, which it is if there is room or nothing has been promised."""
        if self._promised and self._promised + size > self._size:
            return False
        self._promised += size
        return True

    def take(self, size: int) -> Any:
        """So many bytes; from outside, if they are more than there are."""
        with self._lock:
            begin, end = self._used, self._used + size
            if end <= self._size:
                self._used = end
                return self._memory[begin:end]
        return cuda.device_array(size, np.uint8)


class InLane(ABC):
    """Some trials of one scenario, all at once, in a lane."""

    def __init__(
        self,
        scenario: Scenario,
        *,
        seed: int = 0,
        trials: Sequence[int] = (0,),
        lane: "Lane | None" = None,
    ) -> None:
        self.scenario = scenario
        self.lane = lane or Lane()
        self._make(seed, trials)

    @abstractmethod
    def _make(self, seed: int, trials: Sequence[int]) -> None:
        """Put everything on the device."""


class Lane:
    """A stream that waits for no other, and one byte of the device that can be asked for."""

    pool: Pool | None = None
    """Where its batches take memory from, if not where everybody does."""

    def __init__(self) -> None:
        self.stream: Any = 0
        self._handle: Any = None
        self._answered: Any = None
        self._answer: Any = np.zeros(1, dtype=np.int8)
        if not simulated():
            from cuda.bindings import driver

            flag = driver.CUstream_flags.CU_STREAM_NON_BLOCKING
            self._handle = _made(driver.cuStreamCreate(int(flag)))
            self.stream = cuda.external_stream(int(self._handle))
            self._answer = cuda.pinned_array(1, dtype=np.int8)
            flags = driver.CUevent_flags
            how = int(flags.CU_EVENT_BLOCKING_SYNC) | int(flags.CU_EVENT_DISABLE_TIMING)
            self._answered = _made(driver.cuEventCreate(how))

    def ask(self, busy: Any) -> None:
        """Ask for a byte, once all launches so far are done."""
        busy.copy_to_host(self._answer, stream=self.stream)
        if not simulated():
            from cuda.bindings import driver

            _made(driver.cuEventRecord(self._answered, self._handle))

    @property
    def answer(self) -> int:
        """The byte, which is waited for: in a pool asleep, since others have work to do."""
        if self.pool is None and not simulated():
            self.stream.synchronize()
        elif not simulated():
            from cuda.bindings import driver

            _made(driver.cuEventSynchronize(self._answered))
        if self.pool is not None and self.pool.closed:
            raise CancelledError
        return int(self._answer[0])

    @contextmanager
    def of(self, pool: Pool) -> Iterator[None]:
        """Work in this thread, with memory of a pool."""
        if not simulated():
            cuda.current_context()
        self.pool = pool
        try:
            yield
        finally:
            self.pool = None

    def memory(self, size: int) -> Any:
        """So many bytes of the device."""
        return self.pool.take(size) if self.pool else cuda.device_array(size, np.uint8)

    def fetch(self, array: Any) -> Any:
        """An array of the device here."""
        here = array.copy_to_host(stream=self.stream)
        if not simulated():
            self.stream.synchronize()
        return here

    def record(self, *launches: Callable[[Any], None]) -> list[Callable[[], None]]:
        """What each of ``launches`` does on the stream that it is given, to be done at each call.

        All kernels must have been launched before: nothing can be loaded while it is recorded.
        """
        if simulated():
            return [partial(launch, 0) for launch in launches]
        return [self._record(launch) for launch in launches]

    def _record(self, launch: Callable[[Any], None]) -> Callable[[], None]:
        from cuda.bindings import driver

        how = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        _made(driver.cuStreamBeginCapture(self._handle, how))
        launch(self.stream)
        graph = _made(driver.cuStreamEndCapture(self._handle))
        ready = _made(driver.cuGraphInstantiate(graph, 0))
        return lambda: _made(driver.cuGraphLaunch(ready, self._handle))
