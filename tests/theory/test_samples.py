import math

import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from devote.theory import (
    lower_bound,
    median_elimination_bound,
    ser3_bound,
    successive_elimination_bound,
    theorem_2_probability,
    theorem_2_samples,
    uniform_players_bound,
)

deltas = st.floats(1e-6, 0.5)
chances = st.floats(1e-4, 0.5)
singles = st.integers(1, 10_000)
PAPER = {"epsilon": 0.25, "delta": 0.05, "quorum": 28, "p_star": 1 / 64}


@given(singles, chances, deltas)
def test_theorem_2_samples_exceed_the_exact_root_of_its_proof(single, p_star, delta):
    # The proof solves p T - sqrt(T log(1/delta) / 2) >= t, then bounds the root from above.
    half_log = math.log(1 / delta) / 2
    root = (math.sqrt(half_log) + math.sqrt(half_log + 4 * p_star * single)) / (2 * p_star)
    total = theorem_2_samples(single, p_star=p_star, delta=delta)
    assert root**2 <= total * (1 + 1e-12)
    assert total <= 2 * root**2


@given(singles, chances, deltas)
def test_theorem_2_leaves_each_voter_short_of_samples_with_probability_at_most_delta(
    single, p_star, delta
):
    total = math.ceil(theorem_2_samples(single, p_star=p_star, delta=delta))
    assert scipy.stats.binom.cdf(single - 1, total, p_star) <= delta


@given(st.integers(2, 500), st.integers(1, 500), chances)
def test_theorem_2_incomplete_beta_is_a_binomial_law(extra, single, p_star):
    probability = theorem_2_probability(
        single + extra, single=single, p_star=p_star, delta=0.05, quorum=1
    )
    enough = scipy.stats.binom.sf(single, single + extra, p_star)
    assert probability == pytest.approx(0.95 * enough, rel=1e-10, abs=1e-290)


@given(singles, chances, st.integers(1, 60))
def test_theorem_2_probability_is_the_printed_expression(single, p_star, quorum):
    total = theorem_2_samples(single, p_star=p_star, delta=0.05)
    printed = 0.95 * (1 - scipy.special.betainc(total - single, 1 + single, 1 - p_star)) ** quorum
    probability = theorem_2_probability(
        total, single=single, p_star=p_star, delta=0.05, quorum=quorum
    )
    assert probability == pytest.approx(printed, rel=1e-8)


@given(singles, chances, deltas, st.floats(1.01, 3))
def test_theorem_2_asks_less_of_frequent_players_and_more_for_confidence(
    single, p_star, delta, factor
):
    base = theorem_2_samples(single, p_star=p_star, delta=delta)
    assert theorem_2_samples(single * factor, p_star=p_star, delta=delta) > base
    assert theorem_2_samples(single, p_star=p_star / factor, delta=delta) > base
    assert theorem_2_samples(single, p_star=p_star, delta=delta / factor) > base


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


def test_theorem_3_is_corollary_2_on_its_range():
    assert ser3_bound(10, **PAPER) == successive_elimination_bound(10, **PAPER)
    with pytest.raises(ValueError, match=r"delta=0\.6 exceeds 0\.5"):
        ser3_bound(10, **{**PAPER, "delta": 0.6})
    with pytest.raises(ValueError, match=r"epsilon=0\.001 is below delta / n_arms"):
        ser3_bound(10, **{**PAPER, "epsilon": 0.001})


@given(st.integers(2, 50), st.integers(1, 1000), st.floats(0.01, 1), deltas)
def test_the_remark_is_corollary_1_for_uniform_players_who_all_must_vote(
    n_arms, n_players, epsilon, delta
):
    printed = (n_arms / epsilon**2 + n_players**2) * math.log(1 / delta)
    bound = uniform_players_bound(n_arms, n_players=n_players, epsilon=epsilon, delta=delta)
    assert bound == pytest.approx(printed)
    assert bound >= lower_bound(n_arms, epsilon=epsilon, delta=delta)


def test_the_lower_bound_is_its_printed_expression():
    assert lower_bound(10, epsilon=0.25, delta=0.05) == pytest.approx(160 * math.log(20))


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="single_player_samples=0 must be above 0"):
        theorem_2_samples(0, p_star=0.1, delta=0.05)
    with pytest.raises(ValueError, match=r"p_star=0 must be in \(0, 1\]"):
        theorem_2_samples(10, p_star=0, delta=0.05)
    with pytest.raises(ValueError, match="total=10 samples are no more than the single=10"):
        theorem_2_probability(10, single=10, p_star=0.1, delta=0.05, quorum=2)
    with pytest.raises(ValueError, match="n_arms=1 must be a whole number"):
        lower_bound(1, epsilon=0.25, delta=0.05)
    with pytest.raises(ValueError, match=r"epsilon=0 must be in \(0, 1\]"):
        lower_bound(10, epsilon=0, delta=0.05)
