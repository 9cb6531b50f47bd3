"""The kernel that takes each trial to its next phase, once ``rows`` has done the last one.

It does what ``clocks.make_clocks`` does, with the same functions. There the earliest of those who
have halted makes its loud activation, and runs on, before the next one is looked for. Here all
threads of a team first try that at once, each with a player of its own and a copy of the tables
(``turns``). What was tried is what happens, unless votes add up to a decision: a loud activation
before which one may fall (``Clocks.due``) is made again in its turn, by one thread. A window in
which so much would be tried that it takes long is scanned again, shorter.
``known`` is as for ``rows``.
"""

from collections.abc import Callable
from typing import Any

from numba import cuda, float64, int8, int32, int64

from devote.kernels import State
from devote.kernels.tables import ACTIVE, DECIDED, N_COUNTERS, SUBOPTIMAL, TIME, VERSION
from devote.simulate.engine.alone import ARRIVED, HALTED, QUIET, SPOKEN, run_alone
from devote.simulate.engine.gpu.code import Code
from devote.simulate.engine.gpu.in_order import next_dealt, pulls_before, run_in_order
from devote.simulate.engine.gpu.in_step import make_waits
from devote.simulate.engine.gpu.steps import after_set, after_window, shorten_to
from devote.simulate.engine.gpu.tables import (
    arena_of_one,
    desk_of,
    environment_of,
    pick_up,
    pick_up_votes,
    put_clock,
    put_down,
    put_votes,
)
from devote.simulate.engine.gpu.turns import (
    CROWD,
    NEVER_AGAIN,
    SPOILT,
    UNTRIED,
    copy_player,
    copy_tables,
    deal_by_time,
    first_of,
    less_to_merge,
    look_round,
)
from devote.simulate.engine.numbers import player_key
from devote.simulate.engine.windows import (
    BEGIN,
    DUE,
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
    copy,
    note_decision,
)

BEFORE, TRY, AFTER, LOUD, SAID, ON, SETTLED, NOTHING = range(8)
"""What a thread does with a player: it brings it to just before its loud activation, tries that and
what follows it. When its turn has come, it makes the loud activation, or takes what was tried for
it, and goes on to the end of the window."""


