import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from devote.theory import binomial_tail, clopper_pearson

counts = st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts, st.sampled_from([0.5, 0.95, 0.999, 1 - 1e-6]))
def test_clopper_pearson_agrees_with_scipy(count, confidence):
    successes, trials = count
    theirs = scipy.stats.binomtest(successes, trials).proportion_ci(confidence, method="exact")
    ours = clopper_pearson(successes, trials, confidence=confidence)
    # scipy's own search stops at about 1e-12.
    assert ours == pytest.approx((theirs.low, theirs.high), rel=1e-8, abs=1e-11)


def test_no_success_and_no_failure_reach_the_ends():
    low, high = clopper_pearson(0, 20)
    assert low == 0.0
    assert high == pytest.approx(1 - 0.025 ** (1 / 20), rel=1e-13)
    assert clopper_pearson(20, 20) == pytest.approx((1 - high, 1.0), rel=1e-13)


@pytest.mark.parametrize("truth", [0.01, 0.05, 0.5])
def test_the_interval_covers_the_truth_as_often_as_it_says(truth):
    trials = 60
    covered = 0.0
    for k in range(trials + 1):
        low, high = clopper_pearson(k, trials, confidence=0.9)
        if low <= truth <= high:
            covered += binomial_tail(k, trials, probability=truth)
            covered -= binomial_tail(k + 1, trials, probability=truth)
    assert covered >= 0.9


def test_more_successes_than_trials_is_refused():
    with pytest.raises(ValueError, match="successes=3 exceeds trials=2"):
        clopper_pearson(3, 2)
    with pytest.raises(ValueError, match="trials=0 must be a whole number, 1 or more"):
        clopper_pearson(0, 0)
    with pytest.raises(ValueError, match=r"confidence=95 must be in \(0, 1\)"):
        clopper_pearson(1, 2, confidence=95)
