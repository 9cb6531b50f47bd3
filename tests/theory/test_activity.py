import random
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devote.theory import coupon_collector, p_star

weights = st.lists(st.floats(0.01, 100), min_size=1, max_size=8)


def inclusion_exclusion(weights):
    """The expectation as an alternating sum over all groups of players."""
    total = sum(weights)
    return sum(
        (-1) ** (size + 1) * total / sum(group)
        for size in range(1, len(weights) + 1)
        for group in combinations(weights, size)
    )


def test_p_star_is_the_least_likely_of_the_most_likely_players():
    problem_2 = [0.8 / 32] * 32 + [0.2 / 32] * 32
    assert p_star(problem_2, 28) == pytest.approx(0.8 / 32)
    assert p_star(problem_2, 33) == pytest.approx(0.2 / 32)
    assert p_star([1] * 64, 28) == 1 / 64


@given(weights, st.data())
def test_p_star_falls_as_the_quorum_grows_and_scale_does_not_matter(weights, data):
    quorum = data.draw(st.integers(1, len(weights)))
    assert p_star(weights, quorum) <= p_star(weights, max(1, quorum - 1))
    assert p_star([2 * w for w in weights], quorum) == p_star(weights, quorum)
    assert quorum * p_star(weights, quorum) <= 1 + 1e-12


def test_uniform_players_are_collected_in_n_times_a_harmonic_number():
    assert coupon_collector([1, 1, 1]) == pytest.approx(3 * (1 + 1 / 2 + 1 / 3), rel=1e-15)


@pytest.mark.parametrize("n_players", [2, 32, 1024])
def test_the_integral_meets_the_harmonic_form_at_nearly_equal_weights(n_players):
    nearly = [1.0] * (n_players - 1) + [1.0 + 1e-12]
    assert coupon_collector(nearly) == pytest.approx(coupon_collector([1] * n_players), rel=1e-10)


@given(weights)
def test_the_integral_agrees_with_inclusion_and_exclusion(weights):
    # The alternating sum itself loses a few digits.
    assert coupon_collector(weights) == pytest.approx(inclusion_exclusion(weights), rel=1e-8)


@given(weights)
def test_unequal_players_are_awaited_longer_than_equal_ones(weights):
    assert coupon_collector(weights) >= coupon_collector([1] * len(weights)) * (1 - 1e-10)


def test_the_expectation_is_what_a_simulation_finds():
    # Standard deviation 9.5; at 20,000 runs 0.35 is more than five standard errors, a false
    # alarm below 1e-6.
    rng = random.Random(7)
    weights, runs, total = [4, 4, 2, 1], 20_000, 0
    for _ in range(runs):
        asleep = set(range(len(weights)))
        while asleep:
            asleep.discard(rng.choices(range(len(weights)), weights)[0])
            total += 1
    assert total / runs == pytest.approx(coupon_collector(weights), abs=0.35)


def test_wrong_weights_are_named():
    with pytest.raises(ValueError, match="weights is empty"):
        coupon_collector([])
    with pytest.raises(ValueError, match=r"weights\[1\]=0 must be above 0"):
        p_star([1, 0], 1)
    with pytest.raises(ValueError, match="quorum=3 votes eliminate an arm, but weights name 2"):
        p_star([1, 1], 3)
