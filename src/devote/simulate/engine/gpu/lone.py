"""Players who are alone in their runs: each runs to its end in one launch.

There are no windows, nobody is heard of, and nothing is kept but what a run came to. A thread takes
the next player when its own has ended, and pulls that take much work (``Algorithm.laborious``) are
made together, so that the threads of a warp, which wait for each other, all have work. A player's
state is in shared memory if it fits, a row for each thread: threads look up different arms at
once. A row has an odd number of words, so that no two rows are in each other's way.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numba import cuda, float64, int8, int32, int64

from devote.kernels import State
from devote.kernels.state import start
from devote.kernels.tables import ACTIVE, DECIDED, N_COUNTERS, SUBOPTIMAL, TIME
from devote.problems import pay
from devote.simulate.block import Block
from devote.simulate.engine.alone import bad_play
from devote.simulate.engine.gpu.arrays import Room, on_device, setting_of
from devote.simulate.engine.gpu.code import ROWS, Code, Facts, facts_of
from devote.simulate.engine.gpu.in_step import make_waits
from devote.simulate.engine.gpu.lane import InLane
from devote.simulate.engine.gpu.tables import arena_of_one, environment_of
from devote.simulate.engine.gpu.target import ALONE, compile_kernel, multiprocessors
from devote.simulate.engine.numbers import activation_word, noise_word, onward, player_key, unit
from devote.simulate.engine.outcomes import closed, outcomes_of
from devote.simulate.engine.setting import environment_arrays, new_arena
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

    def lone(buffers, rule, setting, keys, fresh, counters, alive_at_end):  # type: ignore[no-untyped-def]
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
        active, bad, key = -1, 0, keys[0]
        trial = cuda.grid(1)
        while trial < len(keys):
            if active < 0:
                start(state)
                for j in range(n_own):
                    own[0, j] = 0
                for j in range(N_COUNTERS):
                    scratch[j] = fresh[j]
                key = player_key(keys[trial], 0)
                active = bad = 0
            if not waits(state):
                # As ``run_alone``, where nobody hears of anything and no time passes.
                word = activation_word(key, active)
                noise = unit(noise_word(key, active)) if noisy else 0.0
                active += 1
                own[0, ACTIVE] = active
                wake(arena, state, 0, noise)
                arm = play(subroutine, arena, state, 0, unit(word))
                bad += bad_play(env, arena, 0, 0, arm)
                reward = pay(env, 0, 0, arm, unit(onward(word)))
                n_out = take(subroutine, arena, state, 0, arm, reward, noise)
                if n_out != 0:
                    learn(arena, state, 0, n_out)
                    if scratch[awaited] != fresh[awaited] or known < 0:
                        scratch[TIME] = scratch[DECIDED] = active
                        scratch[SUBOPTIMAL] += bad
                        for j in range(N_COUNTERS):
                            counters[trial, j] = scratch[j]
                        for k in range(n_arms):
                            alive_at_end[k, trial] = alive[k]
                        active = -1
                        trial += cuda.gridsize(1)

    return lone


@cache
def compiled_lone(algorithm: str, scheme: str, n_arms: int, facts: Facts, *functions: Any) -> Any:
    """The kernel for a subroutine and a scheme; compiled when first run."""
    code = Code.of(algorithm, scheme, n_arms, facts)
    return compile_kernel(make_lone, code, registers=REGISTERS)


class LoneBatch(InLane):
    """Some trials of one scenario, each of one player, all at once."""

    def _make(self, seed: int, trials: Sequence[int]) -> None:
        scenario = self.scenario
        k, n_trials = scenario.spec.n_arms, len(trials)
        plain = scenario.problem.environment(1)
        self.arena = new_arena(scenario, plain, alive=None, own=None, voted=None)
        code = scenario.algorithm
        facts = facts_of(scenario, plain, self.arena)
        with ALONE:
            self.kernel = compiled_lone(*scenario.loop[:2], k, facts, code.choose, code.observe)
        environment, setting, keys, fresh, self.counters, self.alive, self.busy = on_device(
            (
                environment_arrays(plain),
                setting_of(scenario, self.arena),
                trial_keys(seed, trials),
                self.arena.counters,
                Room((n_trials, N_COUNTERS), np.int64),
                Room((k, n_trials), np.int8),
                np.zeros(1, dtype=np.int8),
            ),
            self.lane,
        )
        self.given = (environment, scenario.rule, setting, keys, fresh, self.counters, self.alive)
        self.blocks = min(-(-n_trials // THREADS), BLOCKS * multiprocessors())

    def play(self) -> None:
        """Run all trials to their end."""
        with ALONE:
            self.kernel[self.blocks, THREADS, self.lane.stream](*self.given)
        self.lane.ask(self.busy)
        assert self.lane.answer == 0

    def outcomes(self) -> Block:
        """What each trial came to."""
        counters, alive = self.lane.fetch(self.counters).T, self.lane.fetch(self.alive)[None]
        columns = {name: getattr(self.arena, name)[..., None] for name in ("tally", "by_arm")}
        arena = self.arena._replace(counters=counters, alive=alive, **columns)
        return outcomes_of(
            self.scenario, closed(self.scenario, arena), Votes.none(counters.shape[1], 1)
        )
