"""The kernel that takes each trial to its next phase, once ``rows`` has done the last one.

It does what ``clocks.make_clocks`` does, with the same functions. There a player halts before it is
loud; here all have been loud in passing (``heard``). If that makes no decision, the window counts.
Otherwise it is run again to just before the loud activation that does, the *speaker's*: what was
heard then is certain, and one thread makes that activation for all.
``known`` is as for ``rows``.
"""

from collections.abc import Callable
from typing import Any

from numba import cuda, float64, int8, int32, int64

from devote.kernels import State
from devote.kernels.tables import ACTIVE, DECIDED, N_COUNTERS, SUBOPTIMAL, TIME, VERSION
from devote.simulate.engine.alone import never_calm, never_prepares, run_alone, stops_after
from devote.simulate.engine.gpu.code import Code
from devote.simulate.engine.gpu.hear import make_count_certain
from devote.simulate.engine.gpu.heard import add_up, note_said, put_in_order
from devote.simulate.engine.gpu.in_order import (
    ASK,
    dealt_to,
    first_dealt,
    pulls_before,
    run_in_order,
)
from devote.simulate.engine.gpu.in_step import make_waits
from devote.simulate.engine.gpu.steps import after_set, end_before, next_window
from devote.simulate.engine.gpu.tables import (
    arena_of_one,
    desk_of,
    environment_of,
    pick_up,
    pick_up_votes,
    put_clock,
    put_down,
    put_votes,
    room_of,
)
from devote.simulate.engine.numbers import moment_after, player_key
from devote.simulate.engine.windows import (
    BEGIN,
    DUE,
    END,
    LIMIT,
    N_HALTED,
    N_LATER,
    N_LOUD,
    NOT_NOW,
    OVER,
    PHASE,
    SCAN,
    SET,
    SPEAKER,
    SPEAKS_AT,
    START,
    Plan,
    Rows,
    close_window,
    copy,
    expected,
    note_decision,
)

NOBODY = -1


