"""A device as the proofs have it, with a clock and a network but no disk, for audits to watch.

It drives a scheme's ``Player`` as ``fleet`` does: a step is stored before anything is sent, what
is sent is sent again until it is acknowledged, a restart goes on from what was stored. When the
scheme asks for it (``reply_after``) what a play gives rise to leaves at a fixed time after the
choice. ``WatchedDevice`` is all that an audit needs of a device, so that the same audit watches
others: the real one, and broken ones.
"""

import json
import random
from typing import Protocol

from devote.protocol import ExperimentSpec, Message, restore_player

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
