"""Theorem 2 and what follows from it; who wakes how often, and the wait for everybody."""

import math
from itertools import combinations

import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from devote.theory import (
    coupon_collector,
    lower_bound,
    median_elimination_bound,
    p_star,
    successive_elimination_bound,
    theorem_2_probability,
    theorem_2_samples,
)

deltas = st.floats(1e-6, 0.5)
chances = st.floats(1e-4, 0.5)
singles = st.integers(1, 10_000)
weights = st.lists(st.floats(0.01, 100), min_size=1, max_size=8)
PAPER = {"epsilon": 0.25, "delta": 0.05, "quorum": 28, "p_star": 1 / 64}


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


@given(singles, chances, deltas)
def test_theorem_2_leaves_each_voter_short_of_samples_with_probability_at_most_delta(
    single, p_star, delta
):
    total = math.ceil(theorem_2_samples(single, p_star=p_star, delta=delta))
    assert scipy.stats.binom.cdf(single - 1, total, p_star) <= delta


@given(singles, chances, st.integers(1, 60))
def test_theorem_2_probability_is_the_printed_expression(single, p_star, quorum):
    total = theorem_2_samples(single, p_star=p_star, delta=0.05)
    printed = 0.95 * (1 - scipy.special.betainc(total - single, 1 + single, 1 - p_star)) ** quorum
    probability = theorem_2_probability(
        total, single=single, p_star=p_star, delta=0.05, quorum=quorum
    )
    assert probability == pytest.approx(printed, rel=1e-8)


@given(singles, chances, st.integers(1, 40), st.floats(1.01, 3))
def test_theorem_2_probability_rises_with_time_and_falls_with_the_quorum(
    single, p_star, quorum, factor
):
    total = 1 + single / p_star
    arguments = {"single": single, "p_star": p_star, "delta": 0.05}
    base = theorem_2_probability(total, quorum=quorum, **arguments)
    slack = 1 + 1e-12
    assert base <= theorem_2_probability(total * factor, quorum=quorum, **arguments) * slack
    assert theorem_2_probability(total, quorum=quorum + 1, **arguments) <= base * slack


def test_corollary_1_is_its_printed_expression():
    expected = (10 / (28 * 0.25**2) + 64) * 64 * math.log(20)
    assert median_elimination_bound(10, **PAPER) == pytest.approx(expected)


def test_corollary_2_adds_the_price_of_a_union_over_arms():
    extra = 10 * 64 / 0.25**2 * math.log(10) * math.sqrt(math.log(20))
    assert successive_elimination_bound(10, **PAPER) == pytest.approx(
        median_elimination_bound(10, **PAPER) + extra
    )


@given(st.integers(2, 50), st.integers(1, 1000), st.floats(0.01, 1), deltas)
def test_the_remark_is_corollary_1_for_uniform_players_who_all_must_vote(
    n_arms, n_players, epsilon, delta
):
    printed = (n_arms / epsilon**2 + n_players**2) * math.log(1 / delta)
    everybody = {"quorum": n_players, "p_star": 1 / n_players}
    bound = median_elimination_bound(n_arms, epsilon=epsilon, delta=delta, **everybody)
    assert bound == pytest.approx(printed)


def test_the_lower_bound_is_its_printed_expression():
    assert lower_bound(10, epsilon=0.25, delta=0.05) == pytest.approx(160 * math.log(20))


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        (lambda: coupon_collector([]), "weights is empty"),
        (lambda: p_star([1, 0], 1), r"weights\[1\]=0 must be above 0"),
        (lambda: p_star([1, 1], 3), "quorum=3 votes eliminate an arm, but weights name 2"),
        (
            lambda: theorem_2_samples(0, p_star=0.1, delta=0.05),
            "single_player_samples=0 must be above 0",
        ),
        (lambda: theorem_2_samples(10, p_star=0, delta=0.05), r"p_star=0 must be in \(0, 1\]"),
        (
            lambda: theorem_2_probability(10, single=10, p_star=0.1, delta=0.05, quorum=2),
            "total=10 samples are no more than the single=10",
        ),
        (lambda: lower_bound(1, epsilon=0.25, delta=0.05), "n_arms=1 must be a whole number"),
        (lambda: lower_bound(10, epsilon=0, delta=0.05), r"epsilon=0 must be in \(0, 1\]"),
    ],
)
def test_wrong_arguments_are_named(formula, message):
    with pytest.raises(ValueError, match=message):
        formula()
