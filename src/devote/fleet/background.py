"""An event loop in a thread of its own, for programs that have none."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class LoopThread:
    """A running event loop to hand coroutines to; ``stop`` ends it and all that runs on it.

    >>> thread = LoopThread()
    >>> thread.run(asyncio.sleep(0, "done"))
    'done'
    >>> thread.stop()
    """

    def __init__(self) -> None:
        self._ready = threading.Event()
        # A daemon: a program that forgets to close its device must still be able to end.
        self._thread = threading.Thread(target=self._main, name="devote-device", daemon=True)
        self._thread.start()
        self._ready.wait()

    def _main(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        self._ready.set()
        await self._stop.wait()

    @property
    def is_running(self) -> bool:
        """Whether coroutines can still be handed over."""
        return self._thread.is_alive()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop and wait for what it returns."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def stop(self) -> None:
        """End the loop and the thread."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()
