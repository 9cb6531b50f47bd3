"""Assumption 4, computed exactly."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from devote.studies.mean_gap import (
    POSITIVE,
    REMAINING,
    SWITCHING,
    first_switch,
    mean_gaps,
)

gaps_of = st.lists(st.fractions(-1, 1, max_denominator=20), min_size=2, max_size=12)


@given(gaps_of, st.integers(1, 3))
def test_mean_gaps_equal_the_printed_double_sum(gaps, n_arms):
    """Delta*([tau]) = 1/tau sum_{i=1}^tau sum_{j=i}^{i+K_i-1} Delta(j) / K_i."""
    steps = max(0, len(gaps) - n_arms + 1)
    means = mean_gaps(gaps, [n_arms] * len(gaps))
    assert len(means) == steps
    for tau in range(1, steps + 1):
        printed = sum(
            (gaps[j - 1] / n_arms for i in range(1, tau + 1) for j in range(i, i + n_arms)),
            Fraction(0),
        )
        assert means[tau - 1] == printed / tau


def test_arms_that_go_shorten_the_step():
    assert mean_gaps([3, 6, 9], remaining=[3, 2, 1]) == [6, Fraction(27, 4), Fraction(15, 2)]


def test_where_assumption_4_holds_the_gap_itself_may_be_negative_but_not_its_mean():
    assert min(POSITIVE) < 0
    assert first_switch(mean_gaps(POSITIVE, REMAINING)) is None


def test_a_switch_occurs_at_time_7():
    assert first_switch(mean_gaps(SWITCHING, REMAINING)) == 7
