"""How a trial goes from one window to the next, once its players are done with a phase.

As ``clocks.make_clocks`` does it, with the same functions. One thread of a team takes these steps.
``timing`` is the key of the trial's players, the cells of their clocks, the horizon on clocks,
whether time counts pulls, and the horizon where it does.
"""

import math
from typing import Any

from devote.kernels.jitable import jitable
from devote.kernels.tables import DECIDED, TIME, Arena
from devote.simulate.engine.gpu.in_order import end_at_pull, pulls_before
from devote.simulate.engine.windows import (
    BEGIN,
    CUT,
    DUE,
    LAST,
    LIMIT,
    OVER,
    PHASE,
    SPEAKER,
    START,
    Desk,
    Plan,
    Rows,
    copy,
    count_set,
    open_window,
)


@jitable
def next_window(rows: Rows, plan: Plan, real: Arena, timing: Any) -> None:
    """Begin the next window."""
    key, spans, horizon, in_order, last_pull = timing
    open_window(rows, plan, real, key, spans, horizon)
    if in_order:
        end_at_pull(plan, last_pull)


@jitable
def after_set(
    rows: Rows, plan: Plan, desk: Desk, real: Arena, timing: Any, counting: Any, asked: Any
) -> None:
    """Begin the first window, or the next one after everybody was set; end the run if it has.

    ``counting`` is the counters that a decision counts anew, and how many they are; ``asked`` is
    what tells whether a run has ended, the tables to ask, and what is due in the first window.
    """
    counts, n_counts = counting
    ended, arena, left = asked
    words, counters = plan.words, real.counters
    begins, over = words[PHASE] == START, words[LAST] != 0
    if begins:
        words[DUE] = left
    else:
        count_set(rows, plan, desk, real, counts, n_counts)
    next_window(rows, plan, real, timing)
    if not begins:
        copy(counters, arena.counters)
        if over or ended(arena) != 0:
            if counters[DECIDED] == 0:
                counters[DECIDED] = plan.past[DECIDED] = counters[TIME]
            if real.endless == 0:
                words[PHASE] = OVER


@jitable
def end_before(plan: Plan, moment: float, in_order: bool) -> None:
    """Run the window again to an earlier end."""
    words, times = plan.words, plan.times
    times[LIMIT] = moment
    words[CUT] = 0
    if in_order:
        first = pulls_before(times[BEGIN])
        times[LIMIT] = max(math.floor(moment), first + int(words[SPEAKER] < 0))
