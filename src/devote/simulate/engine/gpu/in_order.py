"""One player alone where rewards change with the number of pulls.

Time then is that number, and the clocks of all players are merged into one: who wakes at pull t is
told by a number of its own, whatever is played. So the pulls of a window are dealt out to players
beforehand (``deal``), and each makes its own, of which it knows when they are. Pull t is at moment
t + 1/2, so that a moment between two pulls is a whole number.
"""

import math
from typing import Any

from devote.kernels.jitable import jitable
from devote.kernels.state import State, next_alive
from devote.kernels.tables import ACTIVE, Arena
from devote.problems import pay
from devote.problems.rewards import Environment, mean_in_row, row_at
from devote.simulate.engine.alone import (
    ARRIVED,
    GOES_ON,
    SPOKEN,
    STOPPED,
    bad_play,
)
from devote.simulate.engine.numbers import unit, word_at
from devote.simulate.engine.windows import BEGIN, CUT, LIMIT, OVER, PHASE, Plan

WAKE, CHOOSE, PAY, NOISE = range(4)
"""Columns of the keys of a trial's streams."""

ASK = 2
"""In place of whether an arm is suboptimal: that is to be asked at each pull."""

ROUNDING = 1e-9
"""Far more than what rounding does to a mean, and than what ``falls_short`` forgives."""


@jitable
def pulls_before(moment: float) -> int:
    """How many pulls there are up to a moment, the one at that very moment included."""
    return int(moment + 0.5)


@jitable
def end_at_pull(plan: Plan, horizon: int) -> None:
    """Let a window that begins end between two pulls; with a horizon, not after it."""
    words, times = plan.words, plan.times
    times[LIMIT] = math.floor(times[LIMIT])
    if 0 < horizon <= times[LIMIT]:
        times[LIMIT] = horizon
        words[CUT] = 1
        if pulls_before(times[BEGIN]) >= horizon:
            words[PHASE] = OVER


@jitable
def next_dealt(dealt: Any, place: int, last: int, begin: int, after: float) -> int:
    """The place of the first dealt pull that is not before a moment."""
    while place < last and begin + dealt[place] < after:
        place += 1
    return place


@jitable
def first_dealt(
    players: Any, trial: int, player: int, half: int, number: int, begin: int
) -> tuple[int, int]:
    """The place of a player's next dealt pull, and where its pulls end."""
    place, last = int(players.ends[number - 1]) if player > 0 else 0, int(players.ends[number])
    return next_dealt(players.dealt[trial], place, last, begin, players.next[half, number]), last


@jitable
def dealt_to(
    dealt: Any, place: int, last: int, begin: int, limit: float
) -> tuple[int, int, int, float]:
    """How many of a player's dealt pulls are before a moment, as ``alone.stretch_to`` says it."""
    end = last
    if place < last and begin + dealt[last - 1] + 0.5 >= limit:
        end = next_dealt(dealt, place, last, begin, limit - 0.5)
    return end - place, end, 0, limit


@jitable
def judge_arms(
    env: Environment, epsilon: float, player: int, begin: int, end: int, is_bad: Any
) -> None:
    """Which arms are suboptimal for a player from one pull to another: 1, 0, or ASK.

    A mean changes by no more than the steepest slope at each pull, and so does the best one.
    """
    row = row_at(env, begin, player)
    best = steepest = 0.0
    for k in range(env.n_arms):
        best = max(best, mean_in_row(env, row, begin, k))
        steepest = max(steepest, abs(env.slopes[k]))
    unsure = 2.0 * steepest * (end - begin) + ROUNDING
    if row_at(env, end, player) != row:
        unsure = 1.0 + epsilon
    for k in range(env.n_arms):
        beyond = best - mean_in_row(env, row, begin, k) - epsilon
        is_bad[k] = ASK if abs(beyond) <= unsure else int(beyond > 0.0)


@jitable
def run_in_order(
    calls: Any,
    sub: Any,
    env: Environment,
    arena: Arena,
    state: State,
    player: int,
    clock: Any,
    place: int,
    made: int,
    stretch: tuple[int, int, int, float],
    loud: int,
    hearing: Any,
) -> tuple[int, int, int, float, int, float]:
    """Make a player's pulls of a stretch, as ``alone.run_alone`` does, from a place on.

    Loud ones are made in passing, unless one is asked for, which is then the last.

    ``clock`` is the keys of the trial's streams, the pulls that are dealt out, counted from the
    first one of the window, that first pull, whether noise is drawn, the counter that is awaited,
    and what ``judge_arms`` says. ``stretch`` is as ``dealt_to`` says.
    """
    wake, learn, play, take, speaks, tells, rests, waits, _, in_a_row = calls
    keys, dealt, begin, noisy, awaited, is_bad = clock
    prepare, hear, log = hearing
    bad = 0
    changed = -1.0
    ahead, _, _, moment = stretch
    first, last = place, place + ahead
    active = int(arena.own[0, ACTIVE])
    how = GOES_ON
    while place < last:
        t = begin + int(dealt[place])
        if not waits(state):
            spoken = active == loud
            arena.own[0, ACTIVE] = active + 1
            if arena.endless == 0 and rests(arena, state, 0):
                arm, n_rests = next_alive(state, 0), 1
                if is_bad[arm] == ASK:
                    bad += bad_play(env, arena, t, player, arm)
                else:
                    n_rests = last - place
                    bad += n_rests * int(is_bad[arm])
                active += n_rests
                place += n_rests
            elif not spoken and speaks(arena, state, 0):
                prepare(log, arena)
                loud = active
            else:
                noise = unit(word_at(keys[NOISE], t)) if noisy else 0.0
                before = arena.counters[awaited]
                wake(arena, state, 0, noise)
                stop = min(last, place + in_a_row)
                if place == first:  # it may have heard something
                    stop = place
                n_out, plays = 0, True
                while plays:
                    arm = play(sub, arena, state, 0, unit(word_at(keys[CHOOSE], t)))
                    is_known = is_bad[arm] != ASK
                    bad += is_bad[arm] if is_known else bad_play(env, arena, t, player, arm)
                    reward = pay(env, t, player, arm, unit(word_at(keys[PAY], t)))
                    n_out = take(sub, arena, state, 0, arm, reward, noise)
                    plays = n_out == 0 and place + 1 < stop and not spoken and not waits(state)
                    if plays:
                        active += 1
                        place += 1
                        t = begin + int(dealt[place])
                        noise = unit(word_at(keys[NOISE], t)) if noisy else 0.0
                arena.own[0, ACTIVE] = active + 1
                if n_out != 0:
                    if not spoken and tells(arena, state, 0, n_out):
                        prepare(log, arena)
                        spoken = True
                    learn(arena, state, 0, n_out)
                active += 1
                place += 1
                if arena.counters[awaited] != before:
                    changed = t + 0.5
                if spoken and hear(log, arena, t):
                    how, moment, last = SPOKEN, t + 1.0, STOPPED
    if how == GOES_ON:
        how = ARRIVED
    arena.own[0, ACTIVE] = active
    return how, place, made, moment, bad, changed
