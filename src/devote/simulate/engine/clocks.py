"""The independent-clock engine: windows of time, and one row of the tables after another.

A window goes like this.

1. *Scan*: every player runs alone from the start of the window to its end, or halts before its
   first loud activation. States are read from one half of ``Rows`` and written to the other.
2. *Merge*: halted players are taken in the order of time. The earliest one makes its loud
   activation, its state is written back as certain, and it runs on alone.
3. If a loud activation made a decision, or ended the run, everybody is *set*: run again from the
   half that was read, with the same numbers, to that very moment, where the next window begins.
   Otherwise the halves change places and the next window begins at the end of this one.

A window in which too many halt is shortened while it is scanned. If no decision falls into what is
left of it, it is scanned again: some players had run past its new end.

The numbers of an activation depend on the trial, the player and the activation only. So results
depend neither on windows nor on who computes which rows.
"""

from collections.abc import Callable
from typing import Any

from devote.kernels import Algorithm, State
from devote.kernels.jitable import jitable
from devote.kernels.tables import (
    ACTIVE,
    DECIDED,
    ENDED,
    N_COUNTERS,
    N_SHARED,
    SUBOPTIMAL,
    TIME,
    VERSION,
    Arena,
)
from devote.protocol.engine import Engine
from devote.simulate.engine.alone import (
    HALTED,
    QUIET,
    SPOKEN,
    calm_of,
    never_prepares,
    never_waits,
    pulls_in_a_row,
    run_alone,
    stops_after,
    stretch_to,
)
from devote.simulate.engine.memory import prefetch_row
from devote.simulate.engine.numbers import player_key
from devote.simulate.engine.packing import shrink, widen
from devote.simulate.engine.windows import (
    ALL_SET,
    DUE,
    LAST,
    LIMIT,
    MERGE,
    N_HALTED,
    N_LOUD,
    NOT_NOW,
    OVER,
    PHASE,
    SCAN,
    SET,
    SHORT,
    START,
    STOCK,
    Desk,
    Rows,
    close_window,
    copy,
    count_set,
    crowd,
    earliest,
    end_earlier,
    note_decision,
    open_window,
    put,
    shorten,
)

AHEAD = 12
"""How many players early a row is asked for."""


@jitable
def with_players(
    real: Arena, counters: Any, shared: Any, players: tuple[Any, Any, Any, Any], out: Any
) -> Arena:
    """The tables with these players: what is alive to them, their words, and what they said."""
    alive, own, voted, first_vote = players
    return Arena(
        real.n_players,
        real.epsilon,
        real.endless,
        real.even,
        real.vast,
        real.steady,
        0,
        0,
        real.scheme,
        counters,
        alive,
        own,
        voted,
        first_vote,
        real.tally,
        real.by_arm,
        shared,
        real.before,
        out,
        real.good,
        real.events,
        real.arm_pulls,
        real.player_pulls,
    )


@jitable
def at_desk(real: Arena, desk: Desk, counters: Any, shared: Any) -> Arena:
    """The tables with the row of one player only."""
    player = (desk.alive, desk.own, desk.voted, desk.first_vote)
    return with_players(real, counters, shared, player, desk.out)


@jitable
def after_decision(real: Arena, rows: Rows, half: int, counters: Any) -> Arena:
    """The tables with all players, as they stand in one half of the rows."""
    players = (rows.alive[half], rows.own[half], real.voted, real.first_vote)
    return with_players(real, counters, real.shared, players, real.out)


@jitable
def next_row(rows: Rows, real: Arena, player: int, high: int, limit: float, stock: int) -> int:
    """The next player who wakes before a moment, or whom ``stock`` asks for; ``high`` if none.

    ``stock``: whether all are asked for (2), or those who have spoken of an arm (1), or nobody.
    """
    for n in range(player + 1, high):
        rows.moved[n] = 0
        ahead = n + AHEAD
        if real.vast and ahead < high:
            half = rows.half[ahead]
            if rows.next[half, ahead] < limit:
                prefetch_row(rows.words[half], ahead)
                if stock == 0:
                    prefetch_row(rows.words[1 - half], ahead)
        if rows.next[rows.half[n], n] < limit or stock > 1 or (stock and real.first_vote[n] >= 0):
            return n
    return high


