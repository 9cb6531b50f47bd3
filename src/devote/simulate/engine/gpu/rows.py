"""The rows of a phase.

``row`` scans a window for one player, or sets it to the moment of a decision, as
``clocks.make_clocks`` does with the same functions. A launch of ``rows`` does all rows of a phase,
a thread for each player; ``phases`` goes from phase to phase by itself.
Nothing depends on the number of threads: sums are of whole numbers, and the only other thing that
players add up to is a maximum.

``known`` is a digest of the code of all functions that a kernel calls. It is part of what a kernel
closes over, and so of its key in numba's cache, which by itself would not see them change.
"""

from collections.abc import Callable
from typing import Any

from numba import cuda, float64, int8, int32, int64

from devote.kernels import State
from devote.kernels.tables import ACTIVE, N_COUNTERS, N_SHARED, SUBOPTIMAL, TIME
from devote.simulate.engine.alone import ALOUD, ARRIVED, calm_of, pulls_in_a_row, run_alone
from devote.simulate.engine.gpu.code import ROWS, Code
from devote.simulate.engine.gpu.hear import make_hear
from devote.simulate.engine.gpu.heard import N_KEPT, N_SAID, prepare
from devote.simulate.engine.gpu.in_order import (
    dealt_to,
    first_dealt,
    judge_arms,
    pulls_before,
    run_in_order,
)
from devote.simulate.engine.gpu.in_step import make_line_up, make_sum_up, make_waits
from devote.simulate.engine.gpu.tables import (
    arena_of_one,
    environment_of,
    look_at,
    pick_up,
    put_clock,
    put_down,
    put_own,
    put_votes,
)
from devote.simulate.engine.gpu.target import device_function
from devote.simulate.engine.numbers import player_key, run_clock
from devote.simulate.engine.windows import (
    BEGIN,
    LIMIT,
    N_HALTED,
    NOT_NOW,
    OVER,
    PHASE,
    SCAN,
    SET,
    STOCK,
    copy,
)


