import pytest
from hypothesis import given
from hypothesis import strategies as st

from devote import theory
from devote.rules import votes
from devote.theory import TheoryError, message_bound, quorum, stall_possible


def test_the_quorum_is_the_kernels_quorum():
    assert theory.quorum is votes.quorum


def test_the_paper_needs_28_votes_and_the_honest_rounding_29():
    assert quorum(0.05, 0.9, "paper") == 28
    assert quorum(0.05, 0.9, "ceil") == 29


@given(st.floats(0.01, 0.99), st.integers(1, 60))
def test_erratum_6_a_power_of_eta_needs_that_many_votes_under_either_rule(eta, votes):
    delta = eta**votes
    assert quorum(delta, eta, "paper") == votes
    assert quorum(delta, eta, "ceil") == votes


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_erratum_6_ceil_meets_delta_and_paper_is_at_most_one_vote_short(delta, eta):
    enough = quorum(delta, eta, "ceil")
    assert eta**enough <= delta * (1 + 1e-9)
    if delta <= eta:
        assert enough - quorum(delta, eta, "paper") in (0, 1)


def test_theorem_1_bound_is_quorum_times_arms_minus_one():
    assert message_bound(28, 10) == 279


def splits(n_players, needed):
    """Every split of the players over two arms, no arm with a quorum against it."""
    return [
        keep_first
        for keep_first in range(n_players + 1)
        if keep_first < needed and n_players - keep_first < needed
    ]


@given(st.integers(1, 40), st.integers(1, 40))
def test_erratum_20_a_stall_is_possible_exactly_where_a_split_without_quorum_is(n_players, quorum):
    assert stall_possible(n_players, quorum) == bool(splits(n_players, quorum))


@pytest.mark.parametrize("quorum", [1, 2, 4, 28])
def test_erratum_20_two_quorums_less_two_is_the_most_that_can_stall(quorum):
    assert not stall_possible(2 * quorum - 1, quorum)
    if quorum > 1:
        assert stall_possible(2 * quorum - 2, quorum)


def test_what_is_no_number_of_votes_or_arms_is_refused():
    with pytest.raises(TheoryError, match=r"quorum=2\.5 must be a whole number, 1 or more"):
        message_bound(2.5, 10)
    with pytest.raises(TheoryError, match="quorum=True must be a whole number"):
        message_bound(True, 10)
    with pytest.raises(TheoryError, match="n_arms=1 must be a whole number, 2 or more"):
        message_bound(28, 1)
