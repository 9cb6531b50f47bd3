"""Mixture Elimination alone, compiled: thousands of runs in a second."""

import functools

import pytest
from tests.kernels.compiled import array_state, register_kernels

from devote.kernels import COUNT, get_algorithm, start

numba = pytest.importorskip("numba")
np = pytest.importorskip("numpy")

ALGORITHM = get_algorithm("mixture_elimination")
RUNS = 20_000


@functools.cache
def compiled():
    """A loop that plays many runs alone, each to its last arm."""
    register_kernels()
    choose, observe = ALGORITHM.choose, ALGORITHM.observe

    @numba.njit(error_model="numpy")
    def loop(rule, state, means, out, answers, pulls, seed):
        np.random.seed(seed)
        for run in range(len(answers)):
            start(state)
            while state.ints[COUNT] > 1:
                arm = choose(rule, state, 0.0)
                reward = 1.0 if np.random.random() < means[arm] else 0.0
                observe(rule, state, arm, reward, out)
                pulls[run] += 1
            for k in range(len(means)):
                if state.alive[k]:
                    answers[run] = k

    return loop


def play_alone(means, *, epsilon, eta, seed=3, runs=RUNS):
    """The arm each run ends with, and its pulls."""
    n_arms = len(means)
    rule = ALGORITHM.rule(n_arms=n_arms, epsilon=epsilon, eta=eta)
    state = array_state(ALGORITHM, n_arms)
    answers, pulls = np.zeros((2, runs), np.int64)
    out = np.zeros(n_arms, np.int32)
    compiled()(rule, state, np.array(means), out, answers, pulls, seed)
    return answers, pulls
