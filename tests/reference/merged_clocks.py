"""Players on clocks of their own the obvious way: one activation after another, in order of time.

The counter-based numbers of every player are laid out, sorted by time, and fed to the event loop.
That is the run that the passes engine must make, to the last vote.
"""

from dataclasses import replace

import numpy as np

from devote.problems import Uniform
from devote.simulator import numbers
from devote.simulator.run import Run
from devote.simulator.streams import trial_key

AT_ONCE = 64
"""Activations of each player, on average, that are laid out at once."""


def activations(seed, trial, weights):
    """Blocks of activations in order of time: players, and three uniforms of each."""
    n_players = len(weights)
    trial_number = np.uint64(trial_key(seed, trial))
    keys = [numbers.player_key(trial_number, n) for n in range(n_players)]
    begun = np.zeros(n_players, dtype=np.int64)  # activations before the end of the last block
    when = np.array([-np.log(1.0 - numbers_of(k, 0, 1, numbers.GAP)[0]) for k in keys])
    when /= n_players * np.asarray(weights)
    end = 0.0
    while True:
        end += AT_ONCE
        block = []
        for n, key in enumerate(keys):
            span = 1.0 / (n_players * weights[n])
            times = [np.array([when[n]])]
            while times[-1][-1] <= end:
                some = sum(map(len, times)) + begun[n]
                gaps = -np.log(1.0 - numbers_of(key, some, some + 64, numbers.GAP)) * span
                times.append(times[-1][-1] + np.cumsum(gaps))
            flat = np.concatenate(times)
            count = int(np.searchsorted(flat, end, side="right"))
            drawn = [
                numbers_of(key, begun[n], begun[n] + count, word)
                for word in (numbers.CHOOSE, numbers.PAY, numbers.NOISE)
            ]
            block.append(np.array([flat[:count], np.full(count, n), *drawn]))
            begun[n] += count
            when[n] = flat[count]
        merged = np.concatenate(block, axis=1)
        yield merged[1:, np.argsort(merged[0], kind="stable")]


def numbers_of(key, begin, end, word):
    """``numbers.uniform`` of many activations."""
    places = np.arange(begin, end, dtype=np.uint64)
    words = numbers.mix(key + numbers.GOLDEN * (numbers.WORDS * places + word))
    return (words >> numbers.S11).astype(np.int64) * numbers.UNIT


def merged_run(scenario, *, seed=0, trial=0):
    """The event loop, fed with the merged clocks, at its end."""
    n = scenario.n_players
    even = replace(scenario, problem=replace(scenario.problem, activity=Uniform()), engine="event")
    run = Run(even)
    with np.errstate(over="ignore"):
        for players, *uniforms in activations(seed, trial, scenario.problem.activity.weights(n)):
            run.feed((players + 0.5) / n, *map(np.ascontiguousarray, uniforms))
            if run.over:
                return run
    raise AssertionError
