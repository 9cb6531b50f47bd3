"""Passes: simulate each player alone from one decision of the group to the next.

Between two decisions players do not influence each other. A *pass* takes every player from the
last committed moment to the end of a window of time, on a Poisson clock of its own, and records the
messages it sends, with their times. Random numbers are counted, so a pass can be made again:

* no decision follows from the messages: the pass is committed, and the next window begins;
* one does, at time t*: the players are taken again from the committed moment, to t* only. That
  pass is committed, the decision is applied, and the next window begins at t*.

A player's numbers are kept twice: as committed, and as the last pass left them. ``half`` says which
is which; committing is to swap the halves of those who moved.

After the last decision everybody who does not know of it yet wakes once more, which ends the run.
Where nobody sends anything, each player is taken until it is done; then all go on to the moment
when the last one was.

The functions here serve one player (``visit``) and one trial (``decide``); CPU threads
(``passes_run``) and GPU threads (``gpu``) call them. What a scheme records, and what follows from
it, are the functions of ``part``, for which those of the scheme stand.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from devote.problems import pay
from devote.rules import COUNT, State, start
from devote.rules.state import next_alive
from devote.simulator.numbers import CHOOSE, NOISE, PAY, gap, player_key, uniform
from devote.simulator.part import apply, choose, enter, learn, needed, observe, wake
from devote.simulator.workspace import FAULT, Setup, holds_shared

SCAN, RERUN, FIND, TAIL, DONE = range(5)
"""What a pass of a trial is for: to look for a decision; to stop at it; to find out when the last
player learns of it; to go on until then. DONE: nothing is left to do."""

FIRST_WIDTH = 40.0
"""The first window, in mean gaps of a player."""

TRIAL = np.dtype(
    [
        ("key", np.uint64),
        ("phase", np.int64),
        ("commit", np.int64),  # whether the last pass counts
        ("limit", np.float64),  # where the pass ends
        ("start", np.float64),  # the committed moment
        ("width", np.float64),
        ("end", np.float64),  # when the last player learns of the answer, or is done
        ("version", np.int64),
        ("n_shared", np.int64),
        ("ended", np.int64),
        ("decided", np.int64),
        ("broadcasts", np.int64),
        ("n_done", np.int64),
    ],
    align=True,
)
PLAYER = np.dtype(
    [
        ("when", np.float64),  # the next activation
        ("active", np.int32),
        ("suboptimal", np.int32),
        ("first_vote", np.int32),
        ("conflicts", np.int32),
        ("seen", np.int32),  # the version of the group's decisions that the player knows
        ("role", np.int32),
        ("against", np.int32),
    ],
    align=True,
)


class Rows(NamedTuple):
    """The learners of all players of all trials: arrays ``[row, half, ...]``.

    ``half[row]`` is the half that is committed, ``moved[row]`` whether the last pass filled the
    other one. Records of players are apart, ``players[row, half]``.
    """

    alive: Any
    pulls: Any
    sums: Any
    ints: Any
    floats: Any
    voted: Any
    half: Any
    moved: Any


SENT, ACTIVE, FAULTS = range(3)
"""Columns of ``Mail.sums``: messages, or players who are done where nobody sends anything;
activations up to the last decision; rules that did what no rule may."""


class Mail(NamedTuple):
    """What players add to during a pass: a place for each trial, or for each CPU thread.

    Message ``i`` has the time ``times[place, i]`` and the slot ``slots[place, i]``: an arm, or
    ``n_arms`` and ``n_arms + 1``, whose meaning is the scheme's. The latter is no message.
    ``ends`` is when the last player learns of the answer, or is done.
    """

    sums: Any
    ends: Any
    times: Any
    slots: Any


class View(NamedTuple):
    """What a player sees of its trial, and where it writes; ``out`` is for eliminated arms."""

    trial: Any
    shared: Any
    mail: Mail
    place: int
    out: Any


def add_at(array: Any, place: int, column: int, value: int) -> int:
    """Add to a number that others may add to at once; returns what it was."""
    before: int = array[place, column]
    array[place, column] += value
    return before


def raise_at(array: Any, place: int, value: float) -> None:
    """Raise a number that others may raise at once."""
    array[place] = max(array[place], value)


def record(view: View, t: float, slot: int) -> None:
    """Record a message; more than there is room for are only counted."""
    i = add_at(view.mail.sums, view.place, SENT, 1)
    if i < view.mail.times.shape[1]:
        view.mail.times[view.place, i] = t
        view.mail.slots[view.place, i] = slot


def settle_half(trial: Any, rows: Rows, row: int) -> int:
    """Swap the halves of a row if the last pass was committed; which of them is committed now."""
    if trial.commit and rows.moved[row]:
        rows.half[row] = 1 - rows.half[row]
    rows.moved[row] = 0
    return int(rows.half[row])


def copy_player(before: Any, player: Any) -> None:
    """Copy a player's record, field by field: records as a whole the GPU's simulator cannot."""
    player.when, player.active, player.suboptimal = before.when, before.active, before.suboptimal
    player.first_vote, player.conflicts = before.first_vote, before.conflicts
    player.seen, player.role, player.against = before.seen, before.role, before.against


def load(rows: Rows, h: int, row: int, state: State, voted: Any) -> None:
    """Copy a learner."""
    for k in range(len(state.alive)):
        state.alive[k] = rows.alive[row, h, k]
        state.pulls[k] = rows.pulls[row, h, k]
        state.sums[k] = rows.sums[row, h, k]
        voted[k] = rows.voted[row, h, k]
    for i in range(len(state.ints)):
        state.ints[i] = rows.ints[row, h, i]
    for i in range(len(state.floats)):
        state.floats[i] = rows.floats[row, h, i]


def visit(
    setup: Setup,
    view: View,
    players: Any,
    rows: Rows,
    state: State,
    voted: Any,
    row: int,
    n: int,
) -> int:
    """Take player n, in this row, through a pass; whether it moved.

    ``state`` and ``voted`` are its learner and votes during the pass.
    """
    trial = view.trial
    h = rows.half[row]
    before, player = players[row, h], players[row, 1 - h]
    if trial.phase == FIND:  # nobody moves: who has not heard wakes next, and activations so far
        if not holds_shared(rows.alive[row, h], view.shared):
            raise_at(view.mail.ends, view.place, before.when)
        add_at(view.mail.sums, view.place, ACTIVE, before.active)
        return 0
    key = player_key(trial.key, n)
    span = setup.spans[n % len(setup.spans)]
    if trial.start == 0.0:
        begin(state, player, voted)
        player.when = gap(key, 0, span)
    else:
        is_done = setup.alone and trial.phase == SCAN and rows.ints[row, h, COUNT] == 1
        if before.when > trial.limit or is_done:
            enter(setup, view, before, rows.voted[row, h])
            return 0
        copy_player(before, player)
        load(rows, h, row, state, voted)
    enter(setup, view, player, voted)
    if setup.alone and trial.phase == TAIL:
        wait(setup, trial.limit, state, player, n, key, span)
    else:
        advance(setup, view, state, player, voted, n, key, span)
    rows.moved[row] = 1
    return 1


def begin(state: State, player: Any, voted: Any) -> None:
    """A player before its first activation."""
    start(state)
    for k in range(len(voted)):
        voted[k] = 0
    player.active = player.suboptimal = player.conflicts = 0
    player.seen = player.role = player.against = 0
    player.first_vote = -1


def advance(
    setup: Setup,
    view: View,
    state: State,
    player: Any,
    voted: Any,
    n: int,
    key: np.uint64,
    span: float,
) -> None:
    """All activations of a player up to the end of the pass."""
    t, limit = player.when, view.trial.limit
    group = setup.env.groups[n] if setup.env.n_groups > 1 else 0
    scanning_alone = setup.alone and view.trial.phase == SCAN
    i, suboptimal = player.active, player.suboptimal
    is_done = False
    while t <= limit and not is_done:
        active = i + 1
        noise = uniform(key, i, NOISE) if setup.noisy else 0.0
        wake(setup, view, state, player, active, noise, t)
        if state.ints[COUNT] > 1:
            arm = choose(setup.rule, state, uniform(key, i, CHOOSE))
            if arm < 0 or arm >= setup.n_arms:
                view.mail.sums[view.place, FAULTS] = 1
                break
            reward = pay(setup.env, 0, n, arm, uniform(key, i, PAY))
            n_out = observe(setup.rule, state, arm, reward, view.out)
            if n_out < 0 or n_out >= setup.n_arms:
                view.mail.sums[view.place, FAULTS] = 1
                break
            if n_out > 0:
                learn(setup, view, state, player, voted, active, n_out, t)
        else:
            arm = next_alive(state, 0)
        suboptimal += 1 - setup.good[group * setup.n_arms + arm]
        is_done = bool(scanning_alone and state.ints[COUNT] == 1)
        if is_done:
            raise_at(view.mail.ends, view.place, t)
            add_at(view.mail.sums, view.place, SENT, 1)
        t += gap(key, active, span)
        i = active
    player.when, player.active, player.suboptimal = t, i, suboptimal


def wait(
    setup: Setup, limit: float, state: State, player: Any, n: int, key: np.uint64, span: float
) -> None:
    """As ``advance``, for a player that is done and sends nothing: it goes on with its arm."""
    t, i = player.when, player.active
    while t <= limit:
        i += 1
        t += gap(key, i, span)
    group = setup.env.groups[n] if setup.env.n_groups > 1 else 0
    arm = next_alive(state, 0)
    player.suboptimal += (i - player.active) * (1 - setup.good[group * setup.n_arms + arm])
    player.when, player.active = t, i


def new_trials(keys: Sequence[int], n_arms: int) -> Any:
    """Trials before their first pass."""
    trials = np.zeros(len(keys), dtype=TRIAL).view(np.recarray)
    trials["key"] = keys
    trials["width"] = trials["limit"] = FIRST_WIDTH
    trials["n_shared"] = n_arms
    return trials


def decide(
    setup: Setup,
    trial: Any,
    tally: Any,
    shared: Any,
    needs: Any,
    times: Any,
    slots: Any,
    n: int,
) -> None:
    """After a pass in which n messages were sent: commit it or not, and say what the next is for.

    The messages are in the order of time; there may be more than places for them in ``times``.
    ``needs`` is a buffer.
    """
    if trial.phase == SCAN and setup.alone:
        trial.n_done += n
        commit(trial)
        trial.width = max(trial.width, trial.start)
        if trial.n_done == setup.n_players:
            trial.phase, trial.limit = TAIL, trial.end
    elif trial.phase == SCAN:
        if n > len(times):
            trial.commit = 0
            trial.width *= 0.5
            trial.limit = trial.start + trial.width
            return
        first, second = next_decisions(setup, trial, tally, shared, needs, times, slots, n)
        if first < math.inf:
            trial.commit = 0
            trial.phase, trial.limit = RERUN, first
            ahead = 1.2 * (second - first) if second < math.inf else 0.08 * first
            trial.width = min(max(ahead, 0.01 * first), 0.12 * first)
        else:
            count(setup, trial, tally, slots, n)
            apply(setup, trial, tally, shared)
            trial.width = max(0.02 * trial.limit, min(1.5 * trial.width, 0.12 * trial.limit))
            commit(trial)
    elif trial.phase == RERUN:
        count(setup, trial, tally, slots, n)
        apply(setup, trial, tally, shared)
        trial.phase = SCAN
        commit(trial)
        if trial.ended:
            trial.phase = DONE
        elif trial.n_shared == 1:
            trial.phase = FIND
            trial.end = trial.start
    elif trial.phase == FIND:
        trial.commit = 0
        trial.phase, trial.limit = TAIL, trial.end
    elif trial.phase == TAIL:
        trial.commit = 1
        trial.phase = DONE


def end_pass(setup: Setup, view: View, tally: Any, needs: Any, times: Any, slots: Any) -> None:
    """Take in what players have added up, and decide; a rule that went wrong ends the trial."""
    trial, sums = view.trial, view.mail.sums[view.place]
    trial.end = max(trial.end, view.mail.ends[view.place])
    trial.decided += sums[ACTIVE]
    if sums[FAULTS]:
        trial.phase, trial.ended = DONE, FAULT
        return
    decide(setup, trial, tally, view.shared, needs, times, slots, sums[SENT])


def commit(trial: Any) -> None:
    """The pass counts; the next one begins where it ended."""
    trial.commit = 1
    trial.start = trial.limit
    trial.limit = trial.start + trial.width


def count(setup: Setup, trial: Any, tally: Any, slots: Any, n: int) -> None:
    """Add the messages of a pass to the tally."""
    for j in range(n):
        tally[slots[j]] += 1
        if slots[j] <= setup.n_arms:
            trial.broadcasts += 1


def next_decisions(
    setup: Setup,
    trial: Any,
    tally: Any,
    shared: Any,
    needs: Any,
    times: Any,
    slots: Any,
    n: int,
) -> tuple[float, float]:
    """When the next decision falls by the messages of a pass, and the one after; else infinity.

    The messages are in the order of time.
    """
    for slot in range(len(tally)):
        needs[slot] = needed(setup, trial, tally, shared, slot)
    first = math.inf
    for j in range(n):
        slot = slots[j]
        needs[slot] -= 1
        if needs[slot] == 0:
            if first == math.inf:
                first = times[j]
            elif times[j] > first:
                return first, times[j]
    return first, math.inf
