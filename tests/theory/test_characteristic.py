"""The lower bound of one problem, against searches that try everything."""

import math
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devote.rules.bernoulli_kl import divergence
from devote.theory import characteristic_time, sample_lower_bound

PAPER = (0.7, 0.5, 0.3, *[0.1] * 7)


def least_evidence(means, weights, epsilon, arm, steps=400):
    """The evidence against the nearest means under which ``arm`` is not epsilon-optimal."""
    xs = [(1 - epsilon) * (i + 0.5) / steps for i in range(steps)]
    return min(
        weights[arm] * divergence(means[arm], x) + weights[j] * divergence(means[j], x + epsilon)
        for j in range(len(means))
        if j != arm
        for x in xs
    )


def time_by_search(means, epsilon, arm, parts):
    """The characteristic time over all proportions in whole ``parts``."""
    best = 0.0
    for shares in product(range(parts + 1), repeat=len(means) - 1):
        if sum(shares) <= parts:
            weights = [share / parts for share in (*shares, parts - sum(shares))]
            best = max(best, least_evidence(means, weights, epsilon, arm))
    return 1.0 / best


@pytest.mark.parametrize(
    ("means", "epsilon", "arm"),
    [
        ((0.7, 0.5), 0.25, 0),
        ((0.7, 0.5), 0.25, 1),
        ((0.7, 0.1), 0.25, 0),
        ((0.5, 0.5), 0.1, 0),
        ((0.9, 0.05), 0.3, 0),
        ((0.95, 0.9), 0.3, 0),
    ],
)
def test_two_arms_take_what_a_search_over_proportions_and_means_finds(means, epsilon, arm):
    found = characteristic_time(means, epsilon=epsilon, arm=arm)
    assert found == pytest.approx(time_by_search(means, epsilon, arm, parts=200), rel=0.01)


def bound_by_search(means, epsilon, delta, steps=4_000):
    """The least samples over all ways to divide 1 - delta between two right answers."""
    first, second = (characteristic_time(means, epsilon=epsilon, arm=arm) for arm in (0, 1))

    def samples(p):
        return max(
            time * divergence(share, delta) if share > delta else 0.0
            for time, share in ((first, p), (second, 1 - delta - p))
        )

    return min(samples((1 - delta) * i / steps) for i in range(steps + 1))


@pytest.mark.parametrize("means", [(0.7, 0.5), (0.5, 0.5), (0.6, 0.45)])
def test_with_two_right_answers_the_bound_is_least_over_how_often_each_is_given(means):
    bound = sample_lower_bound(means, epsilon=0.25, delta=0.05)
    assert bound == pytest.approx(bound_by_search(means, 0.25, 0.05), rel=0.01)


def test_with_one_right_answer_it_is_the_characteristic_time_times_kl():
    time = characteristic_time((0.8, 0.4, 0.2), epsilon=0.25, arm=0)
    bound = sample_lower_bound((0.8, 0.4, 0.2), epsilon=0.25, delta=0.05)
    assert bound == pytest.approx(time * divergence(0.95, 0.05))


def test_problem_1_takes_at_least_31_samples_and_40_if_only_the_best_arm_were_right():
    assert sample_lower_bound(PAPER, epsilon=0.25, delta=0.05) == pytest.approx(30.62, abs=0.01)
    only_best = characteristic_time(PAPER, epsilon=0.25, arm=0) * divergence(0.95, 0.05)
    assert only_best == pytest.approx(40.17, abs=0.01)


def test_an_arm_that_is_not_epsilon_optimal_is_never_certain():
    assert characteristic_time(PAPER, epsilon=0.25, arm=2) == math.inf


@settings(deadline=None, max_examples=10)
@given(
    st.lists(st.floats(0.05, 0.95), min_size=2, max_size=6),
    st.floats(0.05, 0.5),
    st.floats(0.01, 0.3),
)
def test_the_bound_falls_with_epsilon_and_with_delta(means, epsilon, delta):
    here = sample_lower_bound(means, epsilon=epsilon, delta=delta)
    assert 0.0 <= here < math.inf
    slack = here * (1 + 1e-6) + 1e-9
    assert sample_lower_bound(means, epsilon=epsilon, delta=delta * 1.5) <= slack
    assert sample_lower_bound(means, epsilon=epsilon * 1.5, delta=delta) <= slack
