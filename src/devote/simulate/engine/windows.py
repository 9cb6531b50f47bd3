"""Where a run on independent clocks stands, and how its windows begin and end.

Everything is in arrays, so that compiled code can go from window to window by itself, and
several threads can do the rows of one phase.
"""

import math
from typing import Any, NamedTuple

from devote.kernels.jitable import jitable
from devote.kernels.tables import DECIDED, N_COUNTERS, TERM, TIME, Arena
from devote.simulate.engine.numbers import activations_in, look_ahead, player_key
from devote.simulate.streams import CELL

START, SCAN, MERGE, SET, ALL_SET, OVER = range(6)
"""What is done now: see ``clocks``. ``ALL_SET``: everybody has been set."""

PHASE, N_HALTED, N_LOUD, LAST, STOCK, CUT, SHORT, DUE, SPEAKER, N_LATER, N_WORDS = range(11)
"""Words of ``Plan.words``: what is done now; how many have halted; loud activations made in this
window; whether the run is over once everybody is set; whether a decision was made; whether the
horizon ends the run at the end of this window; whether the window was shortened when some players
had run past its new end; the fewest loud activations that make the next decision, 0 if unknown;
on a GPU, who is loud next for all to hear, and how many loud activations were found after that."""

LIMIT, BEGIN, WIDTH, GAP, MOST, GROWTH, SLACK, SPEAKS_AT, END, N_TIMES = range(10)
"""Words of ``Plan.times``: to where rows are run; the start of the window; how long the next one
is to be, in mean activations per player; the mean time between two activations of a player; how
long a window may be at most; what share of the time that has passed, while nobody is loud; how many
times longer than seems right it may be; on a GPU, when the speaker is loud, and where the window
was to end before that was known."""

NOT_NOW = -1.0
ENDLESS = math.inf
"""The width of the one window of a player who is alone in its run and stops at its end."""

JUST_AFTER = 1.0 + 2.0**-52
SHORTEST, CAREFUL, LONGEST = 1.0 / 64.0, 16.0, 32.0
LATE, SILENT = 1.0 / 64.0, 1.0
FEWEST_PULLS = 16.0
FEW_LOUD = 16.0
"""How wide a window is: LONGEST while nobody is loud, then so that about as many activations are as
make a decision, FEW_LOUD if that is unknown; replaying a window costs as much as running it, and
visiting every player as much as some activations. In a long run it may be LATE of what has passed:
then all decisions together replay little of it. Where nobody is ever loud, it may be SILENT of it:
only who was not done before the last window is replayed."""

FEWEST = 8
"""Players who have halted, before it is asked whether the window is too long."""


class Rows(NamedTuple):
    """What each player keeps, twice: ``words[half, player]``, laid out as ``Desk.words`` is.

    ``half`` says which of the two is certain, ``moved`` whether the other one is where the phase
    has brought the player. It does not wake before ``next``, which is ``NOT_NOW`` while there is
    nothing in the row. ``alive``, ``own`` and ``place`` look into ``words``; ``place`` is the cell
    of its clock, and how many activations of it are made.
    """

    words: Any
    next: Any
    half: Any
    moved: Any
    alive: Any
    own: Any
    place: Any


class Desk(NamedTuple):
    """Room for the one player that is at work, and what rows add up to; one for each thread.

    ``words`` is its row; the first arrays after it look into that.
    ``scratch`` are the counters that the player sees and changes, ``kept`` is a copy of them,
    ``fresh`` those that ``take_stock`` adds to. ``added`` is what all rows have added to the
    counters, ``halted`` how many of them have halted, ``last`` when one of them last changed the
    awaited counter, and to where they were run in the end.
    """

    words: Any
    alive: Any
    pulls: Any
    sums: Any
    ints: Any
    floats: Any
    own: Any
    place: Any
    voted: Any
    first_vote: Any
    out: Any
    scratch: Any
    kept: Any
    fresh: Any
    added: Any
    halted: Any
    last: Any


class Plan(NamedTuple):
    """Where a run stands: ``words`` and ``times``, see above.

    ``past`` and ``seen`` are the counters and the shared arms at the start of the window, which
    is what quiet players go by; ``who`` has halted, before its activation number ``nth``, which
    is at ``when``.
    """

    words: Any
    times: Any
    past: Any
    seen: Any
    who: Any
    when: Any
    nth: Any


