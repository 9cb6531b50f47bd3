"""The order in which messages came, in at most so many marks however many there are.

There are no times to show: the server keeps none. What is drawn is the order, one lane per option
and one for each other kind of message.
"""

from collections import Counter
from typing import Any

MARKS = 2_000
"""At most so many marks; with more messages than that, neighbours in a lane share one."""


class Timeline:
    """Messages by lane and number, in steps that grow with the board.

    >>> timeline = Timeline(most=2)
    >>> for number in (1, 2, 3):
    ...     timeline.add("vote", 0, number)
    >>> timeline.step, timeline.lane("vote", 0)
    (2, [[1, 2], [3, 1]])
    """

    def __init__(self, most: int = MARKS) -> None:
        self.step = 1
        self._most = most
        self._lanes: set[tuple[str, int]] = set()
        self._counts: Counter[tuple[str, int, int]] = Counter()

    def add(self, kind: str, arm: int, number: int) -> None:
        """Mark a message."""
        self._counts[kind, arm, (number - 1) // self.step] += 1
        self._lanes.add((kind, arm))
        # Two marks per lane are always allowed: with that many lanes there is little to gain.
        while len(self._counts) > max(self._most, 2 * len(self._lanes)):
            self._widen()

    def lane(self, kind: str, arm: int) -> list[list[int]]:
        """The marks of one lane: the first number of a step, and how many messages it holds."""
        return self.lanes().get((kind, arm), [])

    def lanes(self) -> dict[tuple[str, int], list[list[int]]]:
        """The marks of every lane that has any."""
        found: dict[tuple[str, int], list[list[int]]] = {}
        for (kind, arm, place), count in sorted(self._counts.items()):
            found.setdefault((kind, arm), []).append([place * self.step + 1, count])
        return found

    def to_dict(self, arms: int) -> dict[str, Any]:
        """Lanes as the page draws them: one per option, then the other kinds there are."""
        found = self.lanes()
        lanes = [
            {"kind": "vote", "arm": k, "marks": found.get(("vote", k), [])} for k in range(arms)
        ]
        lanes += [
            {"kind": kind, "arm": None, "marks": marks}
            for (kind, _), marks in found.items()
            if kind != "vote"
        ]
        return {"step": self.step, "lanes": lanes}

    def _widen(self) -> None:
        self.step *= 2
        merged: Counter[tuple[str, int, int]] = Counter()
        for (kind, arm, place), count in self._counts.items():
            merged[kind, arm, place // 2] += count
        self._counts = merged
