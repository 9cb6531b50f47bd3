"""Everything of one device that goes over the wire while its user lives in one of two worlds.

When the user opens the app, what the network loses and when the process dies is the same in both
worlds: drawn at random, and no secret. Three of four acknowledgements are lost, so that messages
are sent again and again, as an adversary who holds the network would have it; and every second
device restarts once.
"""

import heapq
import random
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache, cached_property
from typing import Any, TypeAlias

from devote.audit.device import WatchedDevice
from devote.audit.worlds import World
from devote.protocol import ExperimentSpec, Message

LOSS = 0.75
RESTARTS = 0.5
WINDOW = 60.0
"""Seconds that a play waits for its click, for a scheme without ``reply_after``."""

BETWEEN = (0.05, 0.65)
"""From one open to the next, in parts of a play's time: often while the last play waits."""

AFTERWARDS = 3
"""How often the app is opened after the device has said all it has to say."""

Make: TypeAlias = Callable[[ExperimentSpec, random.Random], WatchedDevice]


@dataclass(frozen=True, slots=True)
class Copy:
    """One copy of a message as it leaves: when, its kind, and the numbers in it."""

    time: float
    kind: str
    numbers: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Wire:
    """What an adversary sees of one device: when its app was opened, and every copy that left."""

    opens: tuple[float, ...]
    copies: tuple[Copy, ...]

    @cached_property
    def messages(self) -> dict[tuple[str, tuple[int, ...]], Copy]:
        """The first copy of each message, by its contents."""
        return {(copy.kind, copy.numbers): copy for copy in reversed(self.copies)}

    @cached_property
    def firsts(self) -> list[Copy]:
        """The first copy of each message, in the order in which they left."""
        return sorted(self.messages.values(), key=lambda copy: copy.time)

    def since_open(self, copy: Copy) -> float:
        """Seconds from the last open before it."""
        return copy.time - self.opens[bisect_right(self.opens, copy.time) - 1]

    def opens_before(self, copy: Copy) -> int:
        """How often the app had been opened."""
        return bisect_right(self.opens, copy.time)


def opens_needed(spec: ExperimentSpec) -> int:
    """How often an app is opened until its device has said all it has to say, and some more.

    >>> opens_needed(ExperimentSpec(arms=3, scheme="survey"))
    9
    """
    scheme: Any = spec.scheme
    speaks = getattr(scheme, "vote_after", None) or 6 * getattr(scheme, "answers", 1)
    return int(speaks) + AFTERWARDS


def watch(spec: ExperimentSpec, world: World, make: Make, seed: str) -> Wire:
    """One device, from its first open until everything it says has been acknowledged."""
    dice = random.Random(seed)
    device = make(spec, random.Random(f"{seed}/device"))
    window = spec.scheme.sending.reply_after or WINDOW
    opens, now = [], 0.0
    for _ in range(opens_needed(spec)):
        now += window * dice.uniform(*BETWEEN)
        opens.append(now)
    # (when, tie-breaker, what); a click carries the number of the open it answers.
    agenda: list[tuple[float, int, str]] = [(at, i, "open") for i, at in enumerate(opens)]
    if dice.random() < RESTARTS:
        agenda.append((dice.uniform(opens[0], now), -1, "restart"))
    heapq.heapify(agenda)
    copies: list[Copy] = []
    shown = -1
    while True:
        due = device.due()
        if due is not None and (not agenda or due <= agenda[0][0]):
            for message in device.leave(due):
                copies.append(_copy(due, message))
                if dice.random() >= LOSS:
                    device.settle(due, message)
            continue
        if not agenda:
            return Wire(tuple(opens), tuple(copies))
        now, number, what = heapq.heappop(agenda)
        if what == "restart":
            device.restart(now)
        elif what == "click":
            if number == shown:
                device.click(now)
        elif (arm := device.open(now)) is not None:
            shown = number
            wait = world.click(arm, window)
            if wait is not None:
                heapq.heappush(agenda, (now + wait, number, "click"))


def _copy(time: float, message: Message) -> Copy:
    kind, names = _form(type(message))
    return Copy(time, kind, tuple(getattr(message, name) for name in names))


@cache
def _form(form: type) -> tuple[str, tuple[str, ...]]:
    """The kind of a message, and the names of the numbers in it."""
    names = [item.name for item in fields(form)]
    return form.__name__.lower(), tuple(n for n in names if n not in ("experiment", "voter"))
