"""Everything of one device that goes over the wire while its user lives in one of two worlds.

When the user opens the app, what the network loses and when the process dies is the same in both
worlds: drawn at random, and no secret. Three of four acknowledgements are lost, so that messages
are sent again and again, as an adversary who holds the network would have it; and every second
device restarts once.
"""

import heapq
import json
import random
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache, cached_property
from typing import Any, Protocol, TypeAlias

from devote.protocol import ExperimentSpec, Message, restore_player

SOON = 1.0
"""Seconds from a choice to a click that comes at once."""

LATE = 0.8
"""How much of the time that a choice waits a late click lets pass."""


@dataclass(frozen=True)
class World:
    """Which arms a user clicks, None for all; and how soon, in parts of a choice's time.

    >>> World("clicks all", after=0.0).click(3, window=60.0)
    1.0
    >>> World("clicks arm 0", (0,)).click(3, window=60.0)
    """

    name: str
    arms: tuple[int, ...] | None = None
    after: float = 0.0

    def click(self, arm: int, window: float) -> float | None:
        """Seconds until a click on this arm, None if there is none."""
        if self.arms is not None and arm not in self.arms:
            return None
        return max(SOON, self.after * window)


@dataclass(frozen=True)
class Secret:
    """Two worlds that an adversary tries to tell apart."""

    name: str
    worlds: tuple[World, World]


NEVER = World("never clicks", ())
ALWAYS = World("clicks at once")
LATER = World("clicks late", after=LATE)
FIRST = World("clicks arm 0", (0,))
SECOND = World("clicks arm 1", (1,))

SECRETS = (
    Secret("does it click", (ALWAYS, NEVER)),
    Secret("how soon", (ALWAYS, LATER)),
    Secret("which arm", (FIRST, SECOND)),
    Secret("one arm or all", (FIRST, ALWAYS)),
)
"""What a device's messages might tell of its user."""


RETRY = 5.0
"""Mean seconds until a message that was not acknowledged is sent again."""


class WatchedDevice(Protocol):
    """What an audit asks of a device; ``now`` is the time in seconds."""

    def open(self, now: float) -> int | None:
        """The user comes. The arm of a new play; None while the last one is still shown."""

    def click(self, now: float) -> None:
        """The last play has paid 1; too late is no error."""

    def due(self) -> float | None:
        """When something is next to leave the device, None if nothing waits."""

    def leave(self, now: float) -> list[Message]:
        """What leaves now; each copy counts."""

    def settle(self, now: float, message: Message) -> None:
        """The board has acknowledged a message."""

    def restart(self, now: float) -> None:
        """The process dies and starts again."""


class SimulatedDevice:
    """The device of the proofs."""

    def __init__(self, spec: ExperimentSpec, dice: random.Random) -> None:
        self.spec = spec
        self.dice = dice
        self.player = spec.scheme.player(spec, "device")
        self.waiting: dict[Message, float] = {}
        """What has not been acknowledged, and when it leaves next."""
        self.reply_at: float | None = None
        """When what the present play gives rise to is to be sent."""
        self.heard: list[Message] = []

    def open(self, now: float) -> int | None:
        """A play, unless the last one waits for its moment; it ends the one before."""
        if self.reply_at is not None:
            return None
        self.end_play(now)
        arm = self.player.activate(self.dice.random(), self.dice.random())
        self.say(self.player.outgoing(), now)
        after = self.spec.scheme.sending.reply_after
        if after is not None:
            self.reply_at = now + after
        return arm

    def click(self, now: float) -> None:
        """What the play gives rise to waits for its moment, if the scheme has one."""
        if self.player.pending is not None:
            self.say(self.player.reward(1.0), now if self.reply_at is None else self.reply_at)

    def due(self) -> float | None:
        """The next moment of a reply or of a message."""
        if not self.waiting:
            return self.reply_at
        moment = min(self.waiting.values())
        return moment if self.reply_at is None else min(moment, self.reply_at)

    def leave(self, now: float) -> list[Message]:
        """Each message whose moment has come; it leaves again unless it is acknowledged."""
        if self.reply_at is not None and self.reply_at <= now:
            self.end_play(now)
            self.reply_at = None
        leaving = [message for message, moment in self.waiting.items() if moment <= now]
        for message in leaving:
            self.waiting[message] = now + self.dice.expovariate(1.0 / RETRY)
        return leaving

    def end_play(self, now: float) -> None:
        """No reward by now is a reward of 0."""
        if self.player.pending is not None:
            self.say(self.player.reward(0.0), now)

    def settle(self, now: float, message: Message) -> None:
        """It is on the board, where the device reads it if it reads messages."""
        self.waiting.pop(message, None)
        if not self.spec.scheme.about.reads_tally:
            self.player.receive(message)
            self.heard.append(message)

    def restart(self, now: float) -> None:
        """Everything that is stored comes back, and nothing else."""
        stored = json.loads(json.dumps(self.player.to_dict()))
        self.player = restore_player(self.spec, stored, self.heard)

    def say(self, messages: list[Message], moment: float) -> None:
        """Messages leave at this moment for the first time."""
        self.waiting |= dict.fromkeys(messages, moment)


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
