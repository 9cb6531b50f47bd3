"""What a sweep runs next: long cells first, short trials in chunks.

Nobody knows how long a trial takes before it has been run, so the first trial of each cell is a
chunk of its own and its time decides on the size of the next ones. A loop that has not been
compiled yet is compiled by one worker; the others find it in numba's cache.

The order has no influence on results: each trial has its own streams.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from devote.simulate.scenario import Scenario

CHUNK_SECONDS = 0.4
"""What a chunk should take: far more than handing it out costs, and little to lose by a kill."""


@dataclass
class Schedule:
    """The trials still to be handed out, by cell."""

    cells: Sequence[Scenario]
    waiting: dict[int, Sequence[int]]
    seconds: dict[int, float] = field(default_factory=dict)
    _piloted: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.waiting = {cell: trials for cell, trials in self.waiting.items() if trials}

    def loops(self) -> list[Scenario]:
        """One cell for each loop that the waiting trials need."""
        first: dict[tuple[str, str, str], Scenario] = {}
        for cell in self.waiting:
            first.setdefault(self.cells[cell].loop, self.cells[cell])
        return list(first.values())

    def next_chunk(self, compiled: set[tuple[str, str, str]]) -> tuple[int, list[int]] | None:
        """A cell and some of its trials; None if all that is left waits for its loop."""
        ready = [cell for cell in self.waiting if self.cells[cell].loop in compiled]
        if not ready:
            return None
        unknown = [cell for cell in ready if cell not in self._piloted]
        chosen = max(unknown, key=self._guess) if unknown else max(ready, key=self._left)
        self._piloted.add(chosen)
        return chosen, self._take(chosen)

    def took(self, cell: int, seconds: float) -> None:
        """Note the time of a trial; the shortest counts, as others may have been held up."""
        self.seconds[cell] = min(seconds, self.seconds.get(cell, seconds))

    def _take(self, cell: int) -> list[int]:
        trials = self.waiting[cell]
        size = 1
        if cell in self.seconds:
            size = max(1, int(CHUNK_SECONDS / max(self.seconds[cell], 1e-6)))
        chunk, rest = list(trials[:size]), trials[size:]
        if rest:
            self.waiting[cell] = rest
        else:
            del self.waiting[cell]
        return chunk

    def _guess(self, cell: int) -> tuple[int, int]:
        scenario = self.cells[cell]
        engine = scenario.scheme.engine
        learners = 1 if engine is not None and engine.one_learner else scenario.n_players
        alone = 1 if scenario.scheme.by_message else 2
        return alone * learners * scenario.spec.n_arms, -cell

    def _left(self, cell: int) -> tuple[float, int]:
        known = self.seconds.get(cell, 0.0)
        return known * len(self.waiting[cell]), -cell
