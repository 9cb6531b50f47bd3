"""The kernel that takes each trial to its next phase, once ``rows`` has done the last one.

It does what ``clocks.make_clocks`` does, in the same order, with the same functions: a team of
threads finds who is the earliest of the halted, and one of them makes the loud activation. They do
that one after another, so a window in which that would take long is scanned again, shorter.
``known`` is as for ``rows``.
"""

import math
from collections.abc import Callable
from typing import Any

from numba import cuda, float64, int8, int32, int64

from devote.kernels import State
from devote.kernels.tables import ACTIVE, DECIDED, N_COUNTERS, SUBOPTIMAL, TIME, VERSION
from devote.simulate.engine.alone import HALTED, QUIET, SPOKEN, run_alone
from devote.simulate.engine.clocks import at_desk
from devote.simulate.engine.gpu.code import Code
from devote.simulate.engine.gpu.in_order import (
    end_at_pull,
    next_dealt,
    pulls_before,
    run_in_order,
)
from devote.simulate.engine.gpu.tables import (
    arena_of_one,
    desk_of,
    environment_of,
    less_to_merge,
    pick_up,
    put_clock,
    put_down,
)
from devote.simulate.engine.numbers import player_key
from devote.simulate.engine.windows import (
    BEGIN,
    LAST,
    LIMIT,
    N_HALTED,
    N_LOUD,
    NOT_NOW,
    OVER,
    PHASE,
    SCAN,
    SET,
    START,
    Plan,
    Rows,
    close_window,
    copy,
    count_set,
    end_earlier,
    note_decision,
    open_window,
)

TEAM = 256
"""Threads of a trial, at most."""

BEFORE, LOUD, ON = range(3)
"""What is done with a player: it is brought to just before its loud activation, makes it, and goes
on to the end of the window."""

NEAR = 4
"""Loud activations, at most so many, before a decision that is near."""

NEVER_AGAIN = math.inf
"""In place of when a player has halted: it has arrived at the end of the window."""


