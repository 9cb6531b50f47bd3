"""A run on independent clocks: its arrays, its threads, and the code that does its rows."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from devote.kernels import Rule, tables
from devote.kernels.tables import Arena
from devote.problems import Uniform
from devote.simulate.engine.compiling import compiled_loop
from devote.simulate.engine.memory import sparse_zeros
from devote.simulate.engine.outcomes import AT_ONCE, block_of, closed
from devote.simulate.engine.packing import Layout
from devote.simulate.engine.setting import environment_arrays, good_arms, new_arena
from devote.simulate.engine.windows import (
    ALL_SET,
    ENDLESS,
    GAP,
    GROWTH,
    LATE,
    MERGE,
    MOST,
    N_HALTED,
    N_TIMES,
    N_WORDS,
    OVER,
    PHASE,
    SCAN,
    SILENT,
    SLACK,
    START,
    WIDTH,
    Plan,
    end_earlier,
)
from devote.simulate.scenario import Scenario
from devote.simulate.streams import CELL, trial_key
from devote.simulate.trial import Trial

FIRST_WIDTH = 16.0
MUCH = 4.0
"""How many times longer than seems right a window may be."""

CACHED_PLAYERS = 4096
"""With more, their rows are not in a cache when they are needed."""

ROWS_PER_THREAD = 8192
"""With fewer, starting a thread costs more than it saves."""

PULLS_AT_ONCE = 1_000_000
"""So many are made before it is asked again whether the run will ever end."""


def is_silent(scenario: Scenario) -> bool:
    """Whether nobody is ever loud."""
    engine = scenario.scheme.engine
    return engine is not None and engine.clocks is not None and engine.clocks.silent


def ends_apart(scenario: Scenario) -> bool:
    """Whether each player is done in its own time, and the run with the last of them."""
    endless = scenario.algorithm.endless or scenario.horizon is not None
    return is_silent(scenario) and not endless


def runs_by_itself(scenario: Scenario) -> bool:
    """Whether there is one player whose run ends when it is done: no clock is needed then."""
    return scenario.n_players == 1 and ends_apart(scenario)


def cell_spans(scenario: Scenario) -> Any:
    """How long a cell of each player's clock is, once if it is the same for all.

    The unit of time is the mean gap of a player of average activity.
    """
    if runs_by_itself(scenario):
        return np.zeros(1)
    n, activity = scenario.n_players, scenario.problem.activity
    weights = np.array([1.0 / n] if isinstance(activity, Uniform) else activity.weights(n))
    return CELL * (1.0 / (n * weights))


def first_width(scenario: Scenario) -> float:
    """How long the first window is."""
    return ENDLESS if runs_by_itself(scenario) else FIRST_WIDTH


def growth(scenario: Scenario) -> float:
    """What share of the time that has passed a window may last, while nobody is loud."""
    return SILENT if is_silent(scenario) else LATE


class Ready(NamedTuple):
    """What is the same in all trials of a scenario."""

    environment: Any
    rule: Rule
    spans: Any
    layout: Layout
    good: Any


@lru_cache(maxsize=1)
def prepare(scenario: Scenario, *functions: object) -> Ready:
    """Make it once; ``functions`` are the algorithm's, whose name may come to mean others."""
    problem = scenario.problem
    plain = problem.environment(scenario.n_players if problem.groups else 1)
    return Ready(
        environment=environment_arrays(plain),
        rule=scenario.rule,
        spans=cell_spans(scenario),
        layout=Layout(scenario),
        good=good_arms(plain, scenario.spec.epsilon),
    )


