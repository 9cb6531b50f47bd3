"""Launches that are recorded once and made again at next to no cost.

A launch through numba takes most of a millisecond, because it hands over some thirty arrays. A
graph of launches takes a few microseconds.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from numba import cuda

from devote.simulate.engine.gpu.target import simulated


def recorded(*launches: Callable[[Any], None]) -> list[Callable[[], None]]:
    """What each of ``launches`` does on the stream that it is given, to be done again at each call.

    They share a stream, so that they are done in the order of the calls. All kernels must have been
    launched before: nothing can be loaded while it is recorded.
    """
    if simulated():
        return [partial(launch, 0) for launch in launches]
    from cuda.bindings import driver

    def made(answer: Any) -> Any:
        error, *values = answer
        assert error == driver.CUresult.CUDA_SUCCESS, error
        return values[0] if values else None

    stream = cuda.stream()
    handle = driver.CUstream(int(stream.handle))
    how = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED

    def record(launch: Callable[[Any], None]) -> Callable[[], None]:
        made(driver.cuStreamBeginCapture(handle, how))
        launch(stream)
        graph = made(driver.cuGraphInstantiate(made(driver.cuStreamEndCapture(handle)), 0))

        def again(stream: Any = stream) -> None:  # it keeps the stream alive
            made(driver.cuGraphLaunch(graph, handle))

        return again

    return [record(launch) for launch in launches]
