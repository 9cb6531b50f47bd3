"""The order in which messages came, in at most so many marks however many there are.

There are no times to show: the server keeps none. What is drawn is the order, in one lane for
each kind of message and each arm that it names.
"""

from collections import Counter

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
        self._lanes: dict[tuple[str, int | None], Counter[int]] = {}
        self._marks = 0

    def add(self, kind: str, arm: int | None, number: int) -> None:
        """Mark a message; ``arm`` is None for one that names none."""
        counts = self._lanes.setdefault((kind, arm), Counter())
        before = len(counts)
        counts[(number - 1) // self.step] += 1
        self._marks += len(counts) - before
        # Two marks per lane are always allowed: with that many lanes there is little to gain.
        while self._marks > max(self._most, 2 * len(self._lanes)):
            self._widen()

    def lane(self, kind: str, arm: int | None) -> list[list[int]]:
        """The marks of one lane: the first number of a step, and how many messages it holds."""
        counts = self._lanes.get((kind, arm), Counter())
        return [[place * self.step + 1, count] for place, count in sorted(counts.items())]

    def _widen(self) -> None:
        self.step *= 2
        for lane, counts in self._lanes.items():
            merged: Counter[int] = Counter()
            for place, count in counts.items():
                merged[place // 2] += count
            self._lanes[lane] = merged
        self._marks = sum(map(len, self._lanes.values()))
