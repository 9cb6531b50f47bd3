"""How far the board has been read, without trusting it to hand things over in order.

Messages on a board are numbered 1, 2, 3, ... A bookmark moves on only over numbers that have all
been read, so a message that was skipped on the way is asked for again. It remembers the
signature at its number: reading on from just before it shows whether the board is still the one
that was read, or has lost what it had (a backup, another file).
"""

from collections.abc import Iterable
from dataclasses import dataclass

from devote.boards.board import Posted


@dataclass(frozen=True, slots=True)
class Bookmark:
    """Everything up to ``number`` has been read; ``complete`` once the end has been seen.

    ``ahead`` are the numbers above, with their signatures, that came before their turn.
    """

    number: int = 0
    anchor: str = ""
    complete: bool = False
    ahead: tuple[tuple[int, str], ...] = ()

    @property
    def read_from(self) -> int:
        """What to pass as ``after``, so that the last message read is seen once more."""
        return max(0, self.number - 1)

    def moved(self, posted: Iterable[Posted], end: int | None = None) -> "Bookmark":
        """The bookmark after reading these; ``end`` if the board was read up to that number.

        >>> from devote.boards.board import Envelope
        >>> from devote.protocol import Vote
        >>> third = Posted(3, Envelope(Vote("demo", 0, 1, "a"), "c3"))
        >>> Bookmark(number=1, anchor="a1").moved([third], end=3).complete
        False
        """
        ahead = dict(self.ahead)
        ahead.update((p.number, p.envelope.signature) for p in posted if p.number > self.number)
        number, anchor = self.number, self.anchor
        while number + 1 in ahead:
            number += 1
            anchor = ahead.pop(number)
        complete = self.complete or (end is not None and number >= end)
        return Bookmark(number, anchor, complete, tuple(ahead.items()))

    def holds(self, posted: Iterable[Posted]) -> bool:
        """Whether the last message read is where it was, in what was read from ``read_from``."""
        return self.number == 0 or any(
            p.number == self.number and p.envelope.signature == self.anchor for p in posted
        )
