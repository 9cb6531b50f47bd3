import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devote.theory import (
    message_bound,
    optimal_phi,
    ser4_message_bound,
    ser4_suboptimal_plays_bound,
)

PAPER = {"p_star": 1 / 64, "n_arms": 10, "quorum": 28, "delta": 0.05}
COST = (640 * math.log(10) + 10 / 28) * 64 * math.log(20)


def test_theorem_4_phi_is_its_printed_expression():
    assert optimal_phi(3, **PAPER) == pytest.approx(math.sqrt(3 * 0.05 / COST))


@given(st.integers(1, 10**6), st.floats(0.2, 5))
def test_theorem_4_phi_balances_the_two_costs_it_trades(n_switches, factor):
    def cost(phi):
        return phi / 0.05 * COST + n_switches / phi

    phi = optimal_phi(n_switches, **PAPER)
    if phi < 1.0:
        assert cost(phi) <= cost(phi * factor) * (1 + 1e-12)


@given(st.integers(0, 10**12), st.integers(1, 1000))
def test_theorem_4_phi_is_a_probability_that_grows_with_switches(n_switches, more):
    phi = optimal_phi(n_switches, **PAPER)
    assert 0.0 <= phi <= optimal_phi(n_switches + more, **PAPER) <= 1.0


def test_theorem_4_messages_are_theorem_1_once_per_expected_reset():
    bound = ser4_message_bound(1e-3, horizon=50_000, quorum=28, n_arms=10)
    assert bound == pytest.approx(50 * message_bound(28, 10))


def test_theorem_4_suboptimal_plays_are_its_printed_expression():
    expected = 16 * math.sqrt(COST * 3 / 0.05) + 64**2 * math.log(20)
    assert ser4_suboptimal_plays_bound(3, epsilon=0.25, **PAPER) == pytest.approx(expected)


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="n_switches=-1 is not an integer of at least 0"):
        optimal_phi(-1, **PAPER)
    with pytest.raises(ValueError, match="phi=0 is not above 0"):
        ser4_message_bound(0, horizon=10, quorum=2, n_arms=2)
    with pytest.raises(ValueError, match="horizon=0 is not a finite number above 0"):
        ser4_message_bound(0.1, horizon=0, quorum=2, n_arms=2)
    with pytest.raises(ValueError, match=r"epsilon=0\.001 is below delta / n_arms"):
        ser4_suboptimal_plays_bound(3, epsilon=0.001, **PAPER)
