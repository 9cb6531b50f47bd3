"""Theorem 1 at its worst: what any M of N players do, and what a jury does.

Each cell of the table is held to its exact law by a two-sided binomial test at 1e-7; there are nine
cells, so the false-alarm probability is below 1e-6.
"""

import pytest

from devote.kernels import jitable
from devote.kernels.algorithm import Algorithm
from devote.kernels.registry import ALGORITHMS, register
from devote.kernels.state import keep_only
from devote.problems import Problem
from devote.protocol import ExperimentSpec
from devote.simulate import Setting, run_players, run_trial
from devote.theory import binomial_tail, vote_failure

ETA, DELTA = 0.9, 0.05
SPEC = ExperimentSpec(arms=2, algorithm="worst_case", eta=ETA, delta=DELTA)
ARMS = Problem("two", (0.9, 0.1))
RUNS = 3_000
FALSE_ALARM = 1e-7


def consistent(count, runs, probability):
    above = binomial_tail(count, runs, probability=probability)
    below = binomial_tail(runs - count, runs, probability=1.0 - probability)
    return min(above, below) >= FALSE_ALARM / 2


def failures(protocol, n_players, runs):
    setting = Setting.of(SPEC, ARMS, n_players, protocol)
    return sum(0 not in run_trial(setting, seed=11, trial=i).winners for i in range(runs))


@pytest.mark.slow
@pytest.mark.parametrize("n_players", [28, 29, 32, 64, 128])
def test_decentralized_fails_as_often_as_any_28_of_n_do(n_players):
    runs = RUNS if n_players < 64 else 300
    count = failures("decentralized", n_players, runs)
    exact = vote_failure(n_players, lone=ETA, quorum=28)
    assert consistent(count, runs, min(exact, 1.0 - 1e-12))
    if n_players > 28:
        assert binomial_tail(count, runs, probability=DELTA) < FALSE_ALARM, "above delta for sure"


@pytest.mark.slow
@pytest.mark.parametrize("n_players", [29, 32, 64, 128])
def test_the_jury_fails_with_eta_to_the_power_of_its_size_at_every_n(n_players):
    """.9^29 = .0471 <= delta; 28 players are fewer than the jury and are refused elsewhere."""
    assert SPEC.jury_size == 29
    assert ETA**29 <= DELTA
    assert consistent(failures("jury", n_players, RUNS), RUNS, ETA**29)


@pytest.mark.slow
def test_with_two_good_arms_the_bound_for_one_is_no_bound():
    """Players who fail with .9 and else keep either of two good arms: .95, not .79, at N = 32.

    Both good arms go when at most 4 players keep each, for which 24 failures are enough.
    """
    n_players, eta = 32, 0.9

    @jitable
    def choose(rule, state, u):
        state.floats[0] = u
        for k in range(len(state.alive)):
            if state.alive[k]:
                return k
        return -1

    @jitable
    def observe(rule, state, arm, reward, out):
        if state.ints[0] == 1:
            return 0
        kept = 2
        if state.floats[0] >= rule.eta:
            kept = 0 if state.floats[0] < (1.0 + rule.eta) / 2.0 else 1
        if not state.alive[kept]:
            kept = arm
        return keep_only(state, kept, out)

    register(Algorithm("split_case", "", "", choose, observe, lambda n_arms: 1, n_floats=1))
    try:
        spec = ExperimentSpec(arms=3, algorithm="split_case", eta=eta, delta=DELTA)
        problem = Problem("three", (0.9, 0.9, 0.1))
        runs = [run_players(spec, problem, n_players, seed=3, trial=i) for i in range(400)]
    finally:
        del ALGORITHMS["split_case"]
    lost = sum(set(run.winners) == {2} for run in runs)
    exact = vote_failure(n_players, lone=eta, quorum=28)
    assert binomial_tail(lost, len(runs), probability=exact) < 1e-7