def make_merge(code: Code, team: bool, known: int) -> Callable[..., None]:
    """The kernel that takes trials to their next phase, a team of threads or one for each."""
    algorithm, engine, n_arms, n_ints, n_floats, facts = code
    clocks = engine.clocks
    assert clocks is not None
    wake, learn, ended = engine.wake, engine.learn, engine.ended
    play, take, choose, observe = engine.choose, engine.observe, algorithm.choose, algorithm.observe
    speaks, tells, rests, due = clocks.speaks, clocks.tells, clocks.rests, clocks.due
    awaited, counts, n_counts = clocks.awaited, clocks.counts or (0,), len(clocks.counts)
    n_own, counts_pulls = engine.words, algorithm.counts_pulls
    kind, n_groups, n_segments, resampled, steady, endless, noisy, in_order = facts
    run: Callable[..., Any] = run_in_order if in_order else run_alone

    def merge(buffers, rule, spans, setting, shape, players, trials, busy):  # type: ignore[no-untyped-def]
        times_of = cuda.shared.array(TEAM, float64)
        places = cuda.shared.array(TEAM, int64)
        trial, me, mates = cuda.grid(1), 0, 1
        if team:
            trial, me, mates = cuda.blockIdx.x, cuda.threadIdx.x, cuda.blockDim.x
        cuda.syncthreads()
        if trial >= shape.n_trials:
            return
        words, times = trials.words[trial], trials.times[trial]
        phase, n_halted = words[PHASE], words[N_HALTED]
        if team:
            cuda.syncthreads()  # everybody has read it before it is changed
        if phase == OVER:
            return
        low, high = trial * shape.n_players, (trial + 1) * shape.n_players
        counters, added = trials.counters[trial], trials.added[trial]
        who, when, nth = players.who[low:high], players.when[low:high], players.nth[low:high]
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
        gain = cuda.local.array(N_COUNTERS, int64)
        state = State(alive[0], pulls, sums, ints, floats)
        plan = Plan(words, times, trials.past[trial], trials.seen[trial], who, when, nth)
        desk = desk_of(
            state, alive, own, voted, first_vote, out, scratch, added, trials.last[trial]
        )
        real = arena_of_one(
            shape.n_players,
            setting,
            endless,
            steady,
            counters,
            alive,
            own,
            players.voted[low:high],
            first_vote,
            trials.tally[trial],
            trials.by_arm[trial],
            trials.shared[trial],
            trials.before[trial],
            out,
        )
        env = environment_of(kind, n_arms, n_groups, n_segments, resampled, buffers)
        arena = at_desk(real, desk, scratch, plan.seen)
        # Players keep their moves themselves when they are next run, unless all are counted here.
        horizon = 0 if in_order else setting.horizon
        lazy = horizon == 0
        end = low if lazy else high
        half_of, moved = players.half[low:end], players.moved[low:end]
        rows = Rows(
            scratch,
            players.next[:, low:high],
            half_of,
            moved,
            alive,
            own,
            players.place[:, low:high],
        )
        if me == 0 and phase in (START, SET):
            trials.keep[trial] = lazy
            over = words[LAST] != 0
            if phase == SET:
                count_set(rows, plan, desk, real, counts, n_counts)
            open_window(rows, plan, real, trials.keys[trial], spans, horizon)
            if in_order:
                end_at_pull(plan, setting.horizon)
            if phase == SET:
                copy(counters, scratch)
                if over or ended(arena) != 0:
                    if counters[DECIDED] == 0:
                        counters[DECIDED] = plan.past[DECIDED] = counters[TIME]
                    if real.endless == 0:
                        words[PHASE] = OVER
        # Each thread first brings a player of its own to just before its loud activation.
        # That is in vain if a decision is near.
        copy(counters, scratch)
        near = due(arena)
        work, ready, goes_on = BEFORE, -1, phase == SCAN
        helps = team and not 0 < near <= NEAR
        cell, made, first = 0, 0, 0
        while goes_on:
            place = -1
            for j in range(me, n_halted, mates):
                if when[j] < NEVER_AGAIN and (place < 0 or when[j] < when[place]):
                    place = j
            if team:
                places[me] = place
                times_of[me] = when[place] if place >= 0 else 0.0
                width = mates // 2
                while width > 0:
                    cuda.syncthreads()
                    if (
                        me < width
                        and places[me + width] >= 0
                        and (places[me] < 0 or times_of[me + width] < times_of[me])
                    ):
                        places[me] = places[me + width]
                        times_of[me] = times_of[me + width]
                    width //= 2
                cuda.syncthreads()
                place = places[0]
            limit = sooner = times[LIMIT]
            if work == BEFORE and place >= 0:
                sooner = less_to_merge(times, n_halted, when[place])
            if team:
                cuda.syncthreads()  # everybody has read it before it is changed
            if sooner < limit:
                goes_on = False
                if me == 0:
                    end_earlier(plan, sooner)
                    if in_order:
                        times[LIMIT] = math.floor(times[LIMIT]) + 1.0
                    trials.keep[trial] = 0
            elif place < 0:
                goes_on = False
                if me == 0:
                    close_window(rows, plan, desk, real, awaited)
                    trials.keep[trial] = lazy and words[PHASE] != SET
                    if words[PHASE] == SCAN:
                        open_window(rows, plan, real, trials.keys[trial], spans, horizon)
                        if in_order:
                            end_at_pull(plan, setting.horizon)
            mine = goes_on and me == place % mates
            if work == BEFORE:
                place = me
                mine = goes_on and helps and me < n_halted
            while mine:
                mine = False
                player = int(who[place])
                i = low + player
                half = int(players.half[i])
                if in_order:
                    begin, last = pulls_before(times[BEGIN]), int(players.ends[i])
                    dealt = players.dealt[trial]
                    clock: Any = (trials.streams[trial], dealt, last, begin, noisy, awaited)
                else:
                    span = spans[player] if len(spans) > 1 else spans[0]
                    clock = (player_key(trials.keys[trial], player), span, noisy, awaited)
                calls = (wake, learn, play, take, speaks, tells, rests)
                subroutine = (rule, choose, observe)
                loud = int(nth[place])
                if work == ON:
                    loud = QUIET
                elif work == LOUD and ready == place:
                    for j in range(N_COUNTERS):
                        scratch[j] = counters[j] + gain[j]
                else:
                    pick_up(players, half, i, counts_pulls, state, own)
                    for k in range(n_arms):
                        voted[0, k] = players.voted[i, k]
                    first_vote[0] = players.first_vote[i]
                    copy(counters, scratch)
                    cell, made = int(players.place[half, i, 0]), int(players.place[half, i, 1])
                    if in_order:
                        cell = int(players.ends[i - 1]) if player > 0 else 0
                        cell = next_dealt(dealt, cell, last, begin, players.next[half, i])
                ready = -1
                first = own[0, ACTIVE]
                how, t, bad, changed = SPOKEN, 0.0, 0, NOT_NOW
                runs = work != BEFORE or loud > first
                if work == BEFORE:
                    loud -= 1
                if runs:
                    what = (calls, subroutine, env, arena, state, player, clock)
                    how, cell, made, t, bad, changed = run(*what, cell, made, limit, loud)
                scratch[TIME] += own[0, ACTIVE] - first
                scratch[SUBOPTIMAL] += bad
                if work == BEFORE:
                    for j in range(N_COUNTERS):
                        gain[j] = scratch[j] - counters[j]
                    ready = place
                elif how == HALTED:
                    when[place], nth[place] = t, own[0, ACTIVE]
                elif how == SPOKEN:
                    words[N_LOUD] += 1
                    put_down(players, half, i, counts_pulls, state, own)
                    put_clock(players, half, i, t, cell, made)
                    for k in range(n_arms):
                        players.voted[i, k] = voted[0, k]
                    players.first_vote[i] = first_vote[0]
                    decided = scratch[VERSION] != counters[VERSION] or (scratch[DECIDED] != 0) != (
                        counters[DECIDED] != 0
                    )
                    copy(scratch, counters)
                    over = not decided and real.endless == 0 and ended(arena) != 0
                    if decided or over:
                        note_decision(plan, real, when[place], decided, over)
                        trials.keep[trial] = 0
                    else:
                        work = ON
                        mine = True
                else:
                    trials.last[trial, 0] = max(trials.last[trial, 0], changed)
                    for j in range(N_COUNTERS):
                        added[j] += scratch[j] - counters[j]
                    words[N_HALTED] -= 1
                    when[place] = NEVER_AGAIN
                    players.moved[i] = 1
                    put_down(players, 1 - half, i, counts_pulls, state, own)
                    put_clock(players, 1 - half, i, t, cell, made)
            work = LOUD
            if team:
                cuda.syncthreads()
            goes_on = goes_on and words[PHASE] == SCAN
            if team:
                cuda.syncthreads()
        if me == 0:
            words[N_HALTED] = 0
            trials.last[trial, 0] = NOT_NOW
            for j in range(N_COUNTERS):
                added[j] = 0
            if words[PHASE] != OVER or known < 0:
                busy[0] = 1

    return merge
