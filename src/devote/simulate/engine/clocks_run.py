"""A run on independent clocks: its arrays, its threads, and the code that does its rows."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from devote.kernels import tables
from devote.problems import Uniform
from devote.simulate.engine.compiling import compiled_loop
from devote.simulate.engine.setting import environment_arrays, new_arena, outcome_of
from devote.simulate.engine.windows import (
    ALL_SET,
    MERGE,
    N_HALTED,
    N_TIMES,
    N_WORDS,
    OVER,
    PHASE,
    SCAN,
    START,
    WIDTH,
    Desk,
    Plan,
    Rows,
)
from devote.simulate.scenario import Scenario
from devote.simulate.streams import trial_key
from devote.simulate.trial import Trial

FIRST_WIDTH = 16.0
ROWS_PER_THREAD = 8192
"""With fewer, starting a thread costs more than it saves."""


class ClocksRun:
    """The arrays of one run, of which all but the times are decided by seed and trial."""

    def __init__(
        self, scenario: Scenario, *, seed: int = 0, trial: int = 0, threads: int = 1
    ) -> None:
        self.scenario = scenario
        engine = scenario.scheme.engine
        assert engine is not None
        n, k = scenario.n_players, scenario.spec.n_arms
        environment = environment_arrays(scenario.problem.environment(n))
        uniform = isinstance(scenario.problem.activity, Uniform)
        weights = [1.0 / n] if uniform else scenario.problem.activity.weights(n)
        paces = 1.0 / (n * np.array(weights))  # the mean gap of each player, 1 on average
        key = np.uint64(trial_key(seed, trial))
        self.rows = new_rows(scenario, engine.words)
        self.real = new_arena(
            scenario,
            environment,
            alive=self.rows.alive[0],
            own=self.rows.own[0],
            voted=np.zeros((n, k), dtype=np.int8),
        )
        self.plan = Plan(
            words=np.zeros(N_WORDS, dtype=np.int64),
            times=np.zeros(N_TIMES),
            past=self.real.counters.copy(),
            seen=self.real.shared.copy(),
            who=np.empty(n, dtype=np.int32),
            when=np.empty(n),
        )
        self.plan.words[PHASE] = START
        self.plan.times[WIDTH] = FIRST_WIDTH
        self.threads = max(1, min(threads, n // ROWS_PER_THREAD))
        self.desks = [new_desk(scenario, engine.words) for _ in range(self.threads)]
        self.work = compiled_loop(*scenario.loop[:2], "clocks")
        noisy = int(scenario.scheme.noisy)
        self.given = (environment, scenario.rule, paces, key, noisy, scenario.horizon or 0)

    def play(self) -> None:
        """Run to the end."""
        if self.threads == 1:
            self._work(self.desks[0], 0, self.scenario.n_players, alone=1)
            return
        with ThreadPoolExecutor(self.threads) as pool:
            while True:
                self._work(self.desks[0], 0, 0)
                if self.plan.words[PHASE] == OVER:
                    return
                self._do_rows(pool)

    def _work(self, desk: Desk, low: int, high: int, alone: int = 0) -> None:
        self.work(*self.given, self.rows, self.plan, desk, self.real, low, high, alone)

    def _do_rows(self, pool: ThreadPoolExecutor) -> None:
        """All rows of the phase, some in each thread."""
        ends = [self.scenario.n_players * i // self.threads for i in range(self.threads + 1)]
        jobs = [
            pool.submit(self._work, desk, low, high)
            for desk, low, high in zip(self.desks, ends, ends[1:], strict=False)
        ]
        for job in jobs:
            job.result()
        words, who, when = self.plan.words, self.plan.who, self.plan.when
        words[N_HALTED] = 0
        for desk, low in zip(self.desks, ends, strict=False):
            halted = int(desk.halted[0])
            begin = int(words[N_HALTED])
            who[begin : begin + halted] = who[low : low + halted].copy()
            when[begin : begin + halted] = when[low : low + halted].copy()
            words[N_HALTED] += halted
        first, *others = self.desks
        for desk in others:
            first.sums[:] += desk.sums
            first.last[0] = max(first.last[0], desk.last[0])
        words[PHASE] = MERGE if words[PHASE] == SCAN else ALL_SET

    def outcome(self) -> Trial:
        """What the run came to."""
        half = self.rows.half.astype(bool)[:, None]
        arena = self.real._replace(alive=np.where(half, self.rows.alive[1], self.rows.alive[0]))
        return outcome_of(self.scenario, arena, [])


def new_rows(scenario: Scenario, words: int) -> Rows:
    """What each player keeps, at its start."""
    fresh = scenario.algorithm.new_state(scenario.spec.n_arms)
    n, k = scenario.n_players, scenario.spec.n_arms
    whole, real = np.int32, np.float64

    def room(width: int, kind: Any) -> Any:
        return np.zeros((2, n, width), dtype=kind)

    rows = Rows(
        alive=room(k, np.int8),
        pulls=room(k, whole),
        sums=room(k, real),
        ints=room(len(fresh.ints), whole),
        floats=room(len(fresh.floats), np.float64),
        own=room(words, whole),
        next=np.zeros((2, n)),
        half=np.zeros(n, dtype=np.int8),
        moved=np.zeros(n, dtype=np.int8),
    )
    rows.alive[0] = 1
    rows.ints[0] = fresh.ints
    return rows


def new_desk(scenario: Scenario, words: int) -> Desk:
    """Room for one player."""
    fresh = scenario.algorithm.new_state(scenario.spec.n_arms)
    k = scenario.spec.n_arms

    def counters() -> Any:
        return np.zeros(tables.N_COUNTERS, dtype=np.int64)

    return Desk(
        alive=np.zeros((1, k), dtype=np.int8),
        pulls=np.zeros(k, dtype=np.int32),
        rewards=np.zeros(k),
        ints=np.zeros(len(fresh.ints), dtype=np.int32),
        floats=np.zeros(max(1, len(fresh.floats))),
        own=np.zeros((1, words), dtype=np.int32),
        voted=np.zeros((1, k), dtype=np.int8),
        first_vote=np.zeros(1, dtype=np.int32),
        out=np.zeros(k, dtype=np.int32),
        scratch=counters(),
        kept=counters(),
        fresh=counters(),
        sums=counters(),
        halted=np.zeros(1, dtype=np.int64),
        last=np.zeros(1),
    )
