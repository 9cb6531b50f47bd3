"""Players of whom nobody hears: each runs to its end in one launch.

There are no windows, and nothing is kept but what a player came to. A thread takes the next player
when its own has ended, and pulls that take much work (``Algorithm.laborious``) are made together,
so that the threads of a warp, which wait for each other, all have work. A player's state is in
shared memory if it fits, a row for each thread: threads look up different arms at once. A row has
an odd number of words, so that no two rows are in each other's way.

A trial ends with the last of its players: then the others have played their one arm until that
moment (``make_till_last``).
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numba import cuda, float64, int8, int32, int64

from devote.kernels import State
from devote.kernels.state import start
from devote.kernels.tables import ACTIVE, DECIDED, N_COUNTERS, SUBOPTIMAL, TIME
from devote.problems import is_suboptimal, pay
from devote.simulate.block import Block
from devote.simulate.engine.alone import bad_play
from devote.simulate.engine.clocks_run import cell_spans
from devote.simulate.engine.gpu.arrays import Room, on_device, setting_of
from devote.simulate.engine.gpu.code import ROWS, Code, Facts, facts_of
from devote.simulate.engine.gpu.in_step import make_waits
from devote.simulate.engine.gpu.lane import InLane
from devote.simulate.engine.gpu.tables import arena_of_one, environment_of
from devote.simulate.engine.gpu.target import ALONE, compile_kernel, multiprocessors
from devote.simulate.engine.numbers import (
    activation_word,
    moment_after,
    noise_word,
    onward,
    player_key,
    run_clock,
    unit,
)
from devote.simulate.engine.outcomes import closed, outcomes_of
from devote.simulate.engine.setting import environment_arrays, new_arena
from devote.simulate.engine.windows import JUST_AFTER
from devote.simulate.streams import trial_keys
from devote.simulate.votes import Votes

THREADS = ROWS
"""Of a block."""

BLOCKS = 8
"""On each multiprocessor at once, at most."""

REGISTERS = 64
"""Of a thread: so many leave room for that many blocks."""


def make_lone(code: Code, known: int) -> Callable[..., None]:
    """The kernel that runs players to their end."""
    algorithm, engine, n_arms, n_ints, n_floats, facts = code
    clocks, shared = engine.clocks, code.fits
    assert clocks is not None
    wake, learn = engine.wake, engine.learn
    play, take, choose, observe = engine.choose, engine.observe, algorithm.choose, algorithm.observe
    awaited = clocks.awaited
    n_own, waits = engine.words, make_waits(algorithm)
    arm_room, int_room, flag_room = n_arms | 1, n_ints | 1, 4 * (-(-n_arms // 4) | 1)
    kind, n_groups, n_segments, resampled, steady, endless, noisy, _ = facts

    def lone(buffers, rule, setting, n_players, keys, fresh, counters, alive_at_end):  # type: ignore[no-untyped-def]
        me = cuda.threadIdx.x
        if shared:
            alive = cuda.shared.array((THREADS, flag_room), int8)[me, :n_arms]
            pulls = cuda.shared.array((THREADS, arm_room), int32)[me, :n_arms]
            sums = cuda.shared.array((THREADS, arm_room), float64)[me, :n_arms]
            ints = cuda.shared.array((THREADS, int_room), int32)[me, :n_ints]
        else:
            alive = cuda.local.array(n_arms, int8)
            pulls = cuda.local.array(n_arms, int32)
            sums = cuda.local.array(n_arms, float64)
            ints = cuda.local.array(n_ints, int32)
        floats = cuda.local.array(n_floats, float64)
        own = cuda.local.array((1, n_own), int32)
        voted = cuda.local.array((1, n_arms), int8)
        first_vote = cuda.local.array(1, int32)
        out = cuda.local.array(n_arms, int32)
        scratch = cuda.local.array(N_COUNTERS, int64)
        table = cuda.local.array((1, n_arms), int8)
        words = cuda.local.array((n_arms, 1), int64)
        state = State(alive, pulls, sums, ints, floats)
        arena = arena_of_one(
            1,
            setting,
            endless,
            steady,
            scratch,
            table,
            own,
            voted,
            first_vote,
            out,
            words,
            setting.shared,
            setting.shared,
            out,
        )
        env = environment_of(kind, n_arms, n_groups, n_segments, resampled, buffers)
        subroutine = (rule, choose, observe)
        active, bad, key, player = -1, 0, keys[0], 0
        number = cuda.grid(1)
        while number < len(counters):
            if active < 0:
                start(state)
                for j in range(n_own):
                    own[0, j] = 0
                for j in range(N_COUNTERS):
                    scratch[j] = fresh[j]
                player = number % n_players
                key = player_key(keys[number // n_players], player)
                active = bad = 0
            if not waits(state):
                # As ``run_alone``, where nobody hears of anything and no time passes.
                word = activation_word(key, active)
                noise = unit(noise_word(key, active)) if noisy else 0.0
                active += 1
                own[0, ACTIVE] = active
                wake(arena, state, 0, noise)
                arm = play(subroutine, arena, state, 0, unit(word))
                bad += bad_play(env, arena, 0, player, arm)
                reward = pay(env, 0, player, arm, unit(onward(word)))
                n_out = take(subroutine, arena, state, 0, arm, reward, noise)
                if n_out != 0:
                    learn(arena, state, 0, n_out)
                    if scratch[awaited] != fresh[awaited] or known < 0:
                        scratch[TIME] = scratch[DECIDED] = active
                        scratch[SUBOPTIMAL] += bad
                        for j in range(N_COUNTERS):
                            counters[number, j] = scratch[j]
                        for k in range(n_arms):
                            alive_at_end[k, number] = alive[k]
                        active = -1
                        number += cuda.gridsize(1)

    return lone


def make_till_last(facts: Facts, n_arms: int, known: int) -> Callable[..., None]:
    """The kernel that adds up the players of each trial, of a block each, when the last is done."""
    kind, n_groups, n_segments, resampled, steady, *_ = facts

    def till_last(  # type: ignore[no-untyped-def]
        buffers, setting, n_players, spans, keys, fresh, counters, alive_at_end, totals, held
    ):
        ends = cuda.shared.array(THREADS, float64)
        trial, me, mates = cuda.blockIdx.x, cuda.threadIdx.x, cuda.blockDim.x
        env = environment_of(kind, n_arms, n_groups, n_segments, resampled, buffers)
        low, end = trial * n_players, 0.0
        for player in range(me, n_players, mates):
            span = spans[player] if len(spans) > 1 else spans[0]
            key, more = player_key(keys[trial], player), int(counters[low + player, TIME]) - 1
            end = max(end, moment_after(key, 0, 0, span, more)[2])
        ends[me] = end
        for k in range(me, n_arms, mates):
            held[k, trial] = 0
        for j in range(me, N_COUNTERS, mates):
            totals[trial, j] = fresh[j]
        cuda.syncthreads()
        for mate in range(mates):
            end = max(end, ends[mate])
        gain = cuda.local.array(N_COUNTERS, int64)
        for j in range(N_COUNTERS):
            gain[j] = 0
        for player in range(me, n_players, mates):
            number, arm = low + player, 0
            for k in range(n_arms):
                if alive_at_end[k, number]:
                    held[k, trial] = 1
                    arm = k
            for j in range(N_COUNTERS):
                gain[j] += counters[number, j] - fresh[j]
            span = spans[player] if len(spans) > 1 else spans[0]
            key = player_key(keys[trial], player)
            rest = run_clock(key, 0, 0, span, end * JUST_AFTER)[0] - counters[number, TIME]
            is_bad = 1 - setting.good[arm]
            if not steady:
                is_bad = is_suboptimal(env, setting.epsilon, 0, player, arm)
            gain[TIME] += rest
            gain[SUBOPTIMAL] += rest * is_bad
        gain[DECIDED] = gain[TIME]
        for j in range(N_COUNTERS):
            if gain[j] != 0 or known < 0:
                cuda.atomic.add(totals, (trial, j), gain[j])

    return till_last


@cache
def compiled_lone(algorithm: str, scheme: str, n_arms: int, facts: Facts, *functions: Any) -> Any:
    """The kernel for a subroutine and a scheme; compiled when first run."""
    code = Code.of(algorithm, scheme, n_arms, facts)
    return compile_kernel(make_lone, code, registers=REGISTERS)


@cache
def compiled_till_last(facts: Facts, n_arms: int) -> Any:
    """The kernel that adds up players; compiled when first run."""
    return compile_kernel(make_till_last, facts, n_arms)


class LoneBatch(InLane):
    """Some trials of one scenario, whose players are each done in their own time, all at once."""

    def _make(self, seed: int, trials: Sequence[int]) -> None:
        scenario = self.scenario
        n, k, n_trials = scenario.n_players, scenario.spec.n_arms, len(trials)
        plain = scenario.problem.environment(n)
        self.arena = new_arena(scenario, plain, alive=None, own=None, voted=None)
        code = scenario.algorithm
        facts = facts_of(scenario, plain, self.arena)
        with ALONE:
            self.kernel = compiled_lone(*scenario.loop[:2], k, facts, code.choose, code.observe)
            self.till_last = compiled_till_last(facts, k)
        several = n_trials if n > 1 else 0
        environment, spans, setting, keys, fresh, self.counters, alive, totals, held, self.busy = (
            on_device(
                (
                    environment_arrays(plain),
                    cell_spans(scenario),
                    setting_of(scenario, self.arena),
                    trial_keys(seed, trials),
                    self.arena.counters,
                    Room((n_trials * n, N_COUNTERS), np.int64),
                    Room((k, n_trials * n), np.int8),
                    Room((several, N_COUNTERS), np.int64),
                    Room((k, several), np.int8),
                    np.zeros(1, dtype=np.int8),
                ),
                self.lane,
            )
        )
        ran = (keys, fresh, self.counters, alive)
        self.given = (environment, scenario.rule, setting, n, *ran)
        self.added = (environment, setting, n, spans, *ran, totals, held)
        self.came_to = (totals, held) if n > 1 else (self.counters, alive)
        self.blocks = min(-(-n_trials * n // THREADS), BLOCKS * multiprocessors())

    def play(self) -> None:
        """Run all trials to their end."""
        n_trials = len(self.came_to[0])
        with ALONE:
            self.kernel[self.blocks, THREADS, self.lane.stream](*self.given)
            if self.scenario.n_players > 1:
                self.till_last[n_trials, THREADS, self.lane.stream](*self.added)
        self.lane.ask(self.busy)
        assert self.lane.answer == 0

    def outcomes(self) -> Block:
        """What each trial came to."""
        totals, held = map(self.lane.fetch, self.came_to)
        columns = {name: getattr(self.arena, name)[..., None] for name in ("tally", "by_arm")}
        arena = self.arena._replace(counters=totals.T, alive=held[None], **columns)
        votes = Votes.none(len(totals), self.scenario.n_players)
        return outcomes_of(self.scenario, closed(self.scenario, arena), votes)
