"""How far the board has been read, without trusting it to hand things over in order.

Messages on a board are numbered 1, 2, 3, ... A bookmark moves on only over numbers that have all
been read, so a message that was skipped on the way is asked for again. It remembers the last
signatures up to its number: reading on from before them shows whether the board is still the one
that was read, or has been put back to a backup and gone on otherwise.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from devote.boards.board import Posted

REMEMBERED = 16
"""Signatures a bookmark remembers: the same ones, in the same order, will not come by chance."""


@dataclass(frozen=True, slots=True)
class Bookmark:
    """Everything up to ``number`` has been read; ``complete`` once the end has been seen.

    ``anchor`` is the last signatures up to there, ``ahead`` the messages above that came before
    their turn.
    """

    number: int = 0
    anchor: tuple[str, ...] = ()
    complete: bool = False
    ahead: tuple[Posted, ...] = ()

    def read_from(self, *, deep: bool) -> int:
        """What to pass as ``after``, so as to see the last message, or all remembered, again."""
        return self.number - (len(self.anchor) if deep else min(1, self.number))

    def moved(
        self, posted: Iterable[Posted], end: int | None = None
    ) -> tuple["Bookmark", list[Posted]]:
        """The bookmark after reading these, and the messages it has moved over, in their order.

        ``end`` is given if the board was read up to that number.

        >>> from devote.boards.board import Envelope
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
        anchor = (*self.anchor, *(p.envelope.signature for p in passed))[-REMEMBERED:]
        number = self.number + len(passed)
        complete = self.complete or (end is not None and number >= end)
        return Bookmark(number, anchor, complete, tuple(ahead.values())), passed

    def holds(self, posted: Iterable[Posted], *, deep: bool) -> bool:
        """Whether what was read before is where it was, in what was read from ``read_from``."""
        there = {p.number: p.envelope.signature for p in posted}
        after = self.read_from(deep=deep)
        read = tuple(map(there.get, range(after + 1, self.number + 1)))
        return read == self.anchor[len(self.anchor) - len(read) :]
