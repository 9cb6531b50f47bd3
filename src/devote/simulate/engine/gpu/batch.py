"""Many trials of one scenario at once on the device: its arrays, and one launch after another."""

import math
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
from numba import cuda

from devote.kernels import Rule, get_algorithm, tables
from devote.protocol.scheme import SCHEMES
from devote.simulate.block import Block
from devote.simulate.engine.clocks_run import FIRST_WIDTH, cell_spans, first_width
from devote.simulate.engine.gpu.arrays import (
    device_environment,
    device_setting,
    device_waking,
    last_first,
    stream_keys,
)
from devote.simulate.engine.gpu.begin import make_begin
from devote.simulate.engine.gpu.deal import DEALERS, make_deal
from devote.simulate.engine.gpu.lane import Lane
from devote.simulate.engine.gpu.merge import TEAM, make_merge
from devote.simulate.engine.gpu.rows import (
    ROWS,
    Facts,
    facts_of,
    fits,
    make_rows,
)
from devote.simulate.engine.gpu.tables import Fresh, Players, Shape, Trials
from devote.simulate.engine.gpu.target import compile_kernel, multiprocessors
from devote.simulate.engine.outcomes import closed, outcomes_of
from devote.simulate.engine.setting import new_arena
from devote.simulate.engine.windows import (
    GAP,
    LONGEST,
    MOST,
    N_TIMES,
    N_WORDS,
    PHASE,
    START,
    WIDTH,
)
from devote.simulate.scenario import Scenario
from devote.simulate.streams import trial_keys
from devote.simulate.votes import Votes

WARP = 32
REGISTERS = 128
"""Of a thread that does a row: with more, one block less has room; with fewer, what they held is
kept in memory."""

MERGING = 168
"""Of a thread that merges: with more, fewer trials have room."""

AT_ONCE = 8
"""Phases that are launched before it is asked whether any trial goes on."""


_loaded: set[tuple[Any, ...]] = set()


@cache
def compiled(algorithm: str, scheme: str, n_arms: int, facts: Facts, team: bool) -> tuple[Any, ...]:
    """The kernels for a subroutine, a scheme and a number of arms; compiled when first run."""
    engine = SCHEMES[scheme].engine
    assert engine is not None
    code = get_algorithm(algorithm)
    size = (n_arms, code.n_ints(n_arms), max(1, code.n_floats))
    shared = fits(n_arms, size[1])
    return (
        compile_kernel(make_begin, n_arms),
        compile_kernel(make_rows, code, engine, *size, facts, shared, registers=REGISTERS),
        compile_kernel(make_merge, code, engine, *size, facts, team, registers=MERGING),
        compile_kernel(make_deal),
    )