@jitable
def copy(source: Any, target: Any) -> None:
    """Copy a short array."""
    for i in range(len(source)):
        target[i] = source[i]


@jitable
def put(source: Any, target: Any) -> None:
    """Copy an array where that is rare: it is compiled once, not at each place that asks for it."""
    copy(source, target)


@jitable
def keep_moves(rows: Rows) -> None:
    """From now on it is certain that players are where the phase has brought them."""
    for n in range(len(rows.half)):
        rows.half[n] ^= rows.moved[n]


@jitable
def earliest(plan: Plan) -> int:
    """Who has halted before the earliest time, as a place in ``who``; -1 if nobody has."""
    best = -1
    for i in range(plan.words[N_HALTED]):
        if best < 0 or plan.when[i] < plan.when[best]:
            best = i
    return best


@jitable
def expected(words: Any) -> float:
    """How many loud activations a window is to have: most often a decision is among them."""
    return FEW_LOUD if words[DUE] == 0 else 2.0 * words[DUE] + 1.0


@jitable
def bounded(plan: "Plan", width: float, n_players: int) -> float:
    """A width within its bounds.

    One that is too short costs a visit to every player who wakes, one that is too long is
    shortened: so it is longer than seems right, unless few wake in it.
    """
    wide = width * min(plan.times[SLACK], 1.0 + 8.0 * width)
    longest = CAREFUL if plan.words[DUE] == 0 else LONGEST
    return float(max(max(SHORTEST, FEWEST_PULLS / n_players), min(wide, longest)))


@jitable
def crowd(words: Any, done: int, n_players: int) -> int:
    """How many halted players are enough once so many rows are done."""
    return max(FEWEST, int(1.5 * expected(words) * done / n_players))


@jitable
def shorten(plan: Plan, low: int, found: int, kept: int) -> float:
    """Keep the earliest of those who have halted, and tell when the first of the others did."""
    for i in range(low, low + kept + 1):
        best = i
        for j in range(i + 1, low + found):
            if plan.when[j] < plan.when[best]:
                best = j
        plan.who[i], plan.who[best] = plan.who[best], plan.who[i]
        plan.when[i], plan.when[best] = plan.when[best], plan.when[i]
        plan.nth[i], plan.nth[best] = plan.nth[best], plan.nth[i]
    return float(plan.when[low + kept])


@jitable
def end_earlier(plan: Plan, limit: float) -> None:
    """Let the window end at an earlier moment; who halted after it has not halted."""
    words = plan.words
    if limit >= plan.times[LIMIT]:
        return
    plan.times[LIMIT] = limit
    words[SHORT], words[CUT] = 1, 0
    kept = 0
    for i in range(words[N_HALTED]):
        if plan.when[i] < limit:
            plan.who[kept], plan.when[kept], plan.nth[kept] = plan.who[i], plan.when[i], plan.nth[i]
            kept += 1
    words[N_HALTED] = kept


@jitable
def activations_before(rows: Rows, trial: Any, spans: Any, limit: float) -> int:
    """How many activations all players have from now to a moment."""
    total = 0
    for n in range(len(rows.half)):
        half = rows.half[n]
        if rows.next[half, n] < limit:
            key = player_key(trial, n)
            span = spans[n] if len(spans) > 1 else spans[0]
            cell = 0
            if rows.next[half, n] != NOT_NOW:
                cell = int(rows.place[half, n, 0])
                total -= int(rows.place[half, n, 1])
            while (cell + 1) * span <= limit:
                total += activations_in(key, cell)
                cell += 1
            total += look_ahead(key, cell, activations_in(key, cell), span, limit)[0]
    return total


@jitable
def moment_of(rows: Rows, trial: Any, spans: Any, low: float, high: float, n: int) -> float:
    """A moment before which there are exactly n more activations; between low and high."""
    while True:
        middle = 0.5 * (low + high)
        if middle <= low or middle >= high:
            return high
        found = activations_before(rows, trial, spans, middle)
        if found == n:
            return middle
        if found < n:
            low = middle
        else:
            high = middle


