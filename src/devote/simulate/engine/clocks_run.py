"""A run on independent clocks: its arrays, its threads, and the code that does its rows."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any

import numpy as np

from devote.kernels import tables
from devote.problems import Uniform
from devote.simulate.engine.compiling import compiled_loop
from devote.simulate.engine.setting import environment_arrays, new_arena, outcome_of
from devote.simulate.engine.windows import (
    ALL_SET,
    ENDLESS,
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
from devote.simulate.streams import CELL, trial_key
from devote.simulate.trial import Trial

FIRST_WIDTH = 16.0
ROWS_PER_THREAD = 8192
"""With fewer, starting a thread costs more than it saves."""

PULLS_AT_ONCE = 1_000_000
"""So many are made before it is asked again whether the run will ever end."""


def runs_by_itself(scenario: Scenario) -> bool:
    """Whether there is one player whose run ends when it is done: no clock is needed then."""
    engine = scenario.scheme.engine
    silent = engine is not None and engine.clocks is not None and engine.clocks.silent
    endless = scenario.algorithm.endless or scenario.horizon is not None
    return scenario.n_players == 1 and silent and not endless


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


class ClocksRun:
    """The arrays of one run, of which all but the times are decided by seed and trial."""

    def __init__(
        self, scenario: Scenario, *, seed: int = 0, trial: int = 0, threads: int = 1
    ) -> None:
        self.scenario = scenario
        engine = scenario.scheme.engine
        assert engine is not None
        n, k = scenario.n_players, scenario.spec.n_arms
        plain = scenario.problem.environment(n)
        environment = environment_arrays(plain)
        spans = cell_spans(scenario)
        key = np.uint64(trial_key(seed, trial))
        layout = Layout(scenario, engine.words)
        self.rows = layout.rows(n)
        self.real = new_arena(
            scenario,
            plain,
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
            nth=np.empty(n, dtype=np.int32),
        )
        self.plan.words[PHASE] = START
        self.plan.times[WIDTH] = first_width(scenario)
        self.threads = max(1, min(threads, n // ROWS_PER_THREAD))
        self.desks = [layout.desk() for _ in range(self.threads)]
        self.work = compiled_loop(*scenario.loop[:2], "clocks")
        noisy = int(scenario.scheme.noisy)
        self.given = (environment, scenario.rule, spans, key, noisy, scenario.horizon or 0)

    def play(self) -> None:
        """Run to the end."""
        made, several = 0, self.threads > 1
        with ThreadPoolExecutor(self.threads) if several else nullcontext() as pool:
            while True:
                if pool is None:
                    self._work(self.desks[0], 0, self.scenario.n_players, made + PULLS_AT_ONCE)
                else:
                    self._work(self.desks[0], 0, 0)
                if self.plan.words[PHASE] == OVER:
                    return
                made, sent = self.real.counters[[tables.TIME, tables.BROADCASTS]].tolist()
                self.scenario.check_goes_on(made, sent)
                if pool is not None:
                    self._do_rows(pool)

    def _work(self, desk: Desk, low: int, high: int, until: int = 0) -> None:
        self.work(*self.given, self.rows, self.plan, desk, self.real, low, high, until)

    def _do_rows(self, pool: ThreadPoolExecutor) -> None:
        """All rows of the phase, some in each thread."""
        ends = [self.scenario.n_players * i // self.threads for i in range(self.threads + 1)]
        jobs = [
            pool.submit(self._work, desk, low, high)
            for desk, low, high in zip(self.desks, ends, ends[1:], strict=False)
        ]
        for job in jobs:
            job.result()
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

    def outcome(self) -> Trial:
        """What the run came to."""
        half = self.rows.half.astype(bool)[:, None]
        arena = self.real._replace(alive=np.where(half, self.rows.alive[1], self.rows.alive[0]))
        return outcome_of(self.scenario, arena, [])


class Layout:
    """Where the buffers of a player lie in its row of 64-bit words."""

    def __init__(self, scenario: Scenario, own: int) -> None:
        fresh = scenario.algorithm.new_state(scenario.spec.n_arms)
        kinds: list[tuple[str, Any, int]] = [
            ("alive", np.int8, len(fresh.alive)),
            ("pulls", np.int32, len(fresh.pulls)),
            ("sums", np.float64, len(fresh.sums)),
            ("ints", np.int32, len(fresh.ints)),
            ("floats", np.float64, max(1, len(fresh.floats))),
            ("own", np.int32, own),
            ("place", np.int32, 2),
        ]
        self.fresh, self.n_words = fresh, 0
        self.places: dict[str, tuple[Any, slice]] = {}
        for name, kind, length in kinds:
            size = np.dtype(kind).itemsize
            begin = 8 * self.n_words // size
            self.places[name] = (kind, slice(begin, begin + length))
            self.n_words += -(-size * length // 8)

    def look(self, words: Any, name: str) -> Any:
        """One buffer of one row, or of each of many."""
        kind, place = self.places[name]
        return words.view(kind)[..., place]

    def rows(self, n_players: int) -> Rows:
        """All players at their start."""
        words = np.empty((2, n_players, self.n_words), dtype=np.int64)
        start = np.zeros(self.n_words, dtype=np.int64)
        self.look(start, "alive")[:] = 1
        self.look(start, "ints")[:] = self.fresh.ints
        words[0] = start  # the other half is written before it is read
        return Rows(
            words=words,
            next=np.zeros((2, n_players)),
            half=np.zeros(n_players, dtype=np.int8),
            moved=np.zeros(n_players, dtype=np.int8),
            alive=self.look(words, "alive"),
            own=self.look(words, "own"),
            place=self.look(words, "place"),
        )

    def desk(self) -> Desk:
        """Room for one player."""
        words = np.zeros(self.n_words, dtype=np.int64)
        n_arms = len(self.fresh.alive)
        views = {name: self.look(words, name) for name in self.places}
        views |= {name: views[name].reshape(1, -1) for name in ("alive", "own")}
        counters = np.zeros((4, tables.N_COUNTERS), dtype=np.int64)
        scratch, kept, fresh, added = counters
        return Desk(
            words=words,
            **views,
            voted=np.zeros((1, n_arms), dtype=np.int8),
            first_vote=np.zeros(1, dtype=np.int32),
            out=np.zeros(n_arms, dtype=np.int32),
            scratch=scratch,
            kept=kept,
            fresh=fresh,
            added=added,
            halted=np.zeros(1, dtype=np.int64),
            last=np.zeros(1),
        )
