"""What every registered subroutine promises; a new one is found here by its name.

The same functions run on a device's lists, on rows of arrays and compiled by numba, and their
trajectories are equal to the last bit.
"""

import importlib
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rules.compiled import array_state, driver
from tests.rules.instances import instances, play

from devote.problems import Problem
from devote.rules import RESET, drop, start
from devote.rules.algorithm import ALGORITHMS
from devote.rules.state import COUNT
from devote.simulator.run import environment_arrays

NINE = {
    "naive",
    "median_elimination",
    "successive_elimination",
    "kl_racing",
    "lucb",
    "kl_lucb",
    "ugapec",
    "ser3",
    "ser4",
}

every_algorithm = pytest.mark.parametrize("algorithm", ALGORITHMS.values(), ids=list(ALGORITHMS))


def as_lists(state):
    return [list(buffer) for buffer in state]


def play_compiled(algorithm, instance, state):
    n_steps, n_arms = len(instance.uniforms), instance.n_arms
    steps = tuple(np.zeros((4, n_steps), np.int32))
    eliminated = np.zeros((n_steps, n_arms), np.int32)
    any_problem = environment_arrays(Problem("any", replay=instance.rewards).environment(1))
    driver(algorithm.name)(
        instance.rule(algorithm),
        state,
        any_problem,
        0,
        *np.array([instance.uniforms, instance.uniforms]),
        np.array(instance.shared, np.int8),
        np.zeros(n_arms, np.int32),
        steps,
        eliminated,
    )
    conflicts, arms, counts, _ = steps
    gone = [
        "reset" if n == RESET else row[:n].tolist()
        for n, row in zip(counts, eliminated, strict=True)
    ]
    return list(zip(conflicts.tolist(), arms.tolist(), gone, strict=True))


def test_the_nine_subroutines_of_the_paper_and_two_more_are_registered():
    assert set(ALGORITHMS) >= NINE | {"mixture_elimination", "betting"}


@every_algorithm
@given(data=st.data())
def test_lists_arrays_and_compiled_code_give_the_same_bits(algorithm, data):
    instance = data.draw(instances(algorithm))
    n_arms = instance.n_arms
    lists = algorithm.new_state(n_arms)
    record = list(play(algorithm, instance, lists, [0] * n_arms))

    in_arrays = array_state(algorithm, n_arms)
    rows = play(algorithm, instance, in_arrays, np.zeros(n_arms, np.int32))
    assert list(rows) == record
    assert as_lists(in_arrays) == as_lists(lists)

    in_machine_code = array_state(algorithm, n_arms)
    assert play_compiled(algorithm, instance, in_machine_code) == record
    assert as_lists(in_machine_code) == as_lists(lists)


@every_algorithm
@given(data=st.data())
def test_it_plays_remaining_arms_only_and_always_keeps_one(algorithm, data):
    instance = data.draw(instances(algorithm))
    state = algorithm.new_state(instance.n_arms)
    out = [0] * instance.n_arms
    remaining = set(range(instance.n_arms))
    for t, (conflict, arm, gone) in enumerate(play(algorithm, instance, state, out)):
        shared = {k for k, kept in enumerate(instance.shared[t]) if kept}
        remaining = shared if conflict else remaining & shared
        assert arm in remaining
        if gone == "reset":
            assert algorithm.endless
            remaining = set(range(instance.n_arms))
        else:
            assert len(set(gone)) == len(gone)
            assert set(gone) < remaining
            remaining -= set(gone)
        assert remaining == {k for k, alive in enumerate(state.alive) if alive}
        assert state.ints[COUNT] == len(remaining)


@every_algorithm
@given(data=st.data())
def test_it_asks_about_remaining_arms_and_alone_plays_those_it_asks_about(algorithm, data):
    """Devices of a survey draw among the asked arms: there is always one, and asking is free."""
    instance = data.draw(instances(algorithm))
    n_arms, rule = instance.n_arms, instance.rule(algorithm)
    state, out = algorithm.new_state(n_arms), [0] * n_arms
    for _ in play(algorithm, instance, state, out):
        before = as_lists(state)
        asked = {k for k in range(n_arms) if algorithm.asks(rule, state, k)}
        assert as_lists(state) == before
        assert asked <= {k for k in range(n_arms) if state.alive[k]}
    alone = algorithm.new_state(n_arms)
    for u, rewards in zip(instance.uniforms, instance.rewards, strict=True):
        arm = algorithm.choose(rule, alone, u)
        assert algorithm.asks(rule, alone, arm)
        algorithm.observe(rule, alone, arm, rewards[arm], out)


@every_algorithm
def test_choosing_changes_only_what_abandoning_puts_back(algorithm):
    """``Learner.abandon`` saves ``ints`` and ``floats``; the rest must be left alone."""
    rng = Random(5)
    state = algorithm.new_state(5)
    rule = algorithm.rule(n_arms=5, epsilon=0.4, eta=0.5)
    for _ in range(100):
        before = as_lists(state)
        arm = algorithm.choose(rule, state, rng.random())
        assert as_lists(state)[:3] == before[:3]
        algorithm.observe(rule, state, arm, rng.random(), [0] * 5)


@every_algorithm
def test_one_arm_left_is_played_for_ever_and_eliminates_nothing(algorithm):
    state = algorithm.new_state(4)
    rule = algorithm.rule(n_arms=4, epsilon=1.0, eta=0.9)
    for arm in (0, 1, 3):
        drop(state, arm)
    for i in range(3_000):
        assert algorithm.choose(rule, state, i / 3_000) == 2
        assert algorithm.observe(rule, state, 2, 0.5, [0] * 4) == 0


@every_algorithm
@settings(max_examples=10)
@given(data=st.data())
def test_starting_over_is_a_fresh_start(algorithm, data):
    instance = data.draw(instances(algorithm))
    used = algorithm.new_state(instance.n_arms)
    for _ in play(algorithm, instance, used, [0] * instance.n_arms):
        pass
    start(used)
    assert as_lists(used) == as_lists(algorithm.new_state(instance.n_arms))


@every_algorithm
def test_it_says_what_it_is_and_where_it_comes_from(algorithm):
    assert algorithm.summary
    assert algorithm.source
    assert "Paper: " in importlib.import_module(algorithm.observe.__module__).__doc__
    assert algorithm.choose.__doc__
    assert algorithm.observe.__doc__


@every_algorithm
def test_it_ends_on_an_easy_instance_with_the_best_arm(algorithm):
    rng = Random(11)
    means = [0.95, 0.05, 0.05]
    state = algorithm.new_state(3)
    rule = algorithm.rule(n_arms=3, epsilon=0.8, eta=1e-6)
    for _ in range(100_000):
        arm = algorithm.choose(rule, state, rng.random())
        algorithm.observe(rule, state, arm, float(rng.random() < means[arm]), [0] * 3)
        if state.ints[COUNT] == 1:
            break
    assert list(state.alive) == [1, 0, 0]