class ClocksRun:
    """The arrays of one run, of which all but the times are decided by seed and trial."""

    def __init__(
        self, scenario: Scenario, *, seed: int = 0, trial: int = 0, threads: int = 1
    ) -> None:
        self.scenario = scenario
        n, k = scenario.n_players, scenario.spec.n_arms
        algorithm = scenario.algorithm
        ready = prepare(scenario, algorithm.choose, algorithm.observe)
        self.rows = ready.layout.rows(n)
        self.threads = max(1, min(threads, n // ROWS_PER_THREAD))
        desks = [ready.layout.new_desk() for _ in range(self.threads)]
        self.desks, self.narrow = zip(*desks, strict=True)
        # Players are in ``rows``. A desk stands here: one player's rows, unlike those of several,
        # are contiguous, which would be compiled anew.
        self.real = new_arena(
            scenario,
            ready.environment,
            vast=int(n > CACHED_PLAYERS),
            alive=self.desks[0].alive,
            own=self.desks[0].own,
            voted=sparse_zeros((n, k), np.int8),
            good=ready.good,
        )
        self.plan = Plan(
            words=np.zeros(N_WORDS, dtype=np.int64),
            times=np.zeros(N_TIMES),
            past=self.real.counters.copy(),
            seen=self.real.shared.copy(),
            who=sparse_zeros((n,), np.int32),
            when=sparse_zeros((n,), np.float64),
            nth=sparse_zeros((n,), np.int32),
        )
        self.plan.words[PHASE] = START
        times = self.plan.times
        times[[WIDTH, GAP, MOST]] = first_width(scenario), 1.0, ENDLESS
        times[[GROWTH, SLACK]] = growth(scenario), MUCH
        self.work = compiled_loop(*scenario.loop[:2], "clocks")
        key = np.uint64(trial_key(seed, trial))
        noisy = int(scenario.scheme.noisy)
        rule, spans = ready.rule, ready.spans
        self.given = (ready.environment, rule, spans, key, noisy, scenario.horizon or 0)

    def play(self) -> None:
        """Run to the end."""
        made, several = 0, self.threads > 1
        with ThreadPoolExecutor(self.threads) if several else nullcontext() as pool:
            while True:
                if pool is None:
                    self._work(0, 0, self.scenario.n_players, made + PULLS_AT_ONCE)
                else:
                    self._work(0, 0, 0)
                if self.plan.words[PHASE] == OVER:
                    return
                made, sent = self.real.counters[[tables.TIME, tables.BROADCASTS]].tolist()
                self.scenario.check_goes_on(made, sent)
                if pool is not None:
                    self._do_rows(pool)

    def _work(self, i: int, low: int, high: int, until: int = 0) -> None:
        """Let one desk do some rows, or merge."""
        room = self.rows, self.plan, self.desks[i], self.narrow[i], self.real
        self.work(*self.given, *room, low, high, until)

    def _do_rows(self, pool: ThreadPoolExecutor) -> None:
        """All rows of the phase, some in each thread."""
        ends = [self.scenario.n_players * i // self.threads for i in range(self.threads + 1)]
        jobs = [
            pool.submit(self._work, i, low, high) for i, (low, high) in enumerate(pairwise(ends))
        ]
        for job in jobs:
            job.result()
        self.gather(ends)

    def gather(self, ends: list[int]) -> None:
        """Put together what the desks have found, each in the rows between two ends."""
        words, halts = self.plan.words, (self.plan.who, self.plan.when, self.plan.nth)
        words[N_HALTED] = 0
        for desk, low in zip(self.desks, ends, strict=False):
            halted = int(desk.halted[0])
            begin = int(words[N_HALTED])
            for column in halts:
                column[begin : begin + halted] = column[low : low + halted].copy()
            words[N_HALTED] += halted
        first, *others = self.desks
        for desk in others:
            first.added[:] += desk.added
            first.last[0] = max(first.last[0], desk.last[0])
        words[PHASE] = MERGE if words[PHASE] == SCAN else ALL_SET
        end_earlier(self.plan, min(desk.last[1] for desk in self.desks))

    def outcome(self) -> Trial:
        """What the run came to."""
        [trial] = block_of(self.scenario, [self.close()])
        return trial

    def close(self) -> Arena:
        """The tables that say what it came to."""
        first, second = self.rows.alive
        half = self.rows.half
        for begin in range(0, len(half), AT_ONCE):
            some = slice(begin, begin + AT_ONCE)
            np.copyto(first[some], second[some], where=half[some, None] != 0)
        return closed(self.scenario, self.real._replace(alive=first))
