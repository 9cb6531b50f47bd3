import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devote.theory import (
    binomial_tail,
    message_bound,
    printed_phi,
    recommended_phi,
    reset_plays,
    ser4_failure,
    ser4_failure_over_terms,
    ser4_message_bound,
    theorem_2_probability,
    why_not_theorem_4,
)

PAPER = {"p_star": 1 / 64, "n_arms": 10, "quorum": 28, "delta": 0.05}
COST = (640 * math.log(10) + 10 / 28) * 64 * math.log(20)


def test_theorem_4_phi_is_its_printed_expression():
    assert printed_phi(3, **PAPER) == pytest.approx(math.sqrt(3 * 0.05 / COST))


@given(st.integers(1, 10**6), st.floats(0.05, 1.0))
def test_erratum_17_the_printed_phi_is_not_where_the_line_before_it_is_smallest(n_switches, eps):
    def line_before(phi):
        return phi / 0.05 * COST / eps**2 + n_switches / phi

    phi = printed_phi(n_switches, **PAPER)
    least = 2 * math.sqrt(n_switches * COST / 0.05) / eps
    assert line_before(eps * phi) <= least * (1 + 1e-9) or phi == 1.0
    assert line_before(phi) >= least * (1 - 1e-9)
    if eps < 0.5 and phi < 1.0:
        assert line_before(phi) > 1.2 * least


@given(st.integers(1, 10**3), st.floats(1e3, 1e9), st.floats(1, 1e5), st.floats(0.05, 20))
def test_the_recommended_phi_is_where_the_expected_plays_are_smallest(
    n_switches, horizon, plays, factor
):
    phi = recommended_phi(n_switches, horizon=horizon, plays_per_term=plays)

    def cost(phi):
        return reset_plays(phi, n_switches=n_switches, horizon=horizon, plays_per_term=plays)

    if phi * factor <= 1.0:
        assert cost(phi) <= cost(phi * factor) * (1 + 1e-12)


@given(st.integers(0, 10**12), st.integers(1, 1000))
def test_phi_is_a_probability_that_grows_with_switches(n_switches, more):
    for phi, larger in (
        (printed_phi(n_switches, **PAPER), printed_phi(n_switches + more, **PAPER)),
        tuple(
            recommended_phi(n, horizon=1e6, plays_per_term=1e4)
            for n in (n_switches, n_switches + more)
        ),
    ):
        assert 0.0 <= phi <= larger <= 1.0


def test_erratum_17_with_the_first_term_messages_are_theorem_1_at_least_once():
    """As printed a phi near 0 allows no vote at all, and the first term casts its votes."""
    term = {"horizon": 50_000, "quorum": 28, "n_arms": 10}
    assert ser4_message_bound(1e-9, **term) < 1
    assert ser4_message_bound(1e-9, first_term=True, **term) >= message_bound(28, 10)
    assert ser4_message_bound(1e-3, first_term=True, **term) == pytest.approx(51 * 279)


TERM = {"total": 25_000, "single": 670, "p_star": 1 / 32, "delta": 0.05, "quorum": 4}


def test_theorem_4_failure_is_its_printed_expression():
    """I_{1-p}(T - t, 1 + t) is the probability of at most t heads in T tosses."""
    late = 1.0 - binomial_tail(671, 25_000, probability=1 / 32)
    assert 1e-5 < late < 1e-3
    found = ser4_failure(4e-2, horizon=1e12, **TERM)
    assert found == pytest.approx(0.05 + 4e10 * late**4, rel=1e-6)


def test_erratum_17_some_term_fails_more_often_than_theorem_4_prints():
    resets = {"horizon": 180_000, **TERM}
    each = 1.0 - theorem_2_probability(**TERM)
    found = ser4_failure_over_terms(4e-5, **resets)
    assert found == pytest.approx((1 + 7.2) * each)
    assert found > 5 * ser4_failure(4e-5, **resets) >= 5 * 0.05
    assert ser4_failure_over_terms(1.0, **resets) == 1.0


def test_theorem_4_conditions_are_told():
    holds = {"n_arms": 10, "epsilon": 0.1, "eta": 0.9, "delta": 0.05, "phi": 0.05}
    assert why_not_theorem_4(**holds) == ""
    assert "eta / n_arms" in why_not_theorem_4(**{**holds, "epsilon": 0.08})
    assert "delta / n_arms" in why_not_theorem_4(
        **{**holds, "epsilon": 0.08, "eta": 0.5, "delta": 0.9}
    )
    assert "exceeds delta" in why_not_theorem_4(**{**holds, "phi": 0.06})


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="n_switches=-1 must be a whole number, 0 or more"):
        printed_phi(-1, **PAPER)
    with pytest.raises(ValueError, match="plays_per_term=0 must be above 0"):
        recommended_phi(2, horizon=10, plays_per_term=0)
    with pytest.raises(ValueError, match=r"phi=0 must be in \(0, 1\]"):
        ser4_message_bound(0, horizon=10, quorum=2, n_arms=2)
    with pytest.raises(ValueError, match="horizon=0 must be above 0"):
        ser4_message_bound(0.1, horizon=0, quorum=2, n_arms=2)
