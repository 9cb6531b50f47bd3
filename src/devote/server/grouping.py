"""Writes that wait for the disk together.

While one group is being written, what comes meanwhile waits and becomes the next group: so the
slower the disk, the larger the groups, and nobody waits for more than two of them.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

A = TypeVar("A")
R = TypeVar("R")

MOST = 1_000
"""At most so many are written at once: whoever reads waits for that long."""


class Grouped(Generic[A, R]):
    """Hands what is asked for to ``work`` in groups, in the order in which it came.

    ``work`` runs in a thread and gives one result for each; what it raises, all of its group get.
    ``call`` has it run there.
    """

    def __init__(
        self,
        work: Callable[[Sequence[A]], Sequence[R]],
        most: int = MOST,
        call: Callable[..., Awaitable[Sequence[R]]] = asyncio.to_thread,
    ) -> None:
        self._work = work
        self._call = call
        self._most = most
        self._waiting: list[tuple[A, asyncio.Future[R]]] = []
        self._running: asyncio.Task[None] | None = None

    async def do(self, item: A) -> R:
        """Have one thing done, and wait for it."""
        future: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, future))
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._run())
        return await future

    async def _run(self) -> None:
        while self._waiting:
            group, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
            futures = [future for _, future in group]
            try:
                results = await self._call(self._work, [item for item, _ in group])
            except Exception as error:
                for future in futures:
                    if not future.done():
                        future.set_exception(error)
            else:
                for future, result in zip(futures, results, strict=True):
                    if not future.done():  # nobody may wait any more
                        future.set_result(result)
