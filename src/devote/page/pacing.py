"""One answer for all who ask at the same time.

However many look, and however fast messages come, it is made at most every ``every`` seconds:
whoever comes sooner waits for that moment and gets the same one.
"""

import asyncio
from collections.abc import Awaitable, Callable

EVERY = 0.2


class Paced:
    """What ``make`` gives, never older than the question and not made too often."""

    def __init__(self, make: Callable[[], Awaitable[bytes]], every: float = EVERY) -> None:
        self._make = make
        self._every = every
        self._made = b""
        self._at = float("-inf")
        self._lock = asyncio.Lock()

    async def get(self) -> bytes:
        """The answer."""
        clock = asyncio.get_running_loop().time
        asked = clock()
        async with self._lock:
            if self._at < asked:
                await asyncio.sleep(self._at + self._every - asked)
                self._at = clock()
                self._made = await self._make()
            return self._made
