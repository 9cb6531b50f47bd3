"""How a tally's estimates came about, in at most so many points however many messages there are."""

from devote.protocol.scheme import Estimates, Tally

POINTS = 64
"""At most so many points, and fewer with more than a few dozen arms."""


class Course:
    """The estimates after every ``step``-th message; ``step`` grows with the board.

    ``points`` are pairs of a message's number and the estimates after it. A tally that estimates
    nothing has none.
    """

    def __init__(self, n_arms: int, most: int = POINTS) -> None:
        self.step = 1
        self.points: list[tuple[int, Estimates]] = []
        self._most = max(8, min(most, 40 * most // n_arms))

    def add(self, number: int, tally: Tally) -> None:
        """Take a point, if one is due after this message."""
        if number % self.step:
            return
        estimates = tally.estimates()
        if estimates is None:
            return
        self.points.append((number, estimates))
        if len(self.points) == self._most:
            self.step *= 2
            self.points = [point for point in self.points if point[0] % self.step == 0]
