"""What a device knows: one record. Its store saves it, and only ``steps`` changes it.

The record holds everything that one device has in one experiment: the player, the plays it
remembers, how far the board has been read, and the outbox. What belongs to the running process
alone, and is worked out again after a restart, comes last in it and is not stored.
"""

import json
import math
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias, get_args

from devote.boards.board import Envelope, Posted
from devote.boards.identity import Identity
from devote.device.errors import (
    DeviceError,
    LateReward,
    RepeatedReward,
    UnclearReward,
    UnknownPlay,
)
from devote.protocol import ExperimentSpec, Message, Player
from devote.protocol.scheme import Tally
from devote.protocol.wire import Scope

OnExpire: TypeAlias = Literal["drop", "zero"]

Fate: TypeAlias = Literal["pending", "rewarded", "expired", "answered"]
"""``answered``: the answer to a question is made, with a reward or because none came in time;
which of the two is not kept.
"""

Delivery: TypeAlias = Literal["waiting", "sent", "refused"]

KEPT_PLAYS = 100
"""How many plays are remembered, the latest."""

KEPT_SIGNATURES = 16
"""Signatures a bookmark remembers: the same ones, in the same order, will not come by chance."""


class Now(NamedTuple):
    """The time of an event: seconds since 1970, and seconds on a clock that never jumps.

    Moments are compared on the monotonic clock, so a wall clock that jumps changes nothing while
    the process runs. What is stored is on the wall clock, because nothing else survives a restart.
    """

    wall: float
    monotonic: float


@dataclass(frozen=True, slots=True)
class Clock:
    """Where a device takes the time from."""

    wall: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic

    def now(self) -> Now:
        """The time by both."""
        return Now(self.wall(), self.monotonic())


@dataclass(frozen=True, slots=True)
class Expiry:
    """After ``after`` seconds a pull is dropped as if it had not been, or counts as a reward of 0.

    ``zero`` suits rewards that can only be seen to come (a click); ``drop`` suits a reward that
    got lost. Without ``after`` a pull waits for ever. A pull is looked at when the next arm is
    asked for: a late reward that comes before that still counts, one that comes after is refused.

    >>> Expiry(after=30.0, on_expire="zero").is_due(age=31.0)
    True
    """

    after: float | None = None
    on_expire: OnExpire = "drop"

    def __post_init__(self) -> None:
        if self.on_expire not in get_args(OnExpire):
            raise DeviceError(
                f"on_expire={self.on_expire!r} must be 'drop' or 'zero'.\n"
                "'drop' forgets the pull, 'zero' counts it as a reward of 0."
            )
        if self.after is not None and not self.after > 0.0:
            raise DeviceError(
                f"expire_after={self.after!r} must be more than 0 seconds.\n"
                "Leave it out for pulls that wait for ever."
            )

    def check(self, reply_after: float | None) -> None:
        """Refuse to wait for rewards for longer than the scheme does."""
        if self.after is not None and reply_after is not None and self.after > reply_after:
            raise DeviceError(
                f"expire_after={self.after:g} is longer than reply_after={reply_after:g} of this "
                "experiment, after which a reward that has not come counts as 0.\n"
                f"Use at most {reply_after:g} seconds, or leave expire_after out."
            )

    def is_due(self, age: float) -> bool:
        """Whether a pull of this age has expired."""
        return self.after is not None and age >= self.after


class Choice(int):
    """One play of one arm. It is the arm's number, so it indexes and compares as one.

    ``name`` is the arm's name. ``play`` tells this play from all others, also from other plays
    of the same arm: a random text of no meaning, which may travel with what is shown and be
    given to ``reward`` in place of the choice. It is empty if nothing is learned from this one,
    because the experiment has not been joined yet.

    >>> choice = Choice(1, name="green", play="9f3c")
    >>> ("red", "green")[choice], choice == 1, choice.name
    ('green', True, 'green')
    """

    name: str
    play: str

    def __new__(cls, arm: int, name: str, play: str) -> "Choice":
        """A play of ``arm``; only a device makes one that it knows."""
        choice = super().__new__(cls, arm)
        choice.name = name
        choice.play = play
        return choice

    @property
    def arm(self) -> int:
        """The arm's number, as a plain one."""
        return int(self)

    def __getnewargs__(self) -> tuple[int, str, str]:  # type: ignore[override]
        return int(self), self.name, self.play

    def __repr__(self) -> str:
        return f"Choice({int(self)}, name={self.name!r}, play={self.play!r})"

    __str__ = int.__repr__


