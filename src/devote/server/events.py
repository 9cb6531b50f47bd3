"""The server's log: a line of JSON for each event, with its reason and without anything of devices.

What is logged is what an operator does or must know: start, stop, open, close, revoke, delete,
tokens that were refused, a store that cannot be written. No request of a device is, and no address.
"""

import json
import logging
import sys
import time
from collections import OrderedDict
from typing import IO, Any

EVERY = 60.0
"""Seconds for which a warning of the libraries is not written again."""


class EventLog:
    """Writes events to a stream, by default standard error."""

    def __init__(self, stream: IO[str] | None = None) -> None:
        self._stream = stream

    def write(self, event: str, **facts: Any) -> None:
        """Write one event."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        line = json.dumps({"time": moment, "event": event, **facts})
        print(line, file=self._stream or sys.stderr, flush=True)


class Warnings(logging.Handler):
    """Writes the warnings of uvicorn and asyncio as events, each once a minute, with a count.

    Warnings are the same if they begin alike and come from the same place: what stands further on
    is often an address in memory.
    """

    def __init__(self, log: EventLog) -> None:
        super().__init__(logging.WARNING)
        self._log = log
        self._seen: OrderedDict[tuple[str, str], tuple[float, int]] = OrderedDict()

    def emit(self, record: logging.LogRecord) -> None:
        """Write a warning, unless the same was just written."""
        text = record.getMessage().partition("\n")[0]
        key = (record.name, str(record.msg)[:60])
        since, count = self._seen.pop(key, (float("-inf"), 0))
        if record.created - since < EVERY:
            self._seen[key] = since, count + 1
            return
        self._seen[key] = record.created, 0
        if len(self._seen) > 200:
            self._seen.popitem(last=False)
        fault = type(record.exc_info[1]).__name__ if record.exc_info else None
        self._log.write(
            "warning", source=record.name, text=text, fault=fault, repeated=count or None
        )


def log_warnings(log: EventLog) -> None:
    """Have the warnings of the server and its event loop written as events."""
    for name in ("uvicorn.error", "asyncio"):
        logger = logging.getLogger(name)
        logger.handlers = [each for each in logger.handlers if not isinstance(each, Warnings)]
        logger.addHandler(Warnings(log))
        logger.propagate = False