def make_row(code: Code, threads: int) -> Callable[..., None]:
    """What a thread of a block of so many does with one player.

    Each finds out how far one player has to go. Then they run, those who have as far to go side by
    side (``line_up``): a thread may run another player than the one it has looked at. Where a
    decision is taken stock of, everybody is where it was made, and nobody runs. A player's state is
    in shared memory if it fits, as that of a lone one (``lone``).
    """
    algorithm, engine, n_arms, n_ints, n_floats, facts = code
    clocks, shared = engine.clocks, code.fits
    assert clocks is not None
    wake, learn = engine.wake, engine.learn
    play, take, choose, observe = engine.choose, engine.observe, algorithm.choose, algorithm.observe
    speaks, tells, rests, take_stock = clocks.speaks, clocks.tells, clocks.rests, clocks.take_stock
    awaited, counts, n_counts = clocks.awaited, clocks.counts or (0,), len(clocks.counts)
    n_own, counts_pulls = engine.words, algorithm.counts_pulls
    waits, hear = make_waits(algorithm), make_hear(engine.ended)
    line_up, sum_up = make_line_up(threads), make_sum_up(threads)
    silent, calm = clocks.silent, calm_of(algorithm, engine)
    at_once = pulls_in_a_row(algorithm, engine)
    arm_room, int_room = n_arms | 1, n_ints | 1
    kind, n_groups, n_segments, resampled, steady, endless, noisy, in_order = facts
    run: Callable[..., Any] = run_in_order if in_order else run_alone

    def row(buffers, rule, spans, setting, shape, players, trials, trial, player):  # type: ignore[no-untyped-def]
        me = cuda.threadIdx.x
        here = trial < shape.n_trials and player < shape.n_players
        gain = cuda.local.array(N_COUNTERS, int64)
        for j in range(N_COUNTERS):
            gain[j] = 0
        if shared:
            alive = cuda.shared.array((threads, 1, n_arms), int8)[me]
            pulls = cuda.shared.array((threads, arm_room), int32)[me, :n_arms]
            sums = cuda.shared.array((threads, arm_room), float64)[me, :n_arms]
            ints = cuda.shared.array((threads, int_room), int32)[me, :n_ints]
        else:
            alive = cuda.local.array((1, n_arms), int8)
            pulls = cuda.local.array(n_arms, int32)
            sums = cuda.local.array(n_arms, float64)
            ints = cuda.local.array(n_ints, int32)
        floats = cuda.local.array(n_floats, float64)
        own = cuda.local.array((1, n_own), int32)
        voted = cuda.local.array((1, n_arms), int8)
        first_vote = cuda.local.array(1, int32)
        out = cuda.local.array(n_arms, int32)
        scratch = cuda.local.array(N_COUNTERS, int64)
        kept = cuda.local.array(N_KEPT, int64)
        state = State(alive[0], pulls, sums, ints, floats)
        if here:
            phase = trials.words[trial, PHASE]
            here = phase in (SCAN, SET)
        limit, begin = 0.0, 0
        stretch = (0, 0, 0, 0.0)
        if here:
            i = trial * shape.n_players + player
            half = int(players.half[i])
            if trials.keep[trial] and players.moved[i]:
                half = 1 - half
                players.half[i] = half
            players.moved[i] = 0
            limit, begin = trials.times[trial, LIMIT], pulls_before(trials.times[trial, BEGIN])
            # Who has said nothing matters to a decision only once one arm is left.
            if trials.words[trial, STOCK] != 0 and (
                trials.counters[trial, N_SHARED] == 1 or players.first_vote[0, i] >= 0
            ):
                look_at(players, half, i, state, own)
                copy(trials.counters[trial], scratch)
                for j in range(n_counts):
                    scratch[counts[j]] = 0
                for k in range(n_arms):
                    voted[0, k] = players.voted[0, i, k]
                after = arena_of_one(
                    shape.n_players,
                    setting,
                    endless,
                    steady,
                    scratch,
                    alive,
                    own,
                    voted,
                    first_vote,
                    trials.tally[trial],
                    trials.by_arm[trial],
                    trials.shared[trial],
                    trials.before[trial],
                    out,
                )
                take_stock(after, 0)
                for j in range(n_counts):
                    gain[counts[j]] = scratch[counts[j]]
                put_own(players, half, i, own)
            # With more heard than there is room for, the window does not count.
            if trials.words[trial, N_HALTED] <= trials.heard.who.shape[1]:
                if in_order:
                    place, last = first_dealt(players, trial, player, half, i, begin)
                    stretch = dealt_to(players.dealt[trial], place, last, begin, limit)
                elif players.next[half, i] < limit:
                    span = spans[player] if len(spans) > 1 else spans[0]
                    cell, made = int(players.place[half, i, 0]), int(players.place[half, i, 1])
                    key = player_key(trials.keys[trial], player)
                    stretch = run_clock(key, cell, made, span, limit)
                    if stretch[0] == 0:
                        put_clock(players, half, i, stretch[3], stretch[1], stretch[2])
        if shape.blocks_each > 0:
            other, stretch = line_up(stretch)
            player += other - me
        if stretch[0] > 0:
            i = trial * shape.n_players + player
            half = int(players.half[i])
            pick_up(players, half, i, counts_pulls, state, own)
            copy(trials.past[trial], scratch)
            if silent:
                tally, seen = trials.tally[trial], trials.seen[trial]
                before = trials.before[trial]
            else:
                tally = cuda.local.array(n_arms, int64)
                seen = cuda.local.array(n_arms, int8)
                before = cuda.local.array(n_arms, int8)
                copy(trials.seen[trial], seen)
            arena = arena_of_one(
                shape.n_players,
                setting,
                endless,
                steady,
                scratch,
                alive,
                own,
                voted,
                first_vote,
                tally,
                trials.by_arm[trial],
                seen,
                before,
                out,
            )
            env = environment_of(kind, n_arms, n_groups, n_segments, resampled, buffers)
            calls = (wake, learn, play, take, speaks, tells, rests, waits, calm, at_once)
            subroutine = (rule, choose, observe)
            if in_order:
                is_bad = cuda.local.array(n_arms, int8)
                judge_arms(env, setting.epsilon, player, begin, pulls_before(limit), is_bad)
                dealt, keys = players.dealt[trial], trials.streams[trial]
                clock: Any = (keys, dealt, begin, noisy, awaited, is_bad)
                cell, made = stretch[1] - stretch[0], 0
            else:
                span = spans[player] if len(spans) > 1 else spans[0]
                clock = (player_key(trials.keys[trial], player), span, noisy, awaited)
                cell, made = int(players.place[half, i, 0]), int(players.place[half, i, 1])
            was_active = own[0, ACTIVE]
            kept[N_SAID] = 0
            what = (calls, subroutine, env, arena, state, player, clock)
            hearing = (prepare, hear, (trials, players, trial, player, i, kept))
            how, cell, made, t, bad, changed = run(*what, cell, made, stretch, ALOUD, hearing)
            if how == ARRIVED:
                if kept[N_SAID] != 0:
                    put_votes(players, 1, i, voted, first_vote)
                for j in range(N_COUNTERS):
                    gain[j] += scratch[j] - trials.past[trial, j]
                gain[TIME] += own[0, ACTIVE] - was_active
                gain[SUBOPTIMAL] += bad
                if changed != NOT_NOW:
                    cuda.atomic.max(trials.last, (trial, 0), changed)
                half = 1 - half
                players.moved[i] = 1
                put_clock(players, half, i, t, cell, made)
                put_down(players, half, i, counts_pulls, state, own)
        sum_up(gain, trials.added, trial, shape.blocks_each > 0)

    return row


def make_rows(code: Code, known: int) -> Callable[..., None]:
    """The kernel that scans a window, or sets everybody to a moment."""
    row = device_function(make_row(code, ROWS))

    def rows(buffers, rule, spans, setting, shape, players, trials, busy):  # type: ignore[no-untyped-def]
        busy[0] = known < 0
        if shape.blocks_each > 0:
            trial = cuda.blockIdx.x // shape.blocks_each
            if trials.words[trial, PHASE] == OVER:
                return
            block = cuda.blockIdx.x % shape.blocks_each
            player = block * cuda.blockDim.x + cuda.threadIdx.x
        else:
            trial = cuda.grid(1) // shape.n_players
            player = cuda.grid(1) % shape.n_players
        row(buffers, rule, spans, setting, shape, players, trials, trial, player)

    return rows
