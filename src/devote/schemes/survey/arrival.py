"""A test of whether the arrival of answers depends on the arm that they are about.

The proof of a survey needs answers that arrive or stay away whatever they say. A click that leaves
the page before its answer is sent breaks that: then answers about arms with many clicks are rarer.
A board can notice, since devices draw uniformly among the arms that were asked about in the
snapshot they had read: if arrival does not depend on the arm, neither does the arm of an answer
depend on anything but that set.

The test bets against this. ``theta`` of an arm is a guess, from earlier answers, of how often it is
answered when asked. Each answer multiplies the capital by ``|A| theta[arm] / sum of theta over A``,
where A is the set of its snapshot. Over the uniform draw the mean of this factor is one: the
capital is a test martingale and reaches 1 / alpha, at any time, with probability at most alpha.

A mismatch does not say which answer of the survey is right. It says that its proof does not apply.
"""

import math
from bisect import bisect_right
from collections.abc import Collection, Iterable

ALPHA = 0.001
"""The probability of a false alarm in the whole life of a survey, at most."""


class ArrivalTest:
    """Bets on which arms are answered more often than others that were asked about as often.

    >>> test = ArrivalTest(n_arms=2)
    >>> for _ in range(12):
    ...     test.add(arm=0, seen=0)
    >>> round(math.exp(test.log_capital)), test.has_mismatch
    (315, False)
    """

    def __init__(self, n_arms: int, liars: int = 0) -> None:
        # Of the answers so many may lie; no factor is larger than the number of arms.
        self._threshold = liars * math.log(n_arms) - math.log(ALPHA)
        self.log_capital = 0.0
        self.has_mismatch = False
        """Whether the capital has ever reached ``1 / ALPHA``, with what lies can have added."""
        self._snapshots = [0]
        self._sets: list[Collection[int]] = [tuple(range(n_arms))]
        self._answered = [0] * n_arms
        self._offered = [0] * n_arms
        """Answers whose set held the arm."""

    def asks(self, snapshot: int, asked: Iterable[int]) -> None:
        """From this snapshot on, devices draw among these arms."""
        if snapshot == self._snapshots[-1]:
            self._sets[-1] = tuple(asked)
            return
        self._snapshots.append(snapshot)
        self._sets.append(tuple(asked))

    def withdraw(self, arm: int) -> None:
        """Leave an arm out of all sets: its answers say nothing about the others any more."""
        self._sets = [[k for k in asked if k != arm] for asked in self._sets]

    def add(self, arm: int, seen: int) -> None:
        """Take in an answer; one about an arm that its snapshot did not ask about is left out."""
        asked = self._sets[bisect_right(self._snapshots, seen) - 1]
        if arm not in asked:
            return
        guesses = {k: (self._answered[k] + 1) / (self._offered[k] + 2) for k in asked}
        self.log_capital += math.log(len(asked) * guesses[arm] / sum(guesses.values()))
        for k in asked:
            self._offered[k] += 1
        self._answered[arm] += 1
        if self.log_capital >= self._threshold:
            self.has_mismatch = True
