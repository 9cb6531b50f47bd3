"""One player alone: its activations up to a moment, while its state is in the fastest memory.

Each player has a Poisson clock whose rate is its activity. Who wakes next among all of them is
then distributed as in the paper, and nothing but decisions ties players to each other. Times
and all else follow from the player's key and the number of the activation, so a player can be
set back and run again to another moment.

A clock has cells (``streams.Clock``). How many activations there are up to the moment is known
beforehand: in a cell that ends before it no times are needed, in the one that holds it those
before it are counted.

``run_alone`` works on buffers and is handed all functions, so that it compiles for any target:
the state may be rows of arrays or local memory, the tables need a single row.

Paper: Algorithm 2, lines 2-20, for one player.
"""

import math
from collections.abc import Callable
from typing import Any

from devote.kernels import Algorithm
from devote.kernels.jitable import jitable
from devote.kernels.state import COUNT, NEXT, Rule, State, in_turn, next_alive
from devote.kernels.tables import ACTIVE, Arena
from devote.problems import is_suboptimal, pay
from devote.problems.rewards import BERNOULLI, Environment
from devote.protocol.engine import Engine, choose_alone, observe_alone
from devote.simulate.engine.numbers import (
    UNIT,
    activation_word,
    moment_after,
    noise_word,
    onward,
    part,
    place_after,
    run_clock,
    unit,
)

ARRIVED, HALTED, SPOKEN, GOES_ON = range(4)
"""How a stretch ends: at its limit, before a loud activation, after the one that it was to make."""

QUIET, ALOUD = -1, -2
"""In place of the number of an activation: none is to be loud; all are made that are."""

STOPPED = -1
"""In place of where a stretch ends: it has. The loop has one end, so that the threads of a GPU,
which take its branches one after the other, are together again at each turn."""

IN_A_ROW = 16
"""Pulls that are made one after another until one of them eliminates an arm. Threads of a GPU that
have eliminated one wait that long for others who have not."""

FOREVER = 1 << 60
"""More activations than are ever made."""


@jitable
def never_waits(state: State) -> bool:
    """Where each pull is made at once."""
    return False


@jitable
def never_calm(rule: Rule, state: State) -> int:
    """Where each pull is made by itself."""
    return 0


def calm_of(algorithm: Algorithm, engine: Engine) -> Callable[[Rule, State], int]:
    """What says how many pulls can be made in one go."""
    by_itself = engine.choose is choose_alone and engine.observe is observe_alone
    if algorithm.calm is None or not by_itself or not engine.clocks or not engine.clocks.hears_once:
        return never_calm
    return algorithm.calm


def pulls_in_a_row(algorithm: Algorithm, engine: Engine) -> int:
    """How many pulls are made without asking in between whether there is something else to do."""
    asked = engine.clocks is None or not engine.clocks.hears_once
    return 1 if asked or calm_of(algorithm, engine) is not never_calm else IN_A_ROW


@jitable
def pull_in_turn(means: Any, good: Any, state: State, key: Any, active: int, n_pulls: int) -> int:
    """Make pulls of a player that do nothing but add rewards; returns those of suboptimal arms.

    One arm after another: its pulls are as many activations apart as arms remain.
    """
    count = int(state.ints[COUNT])
    arm = following = in_turn(state)
    below = math.ceil(means[arm] / UNIT)
    bad = total = turn = 0
    i = active
    for _ in range(n_pulls):
        total += part(onward(activation_word(key, i))) < below
        i += count
        if i >= active + n_pulls:
            pulls = (i - active - turn) // count
            state.pulls[arm] += pulls
            state.sums[arm] += total
            bad += pulls * (1 - good[arm])
            total = 0
            turn += 1
            i = active + turn
            arm = next_alive(state, arm + 1)
            if arm == len(state.alive):
                arm = next_alive(state, 0)
            below = math.ceil(means[arm] / UNIT)
            if turn == n_pulls % count:
                following = arm
    state.ints[NEXT] = following
    return bad


@jitable
def never_prepares(log: Any, arena: Arena) -> None:
    """Where loud activations are not made in passing."""


@jitable
def stops_after(log: Any, arena: Arena, mark: int) -> bool:
    """The same: the one that was asked for is the last."""
    return True


@jitable
def bad_play(env: Environment, arena: Arena, t: int, player: int, arm: int) -> int:
    """1 if the arm is not epsilon-optimal for the player at time t."""
    if arena.steady:
        return int(1 - arena.good[arm])
    return is_suboptimal(env, arena.epsilon, t, player, arm)


@jitable
def stretch_to(
    key: Any, cell: int, made: int, span: float, limit: float
) -> tuple[int, int, int, float]:
    """What ``run_clock`` says of a player up to a moment: a number of cells if no time passes."""
    if span == 0.0:
        return int(min(limit - cell, FOREVER)), cell, made, 0.0
    return run_clock(key, cell, made, span, limit)


