"""Intervals: against scipy's own, and by how often they cover the truth."""

import numpy as np
import pytest
import scipy
from tests.power import most_failures

from devote.studies.estimates import (
    deviation_ratio,
    exact,
    exponent,
    mean,
    mean_count,
    proportion,
    ratio,
)


def test_the_mean_has_student_s_interval():
    values = np.random.default_rng(1).normal(5, 2, 20)
    estimate = mean(values)
    low, high = scipy.stats.t.interval(0.95, 19, values.mean(), scipy.stats.sem(values))
    assert estimate.low == pytest.approx(low)
    assert estimate.high == pytest.approx(high)


def test_identical_trials_leave_no_doubt():
    for estimate in (mean([252] * 20), ratio([252 / 9] * 20, [1] * 20), exact(28)):
        assert estimate.low == estimate.value == estimate.high


def test_a_ratio_is_compared_trial_by_trial():
    """Noise that both cells share cancels."""
    noise = np.random.default_rng(2).uniform(50, 150, 20)
    estimate = ratio(3 * noise, noise)
    assert estimate.high - estimate.low < 1e-9
    assert estimate.value == pytest.approx(3)


def test_intervals_cover_the_truth_about_95_times_in_100():
    """2,000 ratios: coverage within 5 standard errors (.024) of .95; false alarm 2e-6 with a fresh
    seed. Intervals that miss twice as often, 10 times in 100, are found with probability .9999.
    """
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(2_000):
        estimate = ratio(rng.normal(200, 9, 20), rng.normal(100, 4.5, 20))
        covered += estimate.low <= 2.0 <= estimate.high
    assert 0.926 < covered / 2_000 < 0.974


def test_an_exponent_is_found_whatever_the_constant():
    players = np.array([32, 64, 128, 256])
    trials = np.array([[c * n**1.5 for n in players] for c in (1.0, 2.0, 3.0)])
    assert exponent(players, trials).value == pytest.approx(1.5)


def test_the_ratio_of_deviations():
    """1,000 intervals at 95 %: false alarm below 1e-6, and a doubled rate of misses is found with
    probability .9 and more (``most_failures`` sees to it).
    """
    rng = np.random.default_rng(4)
    missed = 0
    for _ in range(1_000):
        estimate = deviation_ratio(rng.normal(0, 2, 100), rng.normal(0, 1, 100))
        missed += not estimate.low <= 2.0 <= estimate.high
    assert missed <= most_failures(1_000, 0.05)


def test_fewer_trials_on_one_side_pair_up_as_far_as_they_go():
    assert ratio([2.0, 2.0], [1.0, 1.0, 9.0]).value == 2.0


@pytest.mark.parametrize("values", [[0] * 20, [0] * 17 + [1] * 3, [0] * 19 + [3], [12] * 20])
def test_the_interval_of_a_mean_count_never_falls_below_0_and_is_never_empty(values):
    """Student's interval does for three of twenty: -.02 to .32."""
    estimate = mean_count(values)
    assert 0.0 <= estimate.low <= estimate.value < estimate.high
    assert mean_count(values, most=12).high <= 12


@pytest.mark.parametrize("draw", ["poisson", "clumped"])
@pytest.mark.parametrize("truth", [0.2, 0.5, 3.0])
def test_intervals_of_mean_counts_cover_the_truth(draw, truth):
    """2,000 means of 20. In 20,000 other means of each kind 94.0 % or more cover; 1,830 of 2,000
    are missed with probability 1e-6. Of Student's intervals 81 % cover clumped counts (variance
    twice the mean) of mean .2: they fail with probability 1 - 1e-9.
    """
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(2_000):
        if draw == "poisson":
            counts = rng.poisson(truth, 20)
        else:
            counts = rng.negative_binomial(truth, 0.5, 20)
        estimate = mean_count(counts)
        covered += estimate.low <= truth <= estimate.high
    assert covered >= 1_830, covered


def test_a_proportion_has_the_exact_interval():
    estimate = proportion([True] * 3 + [False] * 17)
    known = scipy.stats.binomtest(3, 20).proportion_ci(0.95, method="exact")
    assert (estimate.low, estimate.high) == pytest.approx((known.low, known.high), abs=1e-6)
