"""Launches that are recorded once and made again at next to no cost.

A launch through numba takes most of a millisecond, because it hands over some thirty arrays. A
graph of launches takes a few microseconds.
"""

from collections.abc import Callable
from typing import Any

from numba import cuda

from devote.simulate.engine.gpu.target import simulated


def recorded(launch: Callable[[Any], None]) -> Callable[[], None]:
    """What ``launch`` does on the stream that it is given, to be done again at each call.

    All kernels must have been launched before: nothing can be loaded while it is recorded.
    """
    if simulated():
        return lambda: launch(0)
    from cuda.bindings import driver

    def made(answer: Any) -> Any:
        error, *values = answer
        assert error == driver.CUresult.CUDA_SUCCESS, error
        return values[0] if values else None

    stream = cuda.stream()
    handle = driver.CUstream(int(stream.handle))
    how = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
    made(driver.cuStreamBeginCapture(handle, how))
    launch(stream)
    graph = made(driver.cuGraphInstantiate(made(driver.cuStreamEndCapture(handle)), 0))

    def again(stream: Any = stream) -> None:  # it keeps the stream alive
        made(driver.cuGraphLaunch(graph, handle))

    return again
