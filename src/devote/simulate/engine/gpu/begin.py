"""The kernel that puts every player and every trial at its start."""

from collections.abc import Callable

from numba import cuda

from devote.kernels.tables import N_COUNTERS
from devote.simulate.engine.windows import N_TIMES, N_WORDS, NOT_NOW


def make_begin(n_arms: int, known: int) -> Callable[..., None]:
    """The kernel that puts every player at its start, and every trial where the first row is."""

    def begin(shape, players, trials, fresh):  # type: ignore[no-untyped-def]
        i = cuda.grid(1)
        if i >= shape.n_trials * shape.n_players or known < 0:
            return
        trial = i // shape.n_players
        player = i % shape.n_players
        for k in range(n_arms):
            players.alive[0, k, i] = 1
            players.voted[0, i, k] = 0
        for j in range(players.ints.shape[1]):
            players.ints[0, j, i] = 0
        players.ints[0, n_arms, i] = n_arms
        for j in range(players.reals.shape[1]):
            players.reals[0, j, i] = 0.0
        for j in range(players.own.shape[2]):
            players.own[0, i, j] = 0
        players.half[i] = 0
        players.moved[i] = 0
        players.first_vote[0, i] = -1
        if player == 0:
            for j in range(N_COUNTERS):
                trials.counters[trial, j] = trials.past[trial, j] = fresh.counters[0, j]
                trials.added[trial, j] = 0
            for j in range(N_WORDS):
                trials.words[trial, j] = fresh.words[0, j]
            for j in range(N_TIMES):
                trials.times[trial, j] = fresh.times[0, j]
            trials.last[trial, 0] = NOT_NOW
            trials.keep[trial] = 0
            for k in range(n_arms):
                trials.tally[trial, k] = 0
                for j in range(trials.by_arm.shape[2]):
                    trials.by_arm[trial, k, j] = 0
                trials.shared[trial, k] = trials.seen[trial, k] = trials.before[trial, k] = 1
        players.next[0, i] = 0.0
        players.place[0, i, 0] = players.place[0, i, 1] = 0

    return begin
