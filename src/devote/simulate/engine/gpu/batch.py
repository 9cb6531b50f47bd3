"""Many trials of one scenario at once on the device: its arrays, and one launch after another."""

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from devote.kernels import Rule, tables
from devote.simulate.block import Block
from devote.simulate.engine.clocks_run import FIRST_WIDTH, cell_spans, first_width, growth
from devote.simulate.engine.gpu.arrays import (
    Room,
    on_device,
    setting_of,
    stream_keys,
    waking_of,
)
from devote.simulate.engine.gpu.begin import make_begin
from devote.simulate.engine.gpu.code import ROWS, Code, Facts, facts_of
from devote.simulate.engine.gpu.deal import DEALERS, make_deal
from devote.simulate.engine.gpu.lane import Lane
from devote.simulate.engine.gpu.merge import NOBODY, make_merge
from devote.simulate.engine.gpu.phases import make_phases
from devote.simulate.engine.gpu.rows import make_rows
from devote.simulate.engine.gpu.tables import (
    Fresh,
    Heard,
    Players,
    Shape,
    Trials,
    n_columns,
    room_of,
)
from devote.simulate.engine.gpu.target import ALONE, compile_kernel, multiprocessors
from devote.simulate.engine.outcomes import UNFINISHED, closed, outcomes_of
from devote.simulate.engine.room import DEALT
from devote.simulate.engine.setting import environment_arrays, new_arena
from devote.simulate.engine.windows import (
    GAP,
    GROWTH,
    LONGEST,
    MOST,
    N_TIMES,
    N_WORDS,
    PHASE,
    SLACK,
    SPEAKER,
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

MERGING = 96
"""Of a thread that merges, or does both: with more, fewer trials have room."""

SMALL = 64
"""Players of a trial that a warp takes through all of its phases, if those are many, as are the
trials. Else launches for each phase are faster."""

GROWING = 1.0 / 8.0
"""What share of the time that has passed a window may last, at least: more than on a CPU, since to
visit all players takes as long as many pulls."""

LITTLE = 2.0
"""How many times longer than seems right a window may be: less than on a CPU, where one that is too
long is found out before all players have run through it."""

AT_ONCE = 8
"""Phases that are launched before it is asked whether any trial goes on."""

MANY = 256
"""Phases that a warp takes its trial through before that."""


_loaded: set[tuple[Any, ...]] = set()


@cache
def beginning(n_arms: int) -> Any:
    """The kernel that puts all at their start."""
    return compile_kernel(make_begin, n_arms)


@cache
def dealing() -> Any:
    """The kernel that deals pulls."""
    return compile_kernel(make_deal)


@cache
def compiled(
    algorithm: str, scheme: str, n_arms: int, facts: Facts, team: bool, mergers: int, whole: bool
) -> tuple[Any, ...]:
    """The kernels for a subroutine, a scheme and a number of arms; compiled when first run."""
    code = Code.of(algorithm, scheme, n_arms, facts)
    begin = beginning(n_arms)
    if whole:
        phases = compile_kernel(make_phases, code, WARP, registers=MERGING, rolled=True)
        return begin, phases
    # A team of many threads has most of a multiprocessor for itself.
    how: dict[str, Any] = {} if mergers > WARP else {"registers": MERGING, "rolled": True}
    return (
        begin,
        compile_kernel(make_rows, code, registers=REGISTERS),
        compile_kernel(make_merge, code, team, mergers, **how),
        dealing(),
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
        whole: bool | None = None,
        crowd: int | None = None,
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
        if whole is None:
            long = scenario.algorithm.patient or scenario.horizon is not None
            whole = long and n <= SMALL and n_trials >= multiprocessors()
        self.whole = whole and team
        facts = facts_of(scenario, plain, self.arena)
        self.threads = threads
        while self.threads > WARP and self.threads >= 2 * n:
            self.threads //= 2
        each = -(-n // self.threads) if team else 0
        self.blocks = each * n_trials if team else -(-total // self.threads)
        few = team and n_trials < multiprocessors()
        mergers = self.threads if few else min(WARP, self.threads)
        crowd = crowd or room_of(mergers)
        self.mergers = (n_trials if team else -(-n_trials // mergers), mergers)
        with ALONE:
            self.kernels = compiled(*scenario.loop[:2], k, facts, team, mergers, self.whole)
        shape = Shape(n_trials, n, each)
        players = Players(
            alive=Room((2, k, total), np.int8),
            ints=Room((2, k + len(fresh.ints), total), np.int32),
            reals=Room((2, k + len(fresh.floats), total), np.float64),
            own=Room((2, total, engine.words), np.int32),
            next=Room((2, total), np.float64),
            half=Room((total,), np.int8),
            moved=Room((total,), np.int8),
            voted=Room((2, total, k), np.int8),
            first_vote=Room((2, total), np.int32),
            place=Room((2, total, 2), np.int32),
            dealt=Room((n_trials, DEALT * n) if self.in_order else (1, 1), np.int32),
            ends=Room((total if self.in_order else 1,), np.int32),
        )
        trial_rows = Trials(
            keys=trial_keys(seed, trials),
            streams=stream_keys(scenario, seed, trials if self.in_order else trials[:1]),
            counters=Room((n_trials, tables.N_COUNTERS), np.int64),
            past=Room((n_trials, tables.N_COUNTERS), np.int64),
            added=Room((n_trials, tables.N_COUNTERS), np.int64),
            last=Room((n_trials, 1), np.float64),
            keep=Room((n_trials,), np.int8),
            words=Room((n_trials, N_WORDS), np.int64),
            times=Room((n_trials, N_TIMES), np.float64),
            tally=Room((n_trials, k), np.int64),
            by_arm=Room((n_trials, k, engine.arm_words), np.int64),
            shared=Room((n_trials, k), np.int8),
            seen=Room((n_trials, k), np.int8),
            before=Room((n_trials, k), np.int8),
            heard=Heard(
                who=Room((n_trials, crowd), np.int32),
                mark=Room((n_trials, crowd), np.int64),
                when=Room((n_trials, crowd), np.float64),
                decides=Room((n_trials, crowd), np.int8),
                adds=Room((n_trials, crowd, n_columns(k)), np.int32),
            ),
        )
        words, times = np.zeros((1, N_WORDS), dtype=np.int64), np.zeros((1, N_TIMES))
        words[0, [PHASE, SPEAKER]] = START, NOBODY
        times[0, [WIDTH, GAP, MOST]] = first_width(scenario), 1.0, math.inf
        if self.in_order:
            times[0, [WIDTH, GAP, MOST]] = FIRST_WIDTH, n, LONGEST if scenario.horizon else DEALT
        times[0, [GROWTH, SLACK]] = max(growth(scenario), GROWING), LITTLE
        environment, spans, setting, self.players, self.trials, self.fresh, self.waking, busy = (
            on_device(
                (
                    environment_arrays(plain),
                    cell_spans(scenario),
                    setting_of(scenario, self.arena),
                    players,
                    trial_rows,
                    Fresh(self.arena.counters[None], words, times),
                    waking_of(scenario),
                    (np.zeros(1, dtype=np.int8), np.zeros(1, dtype=np.int8)),
                ),
                self.lane,
            )
        )
        self.busy, self.idle = busy
        given = (environment, rule or scenario.rule, spans, setting, shape)
        self.given = (*given, self.players, self.trials)
        if not self.whole:
            self._prepare()

    def _begin(self, stream: Any) -> None:
        """Put all players and trials at their start, unless they are further already."""
        if self.fresh is not None:
            blocks = -(-len(self.players.half) // ROWS)
            self.kernels[0][blocks, ROWS, stream](
                self.given[4], self.players, self.trials, self.fresh
            )

    def _prepare(self) -> None:
        """Record the launches that take all trials to their next phase."""
        _, rows, merge, deal = self.kernels
        shape = self.given[4]
        dealers = min(DEALERS, max(WARP, 1 << (shape.n_players - 1).bit_length()))

        def start(stream: Any) -> None:
            self._begin(stream)
            merge[(*self.mergers, stream)](*self.given, self.busy)

        def advance(stream: Any) -> None:
            if self.in_order:
                dealing = deal[shape.n_trials, dealers, stream]
                dealing(self.waking, shape, self.players, self.trials)
            rows[self.blocks, self.threads, stream](*self.given, self.busy)
            merge[(*self.mergers, stream)](*self.given, self.busy)

        with ALONE:
            if self.kernels not in _loaded:  # nothing can be loaded while launches are recorded
                start(self.lane.stream)
                advance(self.lane.stream)
                _loaded.add(self.kernels)
            self.start, self.advance = self.lane.record(start, advance)

    def play(self) -> None:
        """Run all trials to their end, or to the horizon."""
        if self.whole:
            self._play_by_warps()
            return
        self.start()
        self.advance()
        self.lane.ask(self.busy)
        while self.lane.answer:
            for _ in range(AT_ONCE):
                self.advance()
            self.lane.ask(self.busy)

    def _play_by_warps(self) -> None:
        """Let a warp take each trial from phase to phase."""
        stream = self.lane.stream
        phases = self.kernels[1][len(self.trials.keys), WARP, stream]
        with ALONE:
            self._begin(stream)
        going = True
        while going:
            self.busy.copy_to_device(self.idle, stream=stream)
            with ALONE:
                phases(*self.given, self.busy, self.waking, MANY)
            self.lane.ask(self.busy)
            going = self.lane.answer != 0

    def go_on(self, scenario: Scenario, block: Block) -> None:
        """Be ready to take all trials to a further horizon; up to the last they came to ``block``.

        The numbers that are drawn do not depend on it, so what is past is the same for both.
        """
        self.scenario, self.fresh = scenario, None
        *first, setting, shape, players, trials = self.given
        setting = setting._replace(horizon=scenario.horizon)
        self.given = (*first, setting, shape, players, trials)
        words = self.lane.fetch(trials.words)
        words[(block.ending == UNFINISHED) | bool(setting.endless), PHASE] = START
        trials.words.copy_to_device(words, stream=self.lane.stream)
        if not self.whole:
            self._prepare()

    def outcomes(self) -> Block:
        """What each trial came to."""
        n, n_trials = self.scenario.n_players, len(self.trials.keys)
        fetch = self.lane.fetch
        votes = Votes.of(fetch(self.players.first_vote[0]).reshape(n_trials, n))
        names = ("counters", "tally", "by_arm", "shared")
        columns = {name: np.moveaxis(fetch(getattr(self.trials, name)), 0, -1) for name in names}
        arena = self.arena._replace(alive=self._alive(), **columns)
        return outcomes_of(self.scenario, closed(self.scenario, arena), votes)

    def _alive(self) -> Any:
        """Every player's remaining arms, if they are asked for: ``[player, arm, trial]``."""
        players, fetch = self.players, self.lane.fetch
        if self.scenario.scheme.by_message and self.scenario.horizon is None:
            return None
        n, k, n_trials = self.scenario.n_players, self.scenario.spec.n_arms, len(self.trials.keys)
        moved = fetch(players.moved).reshape(n_trials, n)
        half = fetch(players.half).reshape(n_trials, n)
        half ^= moved & fetch(self.trials.keep)[:, None]
        both = fetch(players.alive).reshape(2, k, n_trials, n)
        return np.where(half == 1, both[1], both[0]).transpose(2, 0, 1)