def new_play() -> str:
    """A text that no other play has; random, so that a play lost in a power cut stays lost."""
    return os.urandom(6).hex()


def _pair(play: str, fate: Fate) -> str:
    """A play and its fate in JSON; ``new_play`` has nothing that JSON would escape."""
    return f'"{play}": "{fate}"'


class Plays:
    """The last plays, oldest first, and what became of each; only the last may be pending.

    A reward belongs to one play. A play that has expired is over, but its reward may still come,
    and must not be counted for the play that was chosen next. So a reward names its play. Without
    a name it is for the pending play, unless a play that is remembered has expired.
    """

    def __init__(self, fates: dict[str, Fate]) -> None:
        self._fates = fates
        self._text = json.dumps(fates)[1:-1]

    def __len__(self) -> int:
        return len(self._fates)

    @property
    def pending(self) -> str | None:
        """The play that awaits its reward."""
        last = next(reversed(self._fates), None)
        return last if last is not None and self._fates[last] == "pending" else None

    def note(self, play: str, fate: Fate) -> str:
        """Remember what became of a play; returns all of them as JSON, which is to be stored."""
        # One of a hundred changes, the last: the text of the others is not made anew.
        known, text = self._fates.get(play), self._text
        if known is not None:
            text = text.removesuffix(_pair(play, known))
        elif text:
            text += ", "
        self._fates[play] = fate
        text += _pair(play, fate)
        if len(self._fates) > KEPT_PLAYS:
            oldest = next(iter(self._fates))
            text = text.removeprefix(_pair(oldest, self._fates.pop(oldest)) + ", ")
        self._text = text
        return "{" + text + "}"

    def check(self, choice: Choice | str | None, *, is_asked: bool) -> None:
        """Raise unless a reward for this choice is one for the pending play.

        ``is_asked``: the pending play is a question, for which no other's reward may count.
        """
        if choice is None:
            others = ("expired", "answered") if is_asked else ("expired",)
            if any(fate in others for fate in self._fates.values()):
                raise UnclearReward(
                    "A play has expired and its reward may still come, so it is not clear which "
                    "play this one is for.\nPass what choose() gave: reward(x, choice)."
                )
            return
        play = choice.play if isinstance(choice, Choice) else choice
        fate = self._fates.get(play) if isinstance(play, str) else None
        if fate == "expired":
            raise LateReward(
                "This reward came too late: its play had expired and is not pending any more. "
                "It is not counted.\nUse a longer expire_after if such rewards are to count."
            )
        if fate == "answered":
            raise LateReward(
                "This play is answered for: it has had its reward, or none came in time, which "
                "is a reward of 0. This one is not counted.\nThere is nothing left to do."
            )
        if fate == "rewarded":
            raise RepeatedReward(
                "This play has had its reward, which counts once.\nThere is nothing left to do."
            )
        if fate is None:
            raise UnknownPlay(
                f"This is none of the last {KEPT_PLAYS} plays of this device.\n"
                "Pass what choose() or pending() gave, or its text .play."
            )


