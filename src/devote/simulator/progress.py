"""How far a run has come, on one line of a terminal."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

Progress: TypeAlias = Callable[[int, int, str], None]
"""Called with the number of finished trials, of all trials, and the label of a cell."""

DELAY = 1.0
"""Seconds before anything is shown: a short run shows nothing."""

EVERY = 0.1
WIDTH = 79


@contextmanager
def progress_line(wanted: Progress | bool | None) -> Iterator[Progress]:
    """The function to report progress to: the one given, or for True a line in the terminal."""
    if callable(wanted):
        yield wanted
    elif not wanted or not sys.stderr.isatty():
        yield lambda done, total, label: None
    else:
        line = _Line()
        try:
            yield line
        finally:
            line.clear()


class _Line:
    def __init__(self) -> None:
        self._begin = self._due = time.monotonic() + DELAY
        self._shown = False

    def __call__(self, done: int, total: int, label: str) -> None:
        now = time.monotonic()
        if now < self._due:
            return
        self._due, self._shown = now + EVERY, True
        left = (now - self._begin + DELAY) / max(done, 1) * (total - done)
        text = f"{done:,} of {total:,} trials, about {left:,.0f} s left  {label}"
        sys.stderr.write(f"\r{text[:WIDTH]:<{WIDTH}}")
        sys.stderr.flush()

    def clear(self) -> None:
        """Leave the line empty."""
        if self._shown:
            sys.stderr.write("\r" + " " * WIDTH + "\r")
            sys.stderr.flush()
