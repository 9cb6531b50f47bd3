"""The two kernels: one does the rows of a phase, the other merges and opens the next window.

They do what ``clocks.make_clocks`` does, in the same order, with the same functions. A launch of
``rows`` scans a window of every trial, or sets its players to the moment of a decision, a thread
for each player. A launch of ``merge`` then takes each trial to its next phase: a team of threads
finds who is the earliest of the halted, the first of them makes the loud activation.

Nothing depends on the number of threads: sums are of whole numbers, and the only other thing that
players add up to is a maximum.
"""

from collections.abc import Callable

from numba import cuda, float64, int8, int32, int64

from devote.kernels import Algorithm, State
from devote.kernels.tables import (
    ACTIVE,
    DECIDED,
    N_COUNTERS,
    SUBOPTIMAL,
    TIME,
    VERSION,
    Arena,
)
from devote.problems.rewards import Environment
from devote.protocol.scheme import Engine
from devote.simulate.engine.alone import HALTED, SPOKEN, run_alone
from devote.simulate.engine.clocks import at_desk
from devote.simulate.engine.gpu.tables import pick_up, put_down
from devote.simulate.engine.numbers import EDGES, gap, player_key
from devote.simulate.engine.windows import (
    LAST,
    LIMIT,
    N_HALTED,
    N_LOUD,
    N_TIMES,
    N_WORDS,
    NOT_NOW,
    OVER,
    PHASE,
    SCAN,
    SET,
    START,
    STOCK,
    Desk,
    Plan,
    Rows,
    close_window,
    copy,
    count_set,
    note_decision,
    open_window,
)

Facts = tuple[int, int, int, int, int, int, int]
"""What kernels are compiled for: what the environment says before its buffers (but the number of
arms and of rows), whether what is suboptimal never changes, whether runs are endless, and whether
there is noise. So none of it is asked at each pull."""

ROWS = 128
"""Threads of a block that does rows."""

TEAM = 256
"""Threads that look for the earliest together."""

N_EDGES = len(EDGES)
TABLE_BYTES = 8 * N_EDGES
"""What a block needs for the table of gaps."""


def make_begin(n_arms: int) -> Callable[..., None]:
    """The kernel that puts every player at its start, and every trial where the first row is."""

    def begin(paces, shape, players, trials, fresh):  # type: ignore[no-untyped-def]
        edges = cuda.shared.array(0, float64)
        for j in range(cuda.threadIdx.x, N_EDGES, cuda.blockDim.x):
            edges[j] = EDGES[j]
        cuda.syncthreads()
        i = cuda.grid(1)
        if i >= shape.n_trials * shape.n_players:
            return
        trial = i // shape.n_players
        player = i % shape.n_players
        for k in range(n_arms):
            players.alive[0, k, i] = 1
            players.voted[i, k] = 0
        for j in range(players.ints.shape[1]):
            players.ints[0, j, i] = 0
        players.ints[0, n_arms, i] = n_arms
        for j in range(players.reals.shape[1]):
            players.reals[0, j, i] = 0.0
        for j in range(players.own.shape[2]):
            players.own[0, i, j] = 0
        players.half[i] = 0
        players.moved[i] = 0
        players.first_vote[i] = -1
        if player == 0:
            for j in range(N_COUNTERS):
                trials.counters[trial, j] = trials.past[trial, j] = fresh.counters[0, j]
                trials.added[trial, j] = 0
            for j in range(N_WORDS):
                trials.words[trial, j] = fresh.words[0, j]
            for j in range(N_TIMES):
                trials.times[trial, j] = fresh.times[0, j]
            trials.last[trial, 0] = NOT_NOW
            trials.keep[trial] = 0
            for k in range(n_arms):
                trials.tally[trial, k] = 0
                for j in range(trials.by_arm.shape[2]):
                    trials.by_arm[trial, k, j] = 0
                trials.shared[trial, k] = trials.seen[trial, k] = trials.before[trial, k] = 1
        pace = paces[player] if len(paces) > 1 else paces[0]
        players.next[0, i] = pace * gap(player_key(trials.keys[trial], player), 0)

    return begin


