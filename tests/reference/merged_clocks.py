"""Independent clocks the obvious way: one activation after another, in the order of time.

Every player's clock is written out in plain Python and all are merged in a heap. The event loop,
fed with who wakes and with that player's own numbers, then makes the run that the
independent-clock engine must make, pull by pull.
"""

import heapq
from dataclasses import replace

import numpy as np

from devote.problems import Uniform
from devote.simulate.engine.run import Run
from devote.simulate.streams import Clock


def merged(scenario, seed, trial):
    """Who wakes, and the player's number for choosing, paying and noise; endless."""
    n = scenario.n_players
    rates = [n * weight for weight in scenario.problem.activity.weights(n)]
    clocks = [Clock(seed, trial, player) for player in range(n)]
    times = [clock.times(1.0 / rate) for clock, rate in zip(clocks, rates, strict=True)]
    counts = [0] * n
    due = [(next(own), p) for p, own in enumerate(times)]
    heapq.heapify(due)
    while True:
        _, p = due[0]
        clock, i = clocks[p], counts[p]
        yield (p + 0.5) / n, clock.choose(i), clock.pay(i), clock.noise(i)
        counts[p] += 1
        heapq.heapreplace(due, (next(times[p]), p))


def merged_run(scenario, *, seed=0, trial=0, block=500):
    """The trial in the event loop, at its end."""
    even = replace(scenario, problem=replace(scenario.problem, activity=Uniform()), engine="event")
    run = Run(even, seed=seed, trial=trial)
    numbers = merged(scenario, seed, trial)
    while not run.over:
        left = block if scenario.horizon is None else scenario.horizon - run.samples
        columns = np.array([next(numbers) for _ in range(min(block, left))]).T.copy()
        run.feed(*columns)
    return run