def make_merge(code: Code, team: bool, threads: int, known: int) -> Callable[..., None]:
    """The kernel that takes trials to their next phase, a team of threads or one for each."""
    algorithm, engine, n_arms, n_ints, n_floats, facts = code
    clocks = engine.clocks
    assert clocks is not None
    wake, learn, ended = engine.wake, engine.learn, engine.ended
    play, take, choose, observe = engine.choose, engine.observe, algorithm.choose, algorithm.observe
    speaks, tells, rests, due = clocks.speaks, clocks.tells, clocks.rests, clocks.due
    awaited, counts, n_counts = clocks.awaited, clocks.counts or (0,), len(clocks.counts)
    n_own, counts_pulls = engine.words, algorithm.counts_pulls
    waits, count_certain = make_waits(algorithm), make_count_certain(due, team)
    room = room_of(threads)
    kind, n_groups, n_segments, resampled, steady, endless, noisy, in_order = facts
    run: Callable[..., Any] = run_in_order if in_order else run_alone

    def merge(buffers, rule, spans, setting, shape, players, trials, busy):  # type: ignore[no-untyped-def]
        if team:
            trial, me, mates = cuda.blockIdx.x, cuda.threadIdx.x, cuda.blockDim.x
            order = cuda.shared.array(room, int32)
            tally = cuda.shared.array(n_arms, int64)
            sums = cuda.shared.array(N_COUNTERS, int64)
            kept = cuda.shared.array(1, int8)
            cuda.syncthreads()
        else:
            trial, me, mates = cuda.grid(1), 0, 1
            order = cuda.local.array(room, int32)
            tally = cuda.local.array(n_arms, int64)
            sums = cuda.local.array(N_COUNTERS, int64)
            kept = cuda.local.array(1, int8)
        if trial >= shape.n_trials:
            return
        words, times = trials.words[trial], trials.times[trial]
        phase, n_heard, speaker = words[PHASE], words[N_HALTED], int(words[SPEAKER])
        if phase == OVER:
            return
        low, high = trial * shape.n_players, (trial + 1) * shape.n_players
        key, counters = trials.keys[trial], trials.counters[trial]
        alive = cuda.local.array((1, n_arms), int8)
        pulls = cuda.local.array(n_arms, int32)
        rewards = cuda.local.array(n_arms, float64)
        ints = cuda.local.array(n_ints, int32)
        floats = cuda.local.array(n_floats, float64)
        own = cuda.local.array((1, n_own), int32)
        voted = cuda.local.array((1, n_arms), int8)
        first_vote = cuda.local.array(1, int32)
        out = cuda.local.array(n_arms, int32)
        scratch = cuda.local.array(N_COUNTERS, int64)
        state = State(alive[0], pulls, rewards, ints, floats)
        heard = trials.heard
        who, mark, when = heard.who[trial], heard.mark[trial], heard.when[trial]
        votes, notes = trials.tally[trial], trials.by_arm[trial]
        seen, before = trials.seen[trial], trials.before[trial]
        fixed = (shape.n_players, setting, endless, steady)
        said = (alive, own, voted, first_vote)
        n = min(n_heard, len(who))
        for e in range(me, n, mates):
            order[e] = e
            if in_order:
                when[e] = mark[e] + 0.5
            else:
                player = int(who[e])
                i = low + player
                half = int(players.half[i])
                span = spans[player] if len(spans) > 1 else spans[0]
                cell, made = int(players.place[half, i, 0]), int(players.place[half, i, 1])
                more = int(mark[e]) - players.own[half, i, ACTIVE]
                when[e] = moment_after(player_key(key, player), cell, made, span, more)[2]
        if me == 0:
            copy(votes, tally)
            copy(counters, sums)
        if team:
            cuda.syncthreads()
        summed = arena_of_one(*fixed, sums, *said, tally, notes, seen, before, out)
        n_certain = n
        if phase == SCAN and speaker == NOBODY and n > 0:
            put_in_order(when, n, me, mates, order)
            if team:
                cuda.syncthreads()
            if n == n_heard:
                n_certain = count_certain(heard, trial, n, me, mates, order, summed)
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
        added, last = trials.added[trial], trials.last[trial]
        plan = Plan(words, times, trials.past[trial], seen, who, when, mark)
        desk = desk_of(state, alive, own, voted, first_vote, out, scratch, added, last)
        all_said = (alive, own, players.voted[0, low:high], first_vote)
        real = arena_of_one(
            *fixed, counters, *all_said, votes, notes, trials.shared[trial], before, out
        )
        arena = arena_of_one(*fixed, scratch, *said, votes, notes, seen, before, out)
        timing = (key, spans, horizon, in_order, setting.horizon)
        if me == 0:
            kept[0] = 1
            if phase in (START, SET):
                copy(counters, scratch)
                asked = (ended, arena, due(arena))
                after_set(rows, plan, desk, real, timing, (counts, n_counts), asked)
            elif n_heard > n:
                kept[0] = 0
                # Those that were noted stand for all; the first may be where the window begins.
                some = max(1, min(n - 1, int(expected(words) * n / n_heard)))
                end_before(plan, when[order[some]], in_order != 0)
            elif n_certain < n:
                kept[0] = 0
                words[SPEAKER], words[N_LATER] = who[order[n_certain]], n - 1 - n_certain
                times[SPEAKS_AT], times[END] = when[order[n_certain]], times[LIMIT]
                end_before(plan, times[SPEAKS_AT], in_order != 0)
            else:
                words[N_LOUD] = n
                if speaker == NOBODY:
                    words[DUE] = due(summed)
                close_window(rows, plan, desk, real, awaited)
                kept[0] = words[PHASE] != SET
                if speaker == NOBODY and words[PHASE] == SCAN:
                    next_window(rows, plan, real, timing)
            trials.keep[trial] = lazy and kept[0] != 0
        if team:
            cuda.syncthreads()
        if kept[0] != 0:
            add_up(heard.adds[trial], order, 0, n, me, mates, votes, sums[:0])
            for e in range(me, n, mates):
                note_said(players, low + int(who[e]))
        if team:
            cuda.syncthreads()
        if me == 0:
            if phase == SCAN and speaker != NOBODY:
                words[SPEAKER] = NOBODY
            if phase == SCAN and speaker != NOBODY and kept[0] != 0:
                i = low + speaker
                half = int(players.half[i])
                if lazy and players.moved[i]:
                    half = 1 - half
                    players.half[i] = half
                players.moved[i] = 0
                pick_up(players, half, i, counts_pulls, state, own)
                pick_up_votes(players, i, voted, first_vote)
                copy(counters, scratch)
                if in_order:
                    begin, made = pulls_before(times[BEGIN]), 0
                    cell, end = first_dealt(players, trial, speaker, half, i, begin)
                    dealt = players.dealt[trial]
                    stretch = dealt_to(dealt, cell, end, begin, times[END])
                    is_bad = cuda.local.array(n_arms, int8)
                    for k in range(n_arms):
                        is_bad[k] = ASK
                    clock: Any = (trials.streams[trial], dealt, begin, noisy, awaited, is_bad)
                else:
                    span = spans[speaker] if len(spans) > 1 else spans[0]
                    cell, made = int(players.place[half, i, 0]), int(players.place[half, i, 1])
                    clock = (player_key(key, speaker), span, noisy, awaited)
                    stretch = (0, cell, made, 0.0)
                calls = (wake, learn, play, take, speaks, tells, rests, waits, never_calm, 1)
                env = environment_of(kind, n_arms, n_groups, n_segments, resampled, buffers)
                what = (calls, (rule, choose, observe), env, arena, state, speaker, clock)
                nth, in_turn = int(own[0, ACTIVE]), (never_prepares, stops_after, 0)
                _, cell, made, t, bad, _ = run(*what, cell, made, stretch, nth, in_turn)
                if not in_order:
                    t = times[SPEAKS_AT]
                scratch[TIME] += 1
                scratch[SUBOPTIMAL] += bad
                decides = scratch[VERSION] != counters[VERSION] or (scratch[DECIDED] != 0) != (
                    counters[DECIDED] != 0
                )
                ends = not decides and endless == 0 and ended(arena) != 0
                copy(scratch, counters)
                put_down(players, half, i, counts_pulls, state, own)
                put_clock(players, half, i, t, cell, made)
                put_votes(players, 0, i, voted, first_vote)
                words[DUE] = due(arena)
                if decides or ends:
                    times[LIMIT], words[N_HALTED] = times[END], words[N_LATER]
                    note_decision(plan, real, times[SPEAKS_AT], decides, ends)
                else:
                    next_window(rows, plan, real, timing)
            words[N_HALTED] = 0
            last[0] = NOT_NOW
            for j in range(N_COUNTERS):
                added[j] = 0
            if words[PHASE] != OVER or known < 0:
                busy[0] = 1

    return merge