class Batch:
    """Some trials of one scenario, all at once."""

    def __init__(
        self,
        scenario: Scenario,
        *,
        seed: int = 0,
        trials: Sequence[int] = (0,),
        rule: Rule | None = None,
        threads: int = ROWS,
        lane: Lane | None = None,
    ) -> None:
        self.scenario = scenario
        self.lane = lane or Lane()
        self.in_order = not scenario.own_clocks
        engine = scenario.scheme.engine
        assert engine is not None
        n, k = scenario.n_players, scenario.spec.n_arms
        n_trials = len(trials)
        total = n_trials * n
        plain = scenario.problem.environment(n)
        self.arena = new_arena(scenario, plain, alive=None, own=None, voted=None)
        fresh = scenario.algorithm.new_state(k)
        team = n >= min(WARP, threads)
        self.kernels = compiled(*scenario.loop[:2], k, facts_of(scenario, plain, self.arena), team)
        self.threads = threads
        while self.threads > WARP and self.threads >= 2 * n:
            self.threads //= 2
        each = -(-n // self.threads) if team else 0
        self.blocks = each * n_trials if team else -(-total // self.threads)
        mates = min(TEAM, self.threads) if n_trials < multiprocessors() else min(WARP, self.threads)
        self.mergers = (n_trials, mates) if team else (-(-n_trials // WARP), WARP)
        shape = Shape(n_trials, n, each)
        put = cuda.to_device
        room = cuda.device_array
        self.players = Players(
            alive=room((2, k, total), np.int8),
            ints=room((2, k + len(fresh.ints), total), np.int32),
            reals=room((2, k + len(fresh.floats), total), np.float64),
            own=room((2, total, engine.words), np.int32),
            next=room((2, total), np.float64),
            half=room(total, np.int8),
            moved=room(total, np.int8),
            voted=room((total, k), np.int8),
            first_vote=room(total, np.int32),
            who=room(total, np.int32),
            when=room(total, np.float64),
            nth=room(total, np.int32),
            place=room((2, total, 2), np.int32),
            dealt=room((n_trials, int(LONGEST) * n) if self.in_order else (1, 1), np.int32),
            ends=room(total if self.in_order else 1, np.int32),
        )
        self.trials = Trials(
            keys=put(trial_keys(seed, trials)),
            streams=put(stream_keys(seed, trials if self.in_order else trials[:1])),
            counters=room((n_trials, tables.N_COUNTERS), np.int64),
            past=room((n_trials, tables.N_COUNTERS), np.int64),
            added=room((n_trials, tables.N_COUNTERS), np.int64),
            last=room((n_trials, 1), np.float64),
            keep=room(n_trials, np.int8),
            words=room((n_trials, N_WORDS), np.int64),
            times=room((n_trials, N_TIMES), np.float64),
            tally=room((n_trials, k), np.int64),
            by_arm=room((n_trials, k, engine.arm_words), np.int64),
            shared=room((n_trials, k), np.int8),
            seen=room((n_trials, k), np.int8),
            before=room((n_trials, k), np.int8),
        )
        words, times = np.zeros((1, N_WORDS), dtype=np.int64), np.zeros((1, N_TIMES))
        words[0, PHASE] = START
        times[0, [WIDTH, GAP, MOST]] = first_width(scenario), 1.0, math.inf
        if self.in_order:
            times[0, [WIDTH, GAP, MOST]] = FIRST_WIDTH, n, LONGEST
        self.fresh = Fresh(put(self.arena.counters[None].copy()), put(words), put(times))
        setting = device_setting(scenario, self.arena)
        spans = put(cell_spans(scenario))
        given = (device_environment(plain), rule or scenario.rule, spans, setting, shape)
        self.given = (*given, self.players, self.trials)
        self.waking = device_waking(scenario)
        self.busy = cuda.device_array(1, np.int8)
        self._prepare()

    def _prepare(self) -> None:
        """Record the launches that ``play`` makes."""
        begin, rows, merge, deal = self.kernels
        shape = self.given[4]
        total = shape.n_trials * shape.n_players
        dealers = min(DEALERS, max(WARP, 1 << (shape.n_players - 1).bit_length()))

        def start(stream: Any) -> None:
            begin[-(-total // ROWS), ROWS, stream](shape, self.players, self.trials, self.fresh)
            merge[(*self.mergers, stream)](*self.given, self.busy)

        def advance(stream: Any) -> None:
            if self.in_order:
                dealing = deal[shape.n_trials, dealers, stream]
                dealing(self.waking, shape, self.players, self.trials)
            rows[self.blocks, self.threads, stream](*self.given, self.busy)
            merge[(*self.mergers, stream)](*self.given, self.busy)

        self.lane.begin()
        if self.kernels not in _loaded:  # nothing can be loaded while launches are recorded
            start(self.lane.stream)
            advance(self.lane.stream)
            _loaded.add(self.kernels)
        self.start, self.advance = self.lane.record(start, advance)

    def steps(self) -> Iterator[None]:
        """Run all trials to their end, each step once the lane has answered."""
        self.start()
        self.advance()
        self.lane.ask(self.busy)
        yield
        while self.lane.answer:
            for _ in range(AT_ONCE):
                self.advance()
            self.lane.ask(self.busy)
            yield

    def play(self) -> None:
        """Run all trials to their end."""
        for _ in self.steps():
            pass

    def outcomes(self) -> Block:
        """What each trial came to."""
        n, n_trials = self.scenario.n_players, len(self.trials.keys)
        votes = Votes.of(self.players.first_vote.copy_to_host().reshape(n_trials, n))
        names = ("counters", "tally", "by_arm", "shared")
        columns = {name: last_first(getattr(self.trials, name)) for name in names}
        arena = self.arena._replace(alive=self._alive(), **columns)
        return outcomes_of(self.scenario, closed(self.scenario, arena), votes)

    def _alive(self) -> Any:
        """Every player's remaining arms, if they are asked for: ``[player, arm, trial]``."""
        players = self.players
        if self.scenario.scheme.by_message and self.scenario.horizon is None:
            return None
        n, k, n_trials = self.scenario.n_players, self.scenario.spec.n_arms, len(self.trials.keys)
        moved = players.moved.copy_to_host().reshape(n_trials, n)
        half = players.half.copy_to_host().reshape(n_trials, n)
        half ^= moved & self.trials.keep.copy_to_host()[:, None]
        both = players.alive.copy_to_host().reshape(2, k, n_trials, n)
        return np.where(half == 1, both[1], both[0]).transpose(2, 0, 1)
