"""What a sweep runs next: long cells first, short trials in chunks.

Nobody knows how long a trial takes before it has been run, so the first trial of each cell is a
chunk of its own and its time decides on the size of the next ones. A loop that is not compiled yet
is compiled by the first worker that needs it; cells of other loops come before those of the same.

The order has no influence on results: each trial has its own streams.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from devote.simulator.scenario import Scenario

CHUNK_SECONDS = 0.4
"""What a chunk should take: far more than handing it out costs, and little to lose by a kill."""

Loop = tuple[str, str, str]


@dataclass
class Schedule:
    """The trials still to be handed out, by cell."""

    cells: Sequence[Scenario]
    waiting: dict[int, Sequence[int]]
    seconds: dict[int, float] = field(default_factory=dict)
    _piloted: set[int] = field(default_factory=set)
    _begun: set[Loop] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.waiting = {cell: trials for cell, trials in self.waiting.items() if trials}

    def next_chunk(self) -> tuple[int, list[int]]:
        """A cell and some of its trials."""
        unknown = [cell for cell in self.waiting if cell not in self._piloted]
        fresh = [cell for cell in unknown if _loop(self.cells[cell]) not in self._begun]
        if unknown:
            chosen = max(fresh or unknown, key=self._guess)
        else:
            chosen = max(self.waiting, key=self._left)
        self._piloted.add(chosen)
        self._begun.add(_loop(self.cells[chosen]))
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
        part = scenario.part
        learners = 1 if part is not None and part.one_learner else scenario.n_players
        alone = 1 if scenario.scheme.about.by_message else 2
        return alone * learners * scenario.spec.n_arms, -cell

    def _left(self, cell: int) -> tuple[float, int]:
        known = self.seconds.get(cell, 0.0)
        return known * len(self.waiting[cell]), -cell


def _loop(scenario: Scenario) -> Loop:
    """What its compiled loop is specialised to."""
    return scenario.spec.algorithm, scenario.scheme.name, scenario.runs_on