def make_merge(code: Code, team: bool, threads: int, known: int) -> Callable[..., None]:
    """The kernel that takes trials to their next phase, a team of so many threads or one for each.

    A player's state is in shared memory if it fits, as in ``rows``.
    """
    algorithm, engine, n_arms, n_ints, n_floats, facts = code
    clocks = engine.clocks
    assert clocks is not None
    wake, learn, ended = engine.wake, engine.learn, engine.ended
    play, take, choose, observe = engine.choose, engine.observe, algorithm.choose, algorithm.observe
    speaks, tells, rests, due = clocks.speaks, clocks.tells, clocks.rests, clocks.due
    awaited, counts, n_counts = clocks.awaited, clocks.counts or (0,), len(clocks.counts)
    n_own, counts_pulls = engine.words, algorithm.counts_pulls
    arm_words, shared = engine.arm_words, code.fits
    arm_room, int_room = n_arms | 1, n_ints | 1
    waits = make_waits(algorithm)
    kind, n_groups, n_segments, resampled, steady, endless, noisy, in_order = facts
    run: Callable[..., Any] = run_in_order if in_order else run_alone

    def merge(buffers, rule, spans, setting, shape, players, trials, busy):  # type: ignore[no-untyped-def]
        fronts = cuda.shared.array(threads, float64)
        nexts = cuda.shared.array(threads, float64)
        order = cuda.shared.array(CROWD, int32)
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
        if shared:
            here = cuda.threadIdx.x
            alive = cuda.shared.array((threads, 1, n_arms), int8)[here]
            pulls = cuda.shared.array((threads, arm_room), int32)[here, :n_arms]
            sums = cuda.shared.array((threads, arm_room), float64)[here, :n_arms]
            ints = cuda.shared.array((threads, int_room), int32)[here, :n_ints]
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
        gain = cuda.local.array(N_COUNTERS, int64)
        said = cuda.local.array(N_COUNTERS, int64)
        later = cuda.local.array(N_COUNTERS, int64)
        state = State(alive[0], pulls, sums, ints, floats)
        # A player at work; ``then`` it is just before its loud activation, ``after`` just after it.
        now = (state, own, voted, first_vote)
        kept_alive = cuda.local.array((2, n_arms), int8)
        kept_pulls = cuda.local.array((2, n_arms), int32)
        kept_sums = cuda.local.array((2, n_arms), float64)
        kept_ints = cuda.local.array((2, n_ints), int32)
        kept_floats = cuda.local.array((2, n_floats), float64)
        kept_own = cuda.local.array((2, 1, n_own), int32)
        kept_voted = cuda.local.array((2, 1, n_arms), int8)
        kept_first = cuda.local.array((2, 1), int32)
        state_then = State(kept_alive[0], kept_pulls[0], kept_sums[0], kept_ints[0], kept_floats[0])
        state_after = State(
            kept_alive[1], kept_pulls[1], kept_sums[1], kept_ints[1], kept_floats[1]
        )
        then = (state_then, kept_own[0], kept_voted[0], kept_first[0])
        after = (state_after, kept_own[1], kept_voted[1], kept_first[1])
        tables = (
            trials.tally[trial],
            trials.by_arm[trial],
            trials.seen[trial],
            trials.before[trial],
        )
        copies = (
            cuda.local.array(n_arms, int64),
            cuda.local.array((n_arms, arm_words), int64),
            cuda.local.array(n_arms, int8),
            cuda.local.array(n_arms, int8),
        )
        votes = cuda.local.array(n_arms, int64)
        notes = cuda.local.array((n_arms, arm_words), int64)
        plan = Plan(words, times, trials.past[trial], trials.seen[trial], who, when, nth)
        desk = desk_of(
            state, alive, own, voted, first_vote, out, scratch, added, trials.last[trial]
        )
        fixed = (shape.n_players, setting, endless, steady)
        real = arena_of_one(
            *fixed,
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
        arena = arena_of_one(
            *fixed,
            scratch,
            alive,
            own,
            voted,
            first_vote,
            copies[0],
            copies[1],
            copies[2],
            copies[3],
            out,
        )
        copy_tables(tables, copies)
        copy(counters, scratch)
        left = due(arena)
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
        key, last_pull = trials.keys[trial], setting.horizon
        timing = (key, spans, horizon, in_order, last_pull)
        if me == 0 and phase in (START, SET):
            trials.keep[trial] = lazy
            asked = (ended, arena, left)
            after_set(rows, plan, desk, real, timing, (counts, n_counts), asked)
        goes_on, begins, certain = phase == SCAN, True, True
        place, work, first, half, i, player, loud = -1, NOTHING, 0, 0, 0, 0, 0
        cell, made, cell_then, made_then, cell_after, made_after = 0, 0, 0, 0, 0, 0
        how, t, bad, changed, t_after = ARRIVED, 0.0, 0, NOT_NOW, 0.0
        how_later, t_later, changed_later, nth_later = ARRIVED, 0.0, NOT_NOW, 0
        front, following, heard = NEVER_AGAIN, NEVER_AGAIN, UNTRIED
        while goes_on:
            if place < 0:
                dealt_out = team and not begins
                place, front, following = first_of(when, n_halted, me, mates, order, dealt_out)
                heard = UNTRIED
            earliest, is_tried, n_before, is_clear = front, False, 0, True
            if team:
                fronts[me], nexts[me] = front, heard
                cuda.syncthreads()
                earliest, is_tried, n_before, is_clear = look_round(fronts, nexts, me, mates)
            limit = sooner = times[LIMIT]
            if begins and n_halted > 0:
                sooner = less_to_merge(times, n_halted, mates, earliest)
            # Fewer than are due do not decide anything, if none of them does when tried.
            has_said, n_said = heard > SPOILT and is_clear and n_before + 1 < left, 0
            if team:
                n_said = cuda.syncthreads_count(int32(has_said))
            if sooner < limit:
                goes_on = False
                if me == 0:
                    shorten_to(plan, sooner, in_order != 0)
                    trials.keep[trial] = 0
            elif earliest == NEVER_AGAIN:
                goes_on = False
                if me == 0:
                    copy_tables(tables, copies)
                    copy(counters, scratch)
                    words[DUE] = due(arena)
                    after_window(rows, plan, desk, real, timing, awaited)
                    trials.keep[trial] = lazy and words[PHASE] != SET
            elif begins and team:
                deal_by_time(when, n_halted, me, mates, order)
                place = -1
            elif n_said > 0:
                work = SAID if has_said else NOTHING
                left, certain = left - n_said, False
            elif not team:
                work = BEFORE
            elif not is_tried:
                work = BEFORE if heard == UNTRIED and place >= 0 else NOTHING
            elif not certain:
                copy_tables(tables, copies)
                copy(counters, scratch)
                left, certain = due(arena), True
            else:
                work = LOUD if n_before == 0 else NOTHING
                left, certain = left - 1, False
            begins = False
            while work != NOTHING:
                if work == BEFORE:
                    player = int(who[place])
                    i = low + player
                    half = int(players.half[i])
                    pick_up(players, half, i, counts_pulls, state, own)
                    pick_up_votes(players, i, voted, first_vote)
                    copy(counters, scratch)
                    cell, made = int(players.place[half, i, 0]), int(players.place[half, i, 1])
                if in_order:
                    begin, last = pulls_before(times[BEGIN]), int(players.ends[i])
                    dealt = players.dealt[trial]
                    clock: Any = (trials.streams[trial], dealt, last, begin, noisy, awaited)
                    if work == BEFORE:
                        cell = int(players.ends[i - 1]) if player > 0 else 0
                        cell = next_dealt(dealt, cell, last, begin, players.next[half, i])
                else:
                    span = spans[player] if len(spans) > 1 else spans[0]
                    clock = (player_key(key, player), span, noisy, awaited)
                first, loud = own[0, ACTIVE], int(nth[place])
                if work == BEFORE:
                    loud -= 1
                elif work in (TRY, LOUD):
                    copy_tables(tables, copies)
                else:
                    loud = QUIET
                if work == LOUD:
                    for j in range(N_COUNTERS):
                        scratch[j] = counters[j] + gain[j]
                how, t, bad, changed = SPOKEN, 0.0, 0, NOT_NOW
                if work != SAID and (work != BEFORE or loud >= first):
                    calls = (wake, learn, play, take, speaks, tells, rests, waits)
                    what = (calls, (rule, choose, observe), env, arena, state, player, clock)
                    how, cell, made, t, bad, changed = run(*what, cell, made, limit, loud)
                if how == SPOKEN and not in_order:
                    t = when[place]
                scratch[TIME] += own[0, ACTIVE] - first
                scratch[SUBOPTIMAL] += bad
                decides, ends = False, False
                if work in (TRY, LOUD):
                    decides = scratch[VERSION] != counters[VERSION] or (scratch[DECIDED] != 0) != (
                        counters[DECIDED] != 0
                    )
                    ends = not decides and endless == 0 and ended(arena) != 0
                if work == BEFORE:
                    for j in range(N_COUNTERS):
                        gain[j] = scratch[j] - counters[j]
                    work = LOUD
                    if team:
                        copy_player(now, then)
                        cell_then, made_then = cell, made
                        work = TRY
                elif work == TRY:
                    copy_player(now, after)
                    cell_after, made_after, t_after = cell, made, t
                    for j in range(N_COUNTERS):
                        said[j] = scratch[j] - counters[j]
                        later[j] = -scratch[j]
                    for k in range(n_arms):
                        votes[k] = copies[0][k] - tables[0][k]
                        for j in range(arm_words):
                            notes[k, j] = copies[1][k, j] - tables[1][k, j]
                    work, heard = AFTER, following
                    if decides or ends:
                        copy_player(then, now)
                        cell, made = cell_then, made_then
                        work, heard = NOTHING, SPOILT
                elif work in (LOUD, SAID):
                    if work == LOUD:
                        copy_tables(copies, tables)
                        copy(scratch, counters)
                        for j in range(N_COUNTERS):
                            later[j] = -scratch[j] if heard <= SPOILT else later[j]
                    else:
                        copy_player(after, now)
                        cell, made, t = cell_after, made_after, t_after
                        for k in range(n_arms):
                            if votes[k] != 0:
                                cuda.atomic.add(trials.tally, (trial, k), votes[k])
                            for j in range(arm_words):
                                if notes[k, j] != 0:
                                    cuda.atomic.add(trials.by_arm, (trial, k, j), notes[k, j])
                        for j in range(N_COUNTERS):
                            if said[j] != 0:
                                cuda.atomic.add(trials.counters, (trial, j), said[j])
                    cuda.atomic.add(trials.words, (trial, N_LOUD), 1)
                    put_down(players, half, i, counts_pulls, state, own)
                    put_clock(players, half, i, t, cell, made)
                    put_votes(players, i, voted, first_vote)
                    if decides or ends:
                        words[DUE] = due(arena)
                        note_decision(plan, real, when[place], decides, ends)
                        trials.keep[trial] = 0
                        work = NOTHING
                    else:
                        work = SETTLED if heard > SPOILT else ON
                else:
                    for j in range(N_COUNTERS):
                        later[j] += scratch[j]
                    if how == ARRIVED:
                        put_down(players, 1 - half, i, counts_pulls, state, own)
                        put_clock(players, 1 - half, i, t, cell, made)
                    how_later, t_later, changed_later = how, t, changed
                    nth_later = own[0, ACTIVE]
                    if work == ON:
                        work = SETTLED
                    else:
                        copy_player(then, now)
                        cell, made = cell_then, made_then
                        heard = min(following, t if how == HALTED else NEVER_AGAIN)
                        work = NOTHING
                if work == SETTLED:
                    if how_later == HALTED:
                        when[place], nth[place] = t_later, nth_later
                    else:
                        cuda.atomic.max(trials.last, (trial, 0), changed_later)
                        for j in range(N_COUNTERS):
                            if later[j] != 0:
                                cuda.atomic.add(trials.added, (trial, j), later[j])
                        cuda.atomic.add(trials.words, (trial, N_HALTED), -1)
                        when[place] = NEVER_AGAIN
                        players.moved[i] = 1
                    place, work = -1, NOTHING
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