@jitable
def open_window(rows: Rows, plan: Plan, real: Arena, trial: Any, spans: Any, horizon: int) -> None:
    """Begin the next window where the last one ended; with a horizon, end it there."""
    words, times = plan.words, plan.times
    copy(real.counters, plan.past)
    copy(real.shared, plan.seen)
    times[BEGIN] = times[LIMIT]
    times[LIMIT] = times[BEGIN] + times[WIDTH] * times[GAP]
    if CELL <= times[WIDTH] < ENDLESS:  # at the end of a cell of most clocks no times are needed
        times[LIMIT] = math.floor(times[LIMIT] / CELL) * CELL
    words[PHASE] = SCAN
    words[LAST] = words[STOCK] = words[CUT] = words[SHORT] = words[N_LOUD] = 0
    if horizon > 0:
        left = horizon - real.counters[TIME]
        # So many more than are expected never come.
        if left <= 0:
            words[PHASE] = OVER
        elif (
            left < 4.0 * times[WIDTH] * real.n_players + 1000.0
            and activations_before(rows, trial, spans, times[LIMIT]) >= left
        ):
            times[LIMIT] = moment_of(rows, trial, spans, times[BEGIN], times[LIMIT], left)
            words[CUT] = 1


@jitable
def close_window(rows: Rows, plan: Plan, desk: Desk, real: Arena, awaited: int) -> None:
    """After a window without a decision: it counts, unless the run has ended within it."""
    words, times = plan.words, plan.times
    if (
        real.endless == 0
        and desk.last[0] != NOT_NOW
        and real.counters[awaited] + desk.added[awaited] >= real.n_players
        and times[LIMIT] != ENDLESS
    ):
        times[LIMIT] = desk.last[0] * JUST_AFTER
        words[PHASE], words[LAST], words[STOCK] = SET, 1, 0
        return
    for i in range(N_COUNTERS):
        real.counters[i] += desk.added[i]
    keep_moves(rows)
    words[PHASE] = SCAN
    if words[CUT] or times[LIMIT] == ENDLESS:
        words[PHASE] = OVER
        if times[LIMIT] == ENDLESS:
            real.counters[DECIDED] = real.counters[TIME]
    if words[N_LOUD] == 0:
        longest = max(LONGEST, times[GROWTH] * times[BEGIN] / times[GAP])
        times[WIDTH] = min(2.0 * times[WIDTH], min(longest, times[MOST]))
    else:
        factor = min(4.0, expected(words) / (1 + words[N_LOUD]))
        width = factor * (times[LIMIT] - times[BEGIN]) / times[GAP]
        times[WIDTH] = bounded(plan, width, real.n_players)


@jitable
def note_decision(plan: Plan, real: Arena, moment: float, decided: bool, over: bool) -> None:
    """A loud activation has decided something: everybody is to be set to its moment."""
    words, times = plan.words, plan.times
    words[PHASE], words[LAST], words[STOCK] = SET, int(over), int(decided)
    # Decisions come in bursts: expect as many loud activations as were to follow.
    width = (times[LIMIT] - moment) * expected(words) / max(1, words[N_HALTED])
    times[WIDTH] = bounded(plan, width / times[GAP], real.n_players)
    times[LIMIT] = moment
    # The player at the desk has changed what was seen; from now on that is shared.
    for k in range(len(plan.seen)):
        new = plan.seen[k]
        plan.seen[k] = real.shared[k]
        real.shared[k] = new
    if real.counters[TERM] != plan.past[TERM]:
        for n in range(len(real.voted)):
            for k in range(len(plan.seen)):
                real.voted[n, k] = 0


@jitable
def count_set(
    rows: Rows, plan: Plan, desk: Desk, real: Arena, counts: tuple[int, ...], n_counts: int
) -> None:
    """Everybody has been set to one moment: all that happened before it counts."""
    counters, words = real.counters, plan.words
    if words[STOCK]:
        for i in range(n_counts):
            counters[counts[i]] = 0
    for i in range(N_COUNTERS):
        counters[i] += desk.added[i]
    keep_moves(rows)
    if counters[DECIDED] != 0 and plan.past[DECIDED] == 0:
        counters[DECIDED] = counters[TIME]
    words[PHASE] = SCAN