def make_clocks(algorithm: Algorithm, engine: Engine, fingerprint: int) -> Callable[..., None]:
    """The engine specialised to a subroutine and a scheme, ready to be compiled.

    ``fingerprint`` is as for ``make_loop``.
    """
    clocks = engine.clocks
    assert clocks is not None
    wake, learn, ended = engine.wake, engine.learn, engine.ended
    play, take, choose, observe = engine.choose, engine.observe, algorithm.choose, algorithm.observe
    speaks, tells, rests, take_stock = clocks.speaks, clocks.tells, clocks.rests, clocks.take_stock
    due, calm = clocks.due, calm_of(algorithm, engine)
    at_once = pulls_in_a_row(algorithm, engine)
    awaited, counts, n_counts = clocks.awaited, clocks.counts or (0,), len(clocks.counts)

    def work(  # type: ignore[no-untyped-def]
        env, rule, spans, trial, noisy, horizon, rows, plan, desk, narrow, real, low, high, until
    ):
        """Do one phase of the rows from low to high, or all phases until so many pulls are made.

        Without rows it merges, or opens the next window once everybody is set.
        """
        counters, words, times, past = real.counters, plan.words, plan.times, plan.past
        scratch, fresh, added = desk.scratch, desk.fresh, desk.added
        subroutine = (rule, choose, observe)
        calls = (wake, learn, play, take, speaks, tells, rests, never_waits, calm, at_once)
        in_turn = (never_prepares, stops_after, 0)
        state = State(desk.alive[0], desk.pulls, desk.sums, desk.ints, desk.floats)
        arena = at_desk(real, desk, scratch, plan.seen)
        # The players as they are after a decision, in either half of the rows.
        in_first = after_decision(real, rows, 0, fresh)
        in_second = after_decision(real, rows, 1, fresh)
        known = fingerprint
        player, place = low - 1, -1
        loud = QUIET
        goes_on = False
        stock, limit = 0, 0.0
        while words[PHASE] != OVER:
            phase = words[PHASE]
            if phase == START:
                words[DUE] = due(arena)
                open_window(rows, plan, real, trial, spans, horizon)
                continue
            if phase == ALL_SET:
                over = words[LAST] != 0
                count_set(rows, plan, desk, real, counts, n_counts)
                open_window(rows, plan, real, trial, spans, horizon)
                put(counters, scratch)
                if over or ended(arena) != 0:
                    if counters[DECIDED] == 0:
                        counters[DECIDED] = plan.past[DECIDED] = counters[TIME]
                    if real.endless == 0:
                        words[PHASE] = OVER
                continue
            if phase == MERGE:
                if not goes_on:
                    place = earliest(plan)
                    if place < 0 and words[SHORT]:
                        # No decision yet: do it again, to where it ends now.
                        words[PHASE], words[SHORT] = SCAN, 0
                        player = low - 1
                        continue
                    if place < 0:
                        words[DUE] = due(arena)
                        close_window(rows, plan, desk, real, awaited)
                        if words[PHASE] == SCAN:
                            open_window(rows, plan, real, trial, spans, horizon)
                        player = low - 1
                        continue
                    player = plan.who[place]
                loud = QUIET if goes_on else plan.nth[place]
                limit = times[LIMIT]
                goes_on = False
                put(counters, scratch)
            else:
                if low == high:
                    return
                if player < low:
                    if phase == SCAN and 0 < until <= counters[TIME]:
                        return
                    loud = QUIET
                    desk.last[0] = NOT_NOW
                    limit = times[LIMIT]
                    desk.halted[0] = 0
                    put(past, scratch)
                    put(counters, fresh)
                    # Who has said nothing matters to a decision only once one arm is left.
                    stock = 2 * (counters[N_SHARED] == 1) or 1 if words[STOCK] else 0
                    for i in range(n_counts):
                        fresh[counts[i]] = 0
                player = next_row(rows, real, player, high, limit, stock)
                if player >= high:
                    for i in range(N_COUNTERS):
                        added[i] = scratch[i] - past[i]
                    if words[STOCK]:
                        for i in range(n_counts):
                            added[counts[i]] = fresh[counts[i]]
                    desk.last[1] = limit
                    if until == 0:
                        return
                    words[N_HALTED] = desk.halted[0]
                    words[PHASE] = MERGE if phase == SCAN else ALL_SET
                    end_earlier(plan, limit)
                    player = low - 1
                    continue
            half = rows.half[player]
            if phase == MERGE or rows.next[half, player] < limit:
                if rows.next[half, player] == NOT_NOW:
                    put(narrow.fresh, desk.words)
                else:
                    copy(rows.words[half, player], desk.words)
                widen(narrow, desk)
                if phase == MERGE:
                    put(real.voted[player], desk.voted[0])
                    desk.first_vote[0] = real.first_vote[player]
                elif phase == SCAN:
                    copy(scratch, desk.kept)
                span = spans[player] if len(spans) > 1 else spans[0]
                clock = (player_key(trial, player), span, noisy, awaited)
                first = desk.own[0, ACTIVE]
                cell, made = int(desk.place[0]), int(desk.place[1])
                stretch = (0, cell, made, 0.0)
                if loud < 0:
                    stretch = stretch_to(clock[0], cell, made, span, limit)
                what = (calls, subroutine, env, arena, state, player, clock)
                how, cell, made, t, bad, changed = run_alone(
                    *what, cell, made, stretch, loud, in_turn
                )
                desk.place[0], desk.place[1] = cell, made
                if how == HALTED and phase == MERGE:
                    plan.when[place], plan.nth[place] = t, desk.own[0, ACTIVE]
                    continue
                if how == HALTED:
                    put(desk.kept, scratch)
                    last = low + desk.halted[0]
                    plan.who[last] = player
                    plan.when[last], plan.nth[last] = t, desk.own[0, ACTIVE]
                    desk.halted[0] += 1
                    few = crowd(words, player + 1 - low, real.n_players)
                    if desk.halted[0] > 2 * few:
                        limit = shorten(plan, low, desk.halted[0], few)
                        desk.halted[0] = few
                    continue
                if how == SPOKEN:
                    t = plan.when[place]
                scratch[TIME] += desk.own[0, ACTIVE] - first
                scratch[SUBOPTIMAL] += bad
                # What is certain takes the place of what was.
                where = half if how == SPOKEN or phase == SET else 1 - half
                shrink(narrow, desk)
                copy(desk.words, rows.words[where, player])
                rows.next[where, player] = t
                rows.moved[player] = where ^ half
                if how == SPOKEN:
                    words[N_LOUD] += 1
                    put(desk.voted[0], real.voted[player])
                    real.first_vote[player] = desk.first_vote[0]
                    # Also where nothing is left to decide: the number of pulls then is asked for.
                    decided = scratch[VERSION] != counters[VERSION] or (scratch[DECIDED] != 0) != (
                        counters[DECIDED] != 0
                    )
                    put(scratch, counters)
                    over = not decided and real.endless == 0 and ended(arena) != 0
                    goes_on = not (decided or over)
                    if decided or over:
                        words[DUE] = due(arena)
                        note_decision(plan, real, plan.when[place], decided, over)
                        player = low - 1
                    continue
                desk.last[0] = max(desk.last[0], changed)
                if phase == MERGE:
                    for i in range(N_COUNTERS):
                        added[i] += scratch[i] - counters[i]
                    words[N_HALTED] -= 1
                    plan.who[place] = plan.who[words[N_HALTED]]
                    plan.when[place] = plan.when[words[N_HALTED]]
                    plan.nth[place] = plan.nth[words[N_HALTED]]
            if stock > 1 or (stock and real.first_vote[player] >= 0):
                take_stock(in_second if half else in_first, player)
        if known < 0:
            counters[ENDED] = known

    return work