@dataclass(frozen=True, slots=True)
class Bookmark:
    """How far the board has been read: all up to ``number``; ``complete`` once to its end.

    The board is not trusted to hand messages over in order. They are numbered 1, 2, 3, ..., and a
    bookmark moves on only over numbers that have all been read, so one that was left out is asked
    for again. ``ahead`` are messages above ``number`` that came before their turn. ``anchor`` is
    the last signatures up to there: reading on from before them shows whether the board is still
    the one that was read, or was restored from a backup and has gone on otherwise.
    """

    number: int = 0
    anchor: tuple[str, ...] = ()
    complete: bool = False
    ahead: tuple[Posted, ...] = ()

    def read_from(self, *, verify_history: bool) -> int:
        """What to pass as ``after``, so as to see the last message, or all remembered, again."""
        return self.number - (len(self.anchor) if verify_history else min(1, self.number))

    def moved(
        self, posted: Iterable[Posted], end: int | None = None
    ) -> tuple["Bookmark", list[Posted]]:
        """The bookmark after reading these, and the messages it has moved over, in their order.

        ``end`` is given if the board was read up to that number.

        >>> from devote.schemes import Vote
        >>> third = Posted(3, Envelope(Vote("demo", 0, 1, "a"), "c3"))
        >>> bookmark, passed = Bookmark(number=1, anchor=("a1",)).moved([third], end=3)
        >>> bookmark.number, bookmark.complete, passed
        (1, False, [])
        """
        ahead = {p.number: p for p in (*self.ahead, *posted) if p.number > self.number}
        passed: list[Posted] = []
        while (number := self.number + len(passed) + 1) in ahead:
            passed.append(ahead.pop(number))
        anchor = (*self.anchor, *(p.envelope.signature for p in passed))[-KEPT_SIGNATURES:]
        number = self.number + len(passed)
        complete = self.complete or (end is not None and number >= end)
        return Bookmark(number, anchor, complete, tuple(ahead.values())), passed

    def holds(self, posted: Iterable[Posted], *, verify_history: bool) -> bool:
        """Whether what was read before is where it was, in what was read from ``read_from``."""
        there = {p.number: p.envelope.signature for p in posted}
        after = self.read_from(verify_history=verify_history)
        read = tuple(map(there.get, range(after + 1, self.number + 1)))
        return read == self.anchor[len(self.anchor) - len(read) :]


class Entry(NamedTuple):
    """A message in the outbox and what became of it.

    ``delivery`` is about the board there is now, ``has_left`` whether any board has acknowledged
    the message: one that a restored board has lost waits again, and has left all the same.
    ``leaves_at`` is before when it must not be sent, by the wall clock. Nothing is ever removed,
    but for an answer that the board shows to be another one than was sent before.
    """

    envelope: Envelope
    delivery: Delivery = "waiting"
    has_left: bool = False
    leaves_at: float | None = None


@dataclass
class Timing:
    """Moments on the monotonic clock, for as long as the process runs.

    ``pending_since`` is when the pending arm was chosen, ``closes`` when a reward for the open
    question is too late, ``leaves`` when its answer is sent, and ``held`` the same of answers that
    are made already, by their signatures.
    """

    pending_since: float = 0.0
    closes: float = -math.inf
    leaves: float = -math.inf
    held: dict[str, float] = field(default_factory=dict)


@dataclass(eq=False, repr=False)
class Record:
    """One device in one experiment.

    ``scope`` is the board and the specification of the first join, for good. ``pending_at`` is
    when the pending arm was chosen and ``reply_at`` when its answer is to leave, by the wall
    clock. ``outbox`` has every message that the device has produced, oldest first.

    Not stored: ``unread`` counts what was read of a board that has not been read to its end yet
    (None once it has); ``seen`` are the signatures of own messages that the board has shown;
    ``must_recall``: the store may be an older copy of itself, and the board is to be asked what it
    holds of this device before anything is sent.
    """

    address: str
    scope: Scope
    spec: ExperimentSpec
    players: int | None
    identity: Identity
    player: Player
    plays: Plays
    bookmark: Bookmark
    outbox: dict[Message, Entry]
    pending_at: float | None = None
    reply_at: float | None = None

    unread: Tally | None = None
    seen: set[str] = field(default_factory=set)
    timing: Timing = field(default_factory=Timing)
    must_recall: bool = False

    def __repr__(self) -> str:
        return f"Record({self.address!r}, {self.spec.name!r})"
