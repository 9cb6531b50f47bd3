"""What a device has chosen, and whether a reward may still be counted for it.

A reward belongs to one play. A play that has expired is over, but its reward may still come,
and must not be counted for the play that was chosen next. So a reward names its play. Without
a name it is for the pending play, unless a play that is remembered has expired.
"""

import json
import os
from typing import Literal, TypeAlias

from devote.fleet.errors import LateReward, RepeatedReward, UnclearReward, UnknownPlay

Fate: TypeAlias = Literal["pending", "rewarded", "expired", "answered"]
"""``answered``: the answer to a question is made, with a reward or because none came in time;
which of the two is not kept.
"""

KEPT = 100
"""How many plays are remembered, the latest."""


def new_play() -> str:
    """A text that no other play has; random, so that a play lost in a power cut stays lost."""
    return os.urandom(6).hex()


class Choice(int):
    """One play of one arm. It is the arm's number, so it indexes and compares as one.

    ``name`` is the arm's name. ``play`` tells this play from all others, also from other plays
    of the same arm: a random text of no meaning, which may travel with what is shown and be
    given to ``reward`` in place of the choice.

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


def _text(play: str, fate: Fate) -> str:
    """One of them in the text of all; ``new_play`` has nothing that JSON would escape."""
    return f'"{play}": "{fate}"'


class Plays:
    """The last plays, oldest first, and what became of each; only the last may be pending."""

    def __init__(self, fates: dict[str, Fate]) -> None:
        self._fates = fates
        self._text = json.dumps(fates)[1:-1]

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
            text = text.removesuffix(_text(play, known))
        elif text:
            text += ", "
        self._fates[play] = fate
        text += _text(play, fate)
        if len(self._fates) > KEPT:
            oldest = next(iter(self._fates))
            text = text.removeprefix(_text(oldest, self._fates.pop(oldest)) + ", ")
        self._text = text
        return "{" + text + "}"

    def check(self, choice: Choice | str | None, *, is_asked: bool = False) -> None:
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
                f"This is none of the last {KEPT} plays of this device.\n"
                "Pass what choose() or pending() gave, or its text .play."
            )