def make_rows(
    algorithm: Algorithm, engine: Engine, n_arms: int, n_ints: int, n_floats: int, facts: Facts
) -> Callable[..., None]:
    """The kernel that scans a window, or sets everybody to a moment."""
    clocks = engine.clocks
    assert clocks is not None
    wake, learn = engine.wake, engine.learn
    play, take, choose, observe = engine.choose, engine.observe, algorithm.choose, algorithm.observe
    speaks, tells, rests, take_stock = clocks.speaks, clocks.tells, clocks.rests, clocks.take_stock
    awaited, counts, n_counts = clocks.awaited, clocks.counts or (0,), len(clocks.counts)
    n_own = engine.words
    kind, n_groups, n_segments, resampled, steady, endless, noisy = facts

    def rows(buffers, rule, paces, setting, shape, players, trials, busy):  # type: ignore[no-untyped-def]
        busy[0] = 0
        edges = cuda.shared.array(0, float64)
        part = cuda.shared.array(ROWS, int64)
        me = cuda.threadIdx.x
        for j in range(me, N_EDGES, cuda.blockDim.x):
            edges[j] = EDGES[j]
        cuda.syncthreads()
        if shape.blocks_each > 0:
            trial = cuda.blockIdx.x // shape.blocks_each
            player = (cuda.blockIdx.x % shape.blocks_each) * cuda.blockDim.x + me
        else:
            trial = cuda.grid(1) // shape.n_players
            player = cuda.grid(1) % shape.n_players
        here = trial < shape.n_trials and player < shape.n_players
        gain = cuda.local.array(N_COUNTERS, int64)
        for j in range(N_COUNTERS):
            gain[j] = 0
        if here:
            phase = trials.words[trial, PHASE]
            here = phase == SCAN or phase == SET
        if here:
            i = trial * shape.n_players + player
            half = int(players.half[i])
            if trials.keep[trial] and players.moved[i]:
                half = 1 - half
                players.half[i] = half
            players.moved[i] = 0
            limit = trials.times[trial, LIMIT]
            begin = players.next[half, i]
            stock = trials.words[trial, STOCK] != 0
            if begin < limit or stock:
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
                state = State(alive[0], pulls, sums, ints, floats)
                pick_up(players, half, i, state, own)
                arrived = 1
                where = half
                if begin < limit:
                    copy(trials.past[trial], scratch)
                    arena = Arena(
                        shape.n_players,
                        setting.epsilon,
                        endless,
                        1,
                        0,
                        steady,
                        0,
                        setting.scheme,
                        scratch,
                        alive,
                        own,
                        voted,
                        first_vote,
                        trials.tally[trial],
                        trials.by_arm[trial],
                        trials.seen[trial],
                        trials.before[trial],
                        out,
                        setting.good,
                        setting.events,
                    )
                    env = Environment(
                        kind,
                        n_arms,
                        n_groups,
                        n_segments,
                        resampled,
                        buffers.n_rows,
                        buffers.means,
                        buffers.slopes,
                        buffers.starts,
                        buffers.groups,
                        buffers.table,
                    )
                    calls = (wake, learn, play, take, speaks, tells, rests)
                    subroutine = (rule, choose, observe)
                    pace = paces[player] if len(paces) > 1 else paces[0]
                    key = player_key(trials.keys[trial], player)
                    clock = (key, pace, noisy, awaited)
                    first = own[0, ACTIVE]
                    t, bad, changed, how = run_alone(
                        calls, subroutine, env, arena, state, player, clock, begin, limit, NOT_NOW
                    )
                    if how == HALTED:
                        arrived = 0
                        place = cuda.atomic.add(trials.words, (trial, N_HALTED), 1)
                        players.who[trial * shape.n_players + place] = player
                        players.when[trial * shape.n_players + place] = t
                    else:
                        for j in range(N_COUNTERS):
                            gain[j] = scratch[j] - trials.past[trial, j]
                        gain[TIME] += own[0, ACTIVE] - first
                        gain[SUBOPTIMAL] += bad
                        if changed != NOT_NOW:
                            cuda.atomic.max(trials.last, (trial, 0), changed)
                        where = 1 - half
                        players.moved[i] = 1
                        players.next[where, i] = t
                if arrived and stock:
                    copy(trials.counters[trial], scratch)
                    for j in range(n_counts):
                        scratch[counts[j]] = 0
                    for k in range(n_arms):
                        voted[0, k] = players.voted[i, k]
                    after = Arena(
                        shape.n_players,
                        setting.epsilon,
                        endless,
                        1,
                        0,
                        steady,
                        0,
                        setting.scheme,
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
                        setting.good,
                        setting.events,
                    )
                    take_stock(after, 0)
                    for j in range(n_counts):
                        gain[counts[j]] = scratch[counts[j]]
                if arrived:
                    put_down(players, where, i, state, own)
        for j in range(N_COUNTERS):
            if shape.blocks_each == 0:
                if gain[j] != 0:
                    cuda.atomic.add(trials.added, (trial, j), gain[j])
            elif cuda.syncthreads_or(int32(gain[j] != 0)):
                part[me] = gain[j]
                width = cuda.blockDim.x // 2
                while width > 0:
                    cuda.syncthreads()
                    if me < width:
                        part[me] += part[me + width]
                    width //= 2
                if me == 0:
                    cuda.atomic.add(trials.added, (trial, j), part[0])
                cuda.syncthreads()

    return rows


