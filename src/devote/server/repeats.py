"""A log in which a line that comes again and again is written once, and then counted."""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable

EVERY = 60.0
"""Seconds for which a line is not written again."""

KEPT = 200
"""Different lines that are remembered."""


class Repeats(logging.Filter):
    """Lets a line through once a minute, with how many more there were in the meantime.

    Lines are the same if they begin alike and come from the same place: what stands further on is
    often an address in memory.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._seen: OrderedDict[tuple[str, int, str], tuple[float, int]] = OrderedDict()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a line is to be written; it is told how often it came."""
        key = (record.name, record.levelno, str(record.msg).partition("\n")[0][:60])
        now = self._clock()
        since, count = self._seen.pop(key, (float("-inf"), 0))
        if now - since < EVERY:
            self._seen[key] = since, count + 1
            return False
        self._seen[key] = now, 0
        if len(self._seen) > KEPT:
            self._seen.popitem(last=False)
        if count:
            record.msg = f"{record.getMessage()} ({count:,} more times before)"
            record.args = None
        return True


def count_repeats() -> None:
    """Have the logs of the server and its event loop count what repeats."""
    for name in ("uvicorn.error", "asyncio"):
        logger = logging.getLogger(name)
        if not any(isinstance(each, Repeats) for each in logger.filters):
            logger.addFilter(Repeats())
