"""What a device knows: one record. Its store saves it, and only ``steps`` changes it.

The record holds everything that one device has in one experiment: the player, the plays it
remembers, how far the board has been read, and the outbox. What belongs to the running process
alone, and is worked out again after a restart, comes last in it and is not stored.

All moments are on one clock: seconds since 1970 as they were when the process started, plus what a
clock that never jumps has counted since. So a wall clock that is set changes nothing while the
process runs, and what is stored still means something after a restart (``steps.resume``).
"""

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


@dataclass(frozen=True, slots=True)
class Clock:
    """Where a device takes the time from."""

    wall: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic

    def start(self) -> Callable[[], float]:
        """The time from now on: it begins as the wall clock's, and never jumps."""
        offset, monotonic = self.wall() - self.monotonic(), self.monotonic
        return lambda: offset + monotonic()


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


_NAME, _ENTRY = 12, 14
"""The length of a play's name, and of it with the letter of its fate and a space."""

_LETTERS: dict[Fate, str] = {"pending": "P", "rewarded": "R", "expired": "X", "answered": "A"}
_FATES = {letter: fate for fate, letter in _LETTERS.items()}


@dataclass(frozen=True, slots=True)
class Plays:
    """The last plays, oldest first, and what became of each; only the last may be pending.

    A reward belongs to one play. A play that has expired is over, but its reward may still come,
    and must not be counted for the play that was chosen next. So a reward names its play. Without
    a name it is for the pending play, unless a play that is remembered has expired. The ``text``
    is what is stored.

    >>> plays = Plays().noted("9f3c00aa11bb", "pending").noted("9f3c00aa11bb", "rewarded")
    >>> plays.text, plays.fate("9f3c00aa11bb"), plays.pending
    ('9f3c00aa11bbR ', 'rewarded', None)
    """

    text: str = ""

    def __len__(self) -> int:
        return len(self.text) // _ENTRY

    @property
    def pending(self) -> str | None:
        """The play that awaits its reward."""
        is_pending = self.text.endswith("P ")
        return self.text[-_ENTRY:][:_NAME] if is_pending else None

    def fate(self, play: object) -> Fate | None:
        """What became of a play; None if it is not remembered."""
        at = self.text.find(play) if isinstance(play, str) and len(play) == _NAME else -1
        return None if at < 0 or at % _ENTRY else _FATES[self.text[at + _NAME]]

    def noted(self, play: str, fate: Fate) -> "Plays":
        """The same with what became of a play: a new one, or the last."""
        text = self.text.removesuffix(f"{play}P ") + f"{play}{_LETTERS[fate]} "
        return Plays(text[-KEPT_PLAYS * _ENTRY :])

    def check(self, choice: Choice | str | None, *, is_asked: bool) -> None:
        """Raise unless a reward for this choice is one for the pending play.

        ``is_asked``: the pending play is a question, for which no other's reward may count.
        """
        if choice is None:
            if "X" in self.text or (is_asked and "A" in self.text):
                raise UnclearReward(
                    "A play has expired and its reward may still come, so it is not clear which "
                    "play this one is for.\nPass what choose() gave: reward(x, choice)."
                )
            return
        fate = self.fate(choice.play if isinstance(choice, Choice) else choice)
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

    The board is not trusted. Messages are numbered 1, 2, 3, ..., and a bookmark moves on only over
    numbers that have all been read, so one that was left out is asked for again, with all that
    come after it. ``anchor`` is the last signatures up to there: reading on from before them shows
    whether the board is still the one that was read, or was restored from a backup and has gone on
    otherwise.
    """

    number: int = 0
    anchor: tuple[str, ...] = ()
    complete: bool = False

    @property
    def read_from(self) -> int:
        """What to pass as ``after``, so as to see the messages of the anchor again."""
        return self.number - len(self.anchor)

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
        found = {p.number: p for p in posted}
        number, passed = self.number, []
        while number + 1 in found:
            number += 1
            passed.append(found[number])
        anchor = (*self.anchor, *(p.envelope.signature for p in passed))[-KEPT_SIGNATURES:]
        complete = self.complete or (end is not None and number >= end)
        return Bookmark(number, anchor, complete), passed

    def holds(self, posted: Iterable[Posted]) -> bool:
        """Whether what was read before is where it was, in what was read from ``read_from``."""
        there = {p.number: p.envelope.signature for p in posted}
        return self.anchor == tuple(map(there.get, range(self.read_from + 1, self.number + 1)))


class Entry(NamedTuple):
    """A message in the outbox and what became of it.

    ``delivery`` is about the board there is now, ``has_left`` whether any board has acknowledged
    the message: one that a restored board has lost waits again, and has left all the same.
    It is not sent before ``leaves_at``. Nothing is ever removed, but for an answer that the board
    shows to be another one than was sent before.
    """

    envelope: Envelope
    delivery: Delivery = "waiting"
    has_left: bool = False
    leaves_at: float | None = None


@dataclass(eq=False, repr=False)
class Record:
    """One device in one experiment.

    ``scope`` is the board and the specification of the first join, for good. ``pending_at`` is
    when the pending arm was chosen and ``reply_at`` when its answer is to leave. ``outbox`` has
    every message that the device has produced, oldest first.

    Not stored: ``unread`` counts what was read of a board that has not been read to its end yet
    (None once it has); ``seen`` are the signatures of own messages that the board has shown;
    ``closes`` is when a reward for the last question is too late, whether it has come or not.
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
    closes: float | None = None

    def __repr__(self) -> str:
        return f"Record({self.address!r}, {self.spec.name!r})"