def make_merge(
    algorithm: Algorithm,
    engine: Engine,
    n_arms: int,
    n_ints: int,
    n_floats: int,
    facts: Facts,
    team: bool,
) -> Callable[..., None]:
    """The kernel that takes trials to their next phase, a team of threads or one for each."""
    clocks = engine.clocks
    assert clocks is not None
    wake, learn, ended = engine.wake, engine.learn, engine.ended
    play, take, choose, observe = engine.choose, engine.observe, algorithm.choose, algorithm.observe
    speaks, tells, rests = clocks.speaks, clocks.tells, clocks.rests
    awaited, counts, n_counts = clocks.awaited, clocks.counts or (0,), len(clocks.counts)
    n_own = engine.words
    kind, n_groups, n_segments, resampled, steady, endless, noisy = facts

    def merge(buffers, rule, paces, setting, shape, players, trials, busy):  # type: ignore[no-untyped-def]
        edges = cuda.shared.array(0, float64)
        times_of = cuda.shared.array(TEAM, float64)
        places = cuda.shared.array(TEAM, int64)
        for j in range(cuda.threadIdx.x, N_EDGES, cuda.blockDim.x):
            edges[j] = EDGES[j]
        trial, me, mates = cuda.grid(1), 0, 1
        if team:
            trial, me, mates = cuda.blockIdx.x, cuda.threadIdx.x, cuda.blockDim.x
        cuda.syncthreads()
        if trial >= shape.n_trials:
            return
        words, times = trials.words[trial], trials.times[trial]
        phase = words[PHASE]
        if team:
            cuda.syncthreads()  # everybody has read it before it is changed
        if phase == OVER:
            return
        low, high = trial * shape.n_players, (trial + 1) * shape.n_players
        counters, added = trials.counters[trial], trials.added[trial]
        who, when = players.who[low:high], players.when[low:high]
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
        state = State(alive[0], pulls, sums, ints, floats)
        plan = Plan(words, times, trials.past[trial], trials.seen[trial], who, when)
        desk = Desk(
            scratch,
            alive,
            pulls,
            sums,
            ints,
            floats,
            own,
            voted,
            first_vote,
            out,
            scratch,
            scratch,
            scratch,
            added,
            scratch,
            trials.last[trial],
        )
        real = Arena(
            shape.n_players,
            setting.epsilon,
            endless,
            1,
            0,
            steady,
            0,
            setting.scheme,
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
            setting.good,
            setting.events,
        )
        env = Environment(
            kind,
            n_arms,
            n_groups,
            n_segments,
            resampled,
            buffers.n_rows,
            buffers.means,
            buffers.slopes,
            buffers.starts,
            buffers.groups,
            buffers.table,
        )
        arena = at_desk(real, desk, scratch, plan.seen)
        # Players keep their moves themselves when they are next run, unless all are counted here.
        lazy = setting.horizon == 0
        end = low if lazy else high
        half_of, moved = players.half[low:end], players.moved[low:end]
        rows = Rows(
            scratch, players.next[:, low:high], half_of, moved, alive, players.own[:, low:high]
        )
        if phase == START or phase == SET:
            if me == 0:
                key = trials.keys[trial]
                trials.keep[trial] = lazy
                over = words[LAST] != 0
                if phase == SET:
                    count_set(rows, plan, desk, real, counts, n_counts)
                open_window(rows, plan, real, key, paces, setting.horizon)
                if phase == SET:
                    copy(counters, scratch)
                    if over or ended(arena) != 0:
                        if counters[DECIDED] == 0:
                            counters[DECIDED] = plan.past[DECIDED] = counters[TIME]
                        if real.endless == 0:
                            words[PHASE] = OVER
        while phase == SCAN:
            place = -1
            for j in range(me, words[N_HALTED], mates):
                if place < 0 or when[j] < when[place]:
                    place = j
            if team:
                places[me] = place
                times_of[me] = when[place] if place >= 0 else 0.0
                width = mates // 2
                while width > 0:
                    cuda.syncthreads()
                    if me < width and places[me + width] >= 0:
                        if places[me] < 0 or times_of[me + width] < times_of[me]:
                            places[me] = places[me + width]
                            times_of[me] = times_of[me + width]
                    width //= 2
                cuda.syncthreads()
                place = places[0]
            if me == 0 and place < 0:
                close_window(rows, plan, desk, real, awaited)
                trials.keep[trial] = lazy and words[PHASE] != SET
                if words[PHASE] == SCAN:
                    open_window(rows, plan, real, trials.keys[trial], paces, setting.horizon)
            elif me == 0:
                player = int(who[place])
                i = low + player
                half = int(players.half[i])
                pace = paces[player] if len(paces) > 1 else paces[0]
                key = player_key(trials.keys[trial], player)
                clock = (key, pace, noisy, awaited)
                calls = (wake, learn, play, take, speaks, tells, rests)
                subroutine = (rule, choose, observe)
                loud = when[place]
                speaking = True
                while speaking:
                    speaking = False
                    pick_up(players, half, i, state, own)
                    for k in range(n_arms):
                        voted[0, k] = players.voted[i, k]
                    first_vote[0] = players.first_vote[i]
                    copy(counters, scratch)
                    begin = players.next[half, i]
                    first = own[0, ACTIVE]
                    t, bad, changed, how = run_alone(
                        calls,
                        subroutine,
                        env,
                        arena,
                        state,
                        player,
                        clock,
                        begin,
                        times[LIMIT],
                        loud,
                    )
                    if how == HALTED:
                        when[place] = t
                    else:
                        scratch[TIME] += own[0, ACTIVE] - first
                        scratch[SUBOPTIMAL] += bad
                        if how == SPOKEN:
                            words[N_LOUD] += 1
                            put_down(players, half, i, state, own)
                            players.next[half, i] = t
                            for k in range(n_arms):
                                players.voted[i, k] = voted[0, k]
                            players.first_vote[i] = first_vote[0]
                            decided = scratch[VERSION] != counters[VERSION] or (
                                scratch[DECIDED] != 0
                            ) != (counters[DECIDED] != 0)
                            copy(scratch, counters)
                            over = not decided and real.endless == 0 and ended(arena) != 0
                            if decided or over:
                                note_decision(plan, real, loud, decided, over)
                                trials.keep[trial] = 0
                            else:
                                loud = NOT_NOW
                                speaking = True
                        else:
                            trials.last[trial, 0] = max(trials.last[trial, 0], changed)
                            for j in range(N_COUNTERS):
                                added[j] += scratch[j] - counters[j]
                            words[N_HALTED] -= 1
                            who[place] = who[words[N_HALTED]]
                            when[place] = when[words[N_HALTED]]
                            players.moved[i] = 1
                            put_down(players, 1 - half, i, state, own)
                            players.next[1 - half, i] = t
            if team:
                cuda.syncthreads()
            if place < 0 or words[PHASE] != SCAN:
                phase = OVER
        if me == 0:
            words[N_HALTED] = 0
            trials.last[trial, 0] = NOT_NOW
            for j in range(N_COUNTERS):
                added[j] = 0
            if words[PHASE] != OVER:
                busy[0] = 1

    return merge
