"""The server's log: a line of JSON for each event, with its reason and without anything of devices.

What is logged is what an operator does or must know: start, stop, open, close, revoke, delete,
tokens that were refused, a store that cannot be written. No request of a device is, and no address.
"""

import json
import logging
import re
import sys
import time
from collections.abc import Callable
from typing import IO, Any

from devote.boards.database import (
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
)
from devote.server.limits import RateLimit

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_CAUSES = {
    StoreFull: "disk_full",
    StoreBusy: "store_busy",
    StoreReadOnly: "store_read_only",
    StoreCorrupt: "store_damaged",
}


def printable(text: str) -> str:
    r"""A text with its control characters escaped, also those that turn the direction of writing.

    >>> printable("red\x1b[2K")
    'red\\u001b[2K'
    """
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def cause_of(problem: StoreError) -> str:
    """What is wrong with a store, in one word; its message names paths and addresses."""
    return _CAUSES.get(type(problem), "store_unavailable")


class EventLog(logging.Handler):
    """Writes events to a stream, by default standard error.

    As a handler it writes the warnings of uvicorn and asyncio, each at most once a minute. Warnings
    are the same if they begin alike and come from the same place: what stands further on is often
    an address in memory.
    """

    def __init__(
        self, stream: IO[str] | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(logging.WARNING)
        self.stream = stream
        self._limit = RateLimit(rate=1 / 60, burst=1.0, most=200, clock=clock)

    def write(self, event: str, **facts: Any) -> None:
        """Write one event."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        line = json.dumps({"time": moment, "event": event, **facts})
        print(printable(line), file=self.stream or sys.stderr, flush=True)

    def emit(self, record: logging.LogRecord) -> None:
        """Write a warning, unless the same was just written."""
        if not self._limit.wait(f"{record.name} {str(record.msg)[:60]}"):
            text = record.getMessage().partition("\n")[0]
            fault = type(record.exc_info[1]).__name__ if record.exc_info else None
            self.write("warning", source=record.name, text=text, fault=fault)

    def take_warnings(self) -> None:
        """Have the warnings of the server and its event loop written here."""
        for name in ("uvicorn.error", "asyncio"):
            logger = logging.getLogger(name)
            logger.handlers = [self]
            logger.propagate = False
