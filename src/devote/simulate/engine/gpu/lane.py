"""A lane of the device: launches that are made in order, beside those of other lanes.

A launch through numba takes most of a millisecond, because it hands over some thirty arrays. One
that is recorded once is made again in a few microseconds.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from numba import cuda

from devote.simulate.engine.gpu.target import simulated

ASKED = 2
"""In place of an answer that has not come yet."""


def _made(answer: Any) -> Any:
    """What a call of the driver gives."""
    error, *values = answer
    assert int(error) == 0, error
    return values[0] if values else None


@cache
def lane(number: int) -> "Lane":
    """One of those that are used again and again."""
    return Lane()


class Lane:
    """A stream that waits for no other, and one byte of the device that can be asked for."""

    def __init__(self) -> None:
        self.stream: Any = 0
        self._handle: Any = None
        self._answer: Any = np.zeros(1, dtype=np.int8)
        if not simulated():
            from cuda.bindings import driver

            flag = driver.CUstream_flags.CU_STREAM_NON_BLOCKING
            self._handle = _made(driver.cuStreamCreate(int(flag)))
            self.stream = cuda.external_stream(int(self._handle))
            self._answer = cuda.pinned_array(1, dtype=np.int8)

    def ask(self, busy: Any) -> None:
        """Ask for a byte, once all launches so far are done."""
        self._answer[0] = ASKED
        busy.copy_to_host(self._answer, stream=self.stream)

    @property
    def answered(self) -> bool:
        """Whether the byte has come."""
        return bool(self._answer[0] != ASKED)

    @property
    def answer(self) -> int:
        """The byte, which is waited for."""
        if not self.answered:
            self.stream.synchronize()
        return int(self._answer[0])

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
