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
from devote.problems.rewards import Environment
from devote.simulate.engine.alone import (
    ARRIVED,
    GOES_ON,
    HALTED,
    SPOKEN,
    STOPPED,
    bad_play,
)
from devote.simulate.engine.numbers import unit, word_at
from devote.simulate.engine.windows import BEGIN, CUT, LIMIT, OVER, PHASE, Plan

WAKE, CHOOSE, PAY, NOISE = range(4)
"""Columns of the keys of a trial's streams."""


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
    limit: float,
    loud: int,
) -> tuple[int, int, int, float, int, float]:
    """Make a player's pulls up to ``limit``, as ``alone.run_alone`` does, from a place on.

    ``clock`` is the keys of the trial's streams, the pulls that are dealt out, counted from the
    first one of the window, where this player's end, that first pull, whether noise is drawn, and
    the counter that is awaited.
    """
    wake, learn, play, take, speaks, tells, rests, waits = calls
    keys, dealt, last, begin, noisy, awaited = clock
    bad = 0
    changed = -1.0
    moment = limit
    active = int(arena.own[0, ACTIVE])
    how = GOES_ON
    while place < last:
        t = begin + int(dealt[place])
        if t + 0.5 >= limit:
            last = STOPPED
        elif not waits(state):
            spoken = active == loud
            arena.own[0, ACTIVE] = active + 1
            if arena.endless == 0 and rests(arena, state, 0):
                bad += bad_play(env, arena, t, player, next_alive(state, 0))
                active += 1
                place += 1
            elif not spoken and speaks(arena, state, 0):
                how, moment, last = HALTED, t + 0.5, STOPPED
            else:
                noise = unit(word_at(keys[NOISE], t)) if noisy else 0.0
                before = arena.counters[awaited]
                wake(arena, state, 0, noise)
                arm = play(sub, arena, state, 0, unit(word_at(keys[CHOOSE], t)))
                bad += bad_play(env, arena, t, player, arm)
                reward = pay(env, t, player, arm, unit(word_at(keys[PAY], t)))
                n_out = take(sub, arena, state, 0, arm, reward, noise)
                if n_out != 0 and not spoken and tells(arena, state, 0, n_out):
                    how, moment, last = HALTED, t + 0.5, STOPPED
                else:
                    if n_out != 0:
                        learn(arena, state, 0, n_out)
                    active += 1
                    place += 1
                    if arena.counters[awaited] != before:
                        changed = t + 0.5
                    if spoken:
                        how, moment, last = SPOKEN, t + 1.0, STOPPED
    if how == GOES_ON:
        how = ARRIVED
    arena.own[0, ACTIVE] = active
    return how, place, made, moment, bad, changed
