"""One player alone: its activations up to a moment, while its state is in the fastest memory.

Each player has a Poisson clock whose rate is its activity. Who wakes next among all of them is
then distributed as in the paper, and nothing but decisions ties players to each other. Times
and all else follow from the player's key and the number of the activation, so a player can be
set back and run again to another moment.

``run_alone`` works on buffers and is handed all functions, so that it compiles for any target:
the state may be rows of arrays or local memory, the tables need a single row.

Paper: Algorithm 2, lines 2-20, for one player.
"""

from typing import Any

from devote.kernels.jitable import jitable
from devote.kernels.state import State
from devote.kernels.tables import ACTIVE, Arena
from devote.problems import is_suboptimal, pay
from devote.problems.rewards import Environment
from devote.simulate.engine.numbers import CHOOSE, NOISE, PAY, gap, uniform

ARRIVED, HALTED, SPOKEN = range(3)
"""How a stretch ends: at its limit, before a loud activation, after the one that it was to make."""


@jitable
def bad_play(env: Environment, arena: Arena, player: int, arm: int) -> int:
    """1 if the arm is not epsilon-optimal for the player."""
    if arena.steady:
        return int(1 - arena.good[arm])
    return is_suboptimal(env, arena.epsilon, 0, player, arm)


@jitable
def first_alive(state: State) -> int:
    """The lowest remaining arm."""
    for k in range(len(state.alive)):
        if state.alive[k]:
            return k
    return -1


@jitable
def run_alone(
    calls: Any,
    sub: Any,
    env: Environment,
    arena: Arena,
    state: State,
    player: int,
    clock: Any,
    begin: float,
    limit: float,
    loud: float,
) -> tuple[float, int, float, int]:
    """Make a player's activations from its next one, at ``begin``, up to ``limit``.

    Stops before an activation that others would hear of, other than the one at ``loud``, and
    after that one. ``arena`` has this player's row only; ``player`` is who it is among all.
    ``clock`` is its key, its mean gap, whether noise is drawn, and the counter that is awaited.

    With a mean gap of 0 time does not pass: that is for a player who is alone in its run, and
    whose run ends when the awaited counter rises.

    Returns the time of the next activation, plays of suboptimal arms, when the awaited counter
    last changed (-1 if it did not), and how it ended.
    """
    wake, learn, play, take, speaks, tells, rests = calls
    key, pace, noisy, awaited = clock
    bad = 0
    changed = -1.0
    t = begin
    while t < limit:
        count = arena.own[0, ACTIVE]
        if arena.endless == 0 and rests(arena, state, 0):
            first = count
            while t < limit:
                count += 1
                t += pace * gap(key, count)
            arena.own[0, ACTIVE] = count
            bad += (count - first) * bad_play(env, arena, player, first_alive(state))
            return t, bad, changed, ARRIVED
        arena.own[0, ACTIVE] = count + 1
        spoken = t == loud
        if not spoken and speaks(arena, state, 0):
            return t, bad, changed, HALTED
        noise = uniform(key, count, NOISE) if noisy else 0.0
        before = arena.counters[awaited]
        wake(arena, state, 0, noise)
        arm = play(sub, arena, state, 0, uniform(key, count, CHOOSE))
        bad += bad_play(env, arena, player, arm)
        reward = pay(env, 0, player, arm, uniform(key, count, PAY))
        n_out = take(sub, arena, state, 0, arm, reward, noise)
        if n_out != 0:
            if not spoken and tells(arena, state, 0, n_out):
                return t, bad, changed, HALTED
            learn(arena, state, 0, n_out)
        if arena.counters[awaited] != before:
            changed = t
            if pace == 0.0:
                return t, bad, changed, ARRIVED
        if pace != 0.0:
            t += pace * gap(key, count + 1)
        if spoken:
            return t, bad, changed, SPOKEN
    return t, bad, changed, ARRIVED
