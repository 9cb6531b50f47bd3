"""What a sweep runs next: long cells first, short trials in chunks.

Nobody knows how long a trial takes before it has been run, so the first trial of each cell is a
chunk of its own and its time decides on the size of the next ones. A loop that has not been
compiled yet is compiled by one worker; the others find it in numba's cache. Loops of one engine
share functions, which each process compiles for itself: so one worker compiles the loops of an
engine, or as many workers as are there for it.

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
    _loops: dict[int, tuple[str, str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.waiting = {cell: trials for cell, trials in self.waiting.items() if trials}
        self._loops = {cell: self.cells[cell].loop for cell in self.waiting}

    def loops(self, at_once: int) -> list[list[Scenario]]:
        """What so many workers are to compile, each several loops: a cell for each loop.

        Those of the most work come first.
        """
        first: dict[tuple[str, str, str], Scenario] = {}
        work: dict[tuple[str, str, str], int] = {}
        for cell, trials in self.waiting.items():
            loop = self._loops[cell]
            first.setdefault(loop, self.cells[cell])
            work[loop] = work.get(loop, 0) + self._guess(cell)[0] * len(trials)
        by_work = sorted(first, key=lambda loop: work[loop], reverse=True)
        # Clocks take longest to compile.
        engines = sorted({engine for _, _, engine in first}, key=lambda name: name != "clocks")
        by_engine = [[first[loop] for loop in by_work if loop[2] == name] for name in engines]
        effort = [
            4 + (4 if loops[0].loop[2] == "clocks" else 1) * len(loops) for loops in by_engine
        ]
        parts = [max(1, round(at_once * some / sum(effort))) for some in effort]
        groups = [loops[i::n] for loops, n in zip(by_engine, parts, strict=True) for i in range(n)]
        return [loops for loops in groups if loops]

    def next_chunk(self, compiled: set[tuple[str, str, str]]) -> tuple[int, list[int]] | None:
        """A cell and some of its trials; None if all that is left waits for its loop."""
        ready = [cell for cell in self.waiting if self._loops[cell] in compiled]
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
        patient = 16 if scenario.algorithm.patient else 1
        return alone * learners * scenario.spec.n_arms * patient, -cell

    def _left(self, cell: int) -> tuple[float, int]:
        known = self.seconds.get(cell, 0.0)
        return known * len(self.waiting[cell]), -cell
