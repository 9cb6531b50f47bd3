"""The regularised beta function, and the exact intervals made of it."""

import math
from fractions import Fraction

import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from devote.theory import betainc, binomial_tail, clopper_pearson

inside = st.floats(1e-12, 1 - 1e-12)
counts = st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def test_erratum_10_the_regularised_value_of_the_footnote_is_one():
    assert betainc(500, 500, 0.99) == 1.0


def test_erratum_10_the_footnote_prints_the_beta_function_itself():
    exact = Fraction(math.factorial(499) ** 2, math.factorial(999))
    assert math.floor(exact * 10**304) == 147


@given(st.integers(1, 300), st.integers(1, 300), inside)
def test_betainc_is_the_binomial_tail_of_whole_shapes(a, b, x):
    """Of which the sum in plain Python is computed otherwise."""
    tail = binomial_tail(a, a + b - 1, probability=x)
    assert betainc(a, b, x) == pytest.approx(tail, rel=1e-11, abs=1e-290)


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


def test_more_successes_than_trials_is_refused():
    with pytest.raises(ValueError, match="successes=3 exceeds trials=2"):
        clopper_pearson(3, 2)
    with pytest.raises(ValueError, match="trials=0 must be a whole number, 1 or more"):
        clopper_pearson(0, 0)
    with pytest.raises(ValueError, match=r"confidence=95 must be in \(0, 1\)"):
        clopper_pearson(1, 2, confidence=95)
    with pytest.raises(ValueError, match=r"x=1\.5 must be in \[0, 1\]"):
        betainc(1, 1, 1.5)
    with pytest.raises(ValueError, match="a=0 must be above 0"):
        betainc(0, 1, 0.5)
