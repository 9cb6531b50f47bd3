"""Processor time of a call, the best of several."""

import time
from collections.abc import Callable
from typing import Any


def seconds(call: Callable[[], Any]) -> float:
    """Processor time, which other programs on the machine do not lengthen by waiting."""
    begin = time.process_time()
    call()
    return time.process_time() - begin


def best(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The least time of each call; they take turns, so that a busy moment strikes all."""
    least = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            least[name] = min(least[name], seconds(call))
    return least
