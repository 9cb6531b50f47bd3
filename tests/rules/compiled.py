"""Kernels in loops that tests compile: linked as they ship, and on buffers of the same types.

So a worker that has compiled a kernel for the engine does not compile it once more. ``driver`` is
compiled once for each subroutine, and serves whoever plays one alone.
"""

from collections.abc import Callable
from functools import cache

import numba
import numpy as np

from devote.problems import pay
from devote.rules import COUNT, State, get_algorithm, merge, start
from devote.simulator.compiling import OPTIONS, Linker, inlined

__all__ = ["array_state", "compiled", "driver", "play_alone"]

STEPS = 1 << 16
"""Pulls that ``play_alone`` makes at once."""


def array_state(algorithm, n_arms):
    """The second rows of arrays, as the compiled loop lays players out."""

    def row(length, dtype):
        return np.zeros((3, length), dtype)[1]

    state = State(
        alive=row(n_arms, np.int8),
        pulls=row(n_arms, np.int32),
        sums=row(n_arms, np.float64),
        ints=row(algorithm.n_ints(n_arms), np.int32),
        floats=row(algorithm.n_floats, np.float64),
    )
    start(state)
    return state


def compiled(loop):
    """A loop of a test, compiled as those of the engine are; it makes no arrays."""
    linked, _ = Linker(inlined).link(loop)
    return numba.njit(**OPTIONS)(linked)


@cache
def driver(name: str) -> Callable[..., None]:
    """One step after another of a subroutine, written down: conflict, arm, what it returned.

    ``left[t]`` is the one arm that remains after step t, -1 while there are several. With
    ``again`` it then starts over.
    """
    choose, observe = get_algorithm(name).choose, get_algorithm(name).observe

    @compiled
    def drive(rule, state, env, again, uniforms, pays, shared, out, steps, eliminated):
        conflicts, arms, counts, left = steps
        for t in range(len(uniforms)):
            conflicts[t] = merge(state, shared[t % len(shared)])
            arms[t] = choose(rule, state, uniforms[t])
            counts[t] = observe(rule, state, arms[t], pay(env, t, 0, arms[t], pays[t]), out)
            for i in range(counts[t]):
                eliminated[t, i] = out[i]
            left[t] = -1
            if state.ints[COUNT] == 1:
                for k in range(rule.n_arms):
                    if state.alive[k]:
                        left[t] = k
                if again:
                    start(state)

    return drive


def play_alone(algorithm, rule, environment, *, runs, seed, most=np.inf):
    """Runs one after another, each to its last arm: their answers, pulls and resets.

    A run of more than ``most`` pulls ends it; its answer is -1.
    """
    n_arms, rng = rule.n_arms, np.random.default_rng(seed)
    state = array_state(algorithm, n_arms)
    shared, out = np.ones((1, n_arms), np.int8), np.zeros(n_arms, np.int32)
    steps, eliminated = np.zeros((4, STEPS), np.int32), np.zeros((STEPS, n_arms), np.int32)
    answers, ends, resets, done = [], [-1], [], 0
    while len(answers) < runs and done - ends[-1] <= most:
        uniforms, pays = rng.random((2, STEPS))
        driver(algorithm.name)(
            rule, state, environment, 1, uniforms, pays, shared, out, tuple(steps), eliminated
        )
        _, _, counts, left = steps
        over = np.flatnonzero(left >= 0)
        answers += left[over].tolist()
        ends += (done + over).tolist()
        resets += (done + np.flatnonzero(counts < 0)).tolist()
        done += STEPS
    missing = [-1] * (runs - len(answers))
    pulls = np.diff(ends)[:runs]
    found = np.searchsorted(ends[1:], resets)
    return (
        np.array(answers[:runs] + missing),
        pulls,
        np.bincount(found[found < runs], minlength=runs),
    )