@jitable
def run_alone(
    calls: Any,
    sub: Any,
    env: Environment,
    arena: Arena,
    state: State,
    player: int,
    clock: Any,
    cell: int,
    made: int,
    stretch: tuple[int, int, int, float],
    loud: int,
    hearing: Any,
) -> tuple[int, int, int, float, int, float]:
    """Make a player's activations of a stretch, from one on: ``made`` of its cell are made.

    Stops before an activation that others would hear of, other than number ``loud``, and after
    that one. ``arena`` has this player's row only; ``player`` is who it is among all. ``clock``
    is its key, the length of a cell of its clock, whether noise is drawn, and the counter that is
    awaited. ``stretch`` is what ``stretch_to`` says, and is asked for if none is to be ``loud``.
    With ``ALOUD`` all are made: ``hearing`` is what prepares the tables for a loud one, what hears
    of it and tells whether to stop after it, and what both are given.

    With cells of length 0 time does not pass, and a cell is one activation: that is for a player
    who is alone in its run, and whose run ends when the awaited counter rises. At the end of the
    stretch it pauses: it has not arrived, it goes on.

    Returns how it ended, the cell and how many of it are made, a moment before which the player
    does not wake again (of a loud activation that it halts before, its own; nothing of one that it
    has made, when that was is known), plays of suboptimal arms, and when the awaited counter last
    changed (-1 if it did not).
    """
    wake, learn, play, take, speaks, tells, rests, waits, calm, in_a_row = calls
    key, span, noisy, awaited = clock
    prepare, hear, log = hearing
    in_passing = loud == ALOUD
    bad = 0
    changed = -1.0
    ahead, last_cell, last_made, t = stretch
    first = active = int(arena.own[0, ACTIVE])
    end = active + ahead if loud < 0 else loud + 1
    # One ahead: a processor that waits for one number can work on the next.
    word = activation_word(key, active)
    choice, luck = unit(word), unit(onward(word))
    plain = env.kind == BERNOULLI and env.n_groups == 1 and env.n_segments == 1 and arena.steady
    how, ask = GOES_ON, first + 1
    while active < end:
        if plain and ask <= active < end - 1:
            # The last one is made by itself, since its uniform number is kept.
            n_calm = min(calm(sub[0], state), end - active - 1)
            ask = active + n_calm + len(state.alive)
            if n_calm > 0:
                bad += pull_in_turn(env.means, arena.good, state, key, active, n_calm)
                active += n_calm
                word = activation_word(key, active)
                choice, luck = unit(word), unit(onward(word))
        if not waits(state):
            spoken = active == loud
            arena.own[0, ACTIVE] = active + 1
            if arena.endless == 0 and rests(arena, state, 0):
                bad += (end - active) * bad_play(env, arena, 0, player, next_alive(state, 0))
                active = end
            elif not spoken and speaks(arena, state, 0):
                if in_passing:
                    prepare(log, arena)
                    loud = active
                else:
                    how, end = HALTED, STOPPED
            else:
                before = arena.counters[awaited]
                noise = unit(noise_word(key, active)) if noisy else 0.0
                wake(arena, state, 0, noise)
                stop = min(loud if loud > active else end, active + in_a_row)
                if active == first:  # it may have heard something
                    stop = active
                n_out, plays = 0, True
                while plays:
                    u, v = choice, luck
                    word = activation_word(key, active + 1)
                    choice, luck = unit(word), unit(onward(word))
                    arm = play(sub, arena, state, 0, u)
                    if plain:  # what else ``pay`` asks need not be asked at each pull
                        bad += 1 - arena.good[arm]
                        reward = 1.0 * (v < env.means[arm])
                    else:
                        bad += bad_play(env, arena, 0, player, arm)
                        reward = pay(env, 0, player, arm, v)
                    n_out = take(sub, arena, state, 0, arm, reward, noise)
                    plays = n_out == 0 and active + 1 < stop and not spoken and not waits(state)
                    if plays:
                        active += 1
                        noise = unit(noise_word(key, active)) if noisy else 0.0
                arena.own[0, ACTIVE] = active + 1
                telling = n_out != 0 and not spoken and tells(arena, state, 0, n_out)
                if telling and not in_passing:
                    how, end = HALTED, STOPPED
                else:
                    if telling:
                        prepare(log, arena)
                        spoken = True
                    if n_out != 0:
                        learn(arena, state, 0, n_out)
                    active += 1
                    if arena.counters[awaited] != before:
                        if span == 0.0:
                            how, end = ARRIVED, STOPPED
                        else:
                            changed = moment_after(key, cell, made, span, active - 1 - first)[2]
                    if spoken and hear(log, arena, active - 1):
                        how, end = SPOKEN, STOPPED
    if span == 0.0:
        cell += active - first
    elif how == GOES_ON:
        how, cell, made = ARRIVED, last_cell, last_made
    elif how == HALTED:
        cell, made, t = moment_after(key, cell, made, span, active - first)
    else:
        cell, made, _ = place_after(key, cell, made, active - first)
    arena.own[0, ACTIVE] = active
    return how, cell, made, t, bad, changed
