import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devote import theory
from devote.kernels import votes
from devote.theory import message_bound, resolve_quorum, stall_possible


def test_the_quorum_is_the_kernels_quorum():
    assert theory.quorum is votes.quorum


def test_the_paper_needs_28_votes_and_the_honest_rounding_29():
    assert resolve_quorum("paper", delta=0.05, eta=0.9) == 28
    assert resolve_quorum("ceil", delta=0.05, eta=0.9) == 29
    assert resolve_quorum(7, delta=0.05, eta=0.9) == 7


@given(st.floats(0.01, 0.99), st.integers(1, 60))
def test_erratum_6_a_power_of_eta_needs_that_many_votes_under_either_rule(eta, votes):
    delta = eta**votes
    assert resolve_quorum("paper", delta=delta, eta=eta) == votes
    assert resolve_quorum("ceil", delta=delta, eta=eta) == votes


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_erratum_6_ceil_meets_delta_and_paper_is_at_most_one_vote_short(delta, eta):
    enough = resolve_quorum("ceil", delta=delta, eta=eta)
    assert eta**enough <= delta * (1 + 1e-9)
    if delta <= eta:
        assert enough - resolve_quorum("paper", delta=delta, eta=eta) in (0, 1)


def test_theorem_1_bound_is_quorum_times_arms_minus_one():
    assert message_bound(28, 10) == 279


def splits(n_players, quorum):
    """Every split of the players over two arms, no arm with a quorum against it."""
    return [
        keep_first
        for keep_first in range(n_players + 1)
        if keep_first < quorum and n_players - keep_first < quorum
    ]


@given(st.integers(1, 40), st.integers(1, 40))
def test_erratum_20_a_stall_is_possible_exactly_where_a_split_without_quorum_is(n_players, quorum):
    assert stall_possible(n_players, quorum) == bool(splits(n_players, quorum))


@pytest.mark.parametrize("quorum", [1, 2, 4, 28])
def test_erratum_20_two_quorums_less_two_is_the_most_that_can_stall(quorum):
    assert not stall_possible(2 * quorum - 1, quorum)
    if quorum > 1:
        assert stall_possible(2 * quorum - 2, quorum)


@pytest.mark.parametrize("bad", [0, 1, -0.1, math.nan])
def test_delta_and_eta_must_be_probabilities(bad):
    with pytest.raises(ValueError, match=r"delta=.* is not strictly between 0 and 1"):
        resolve_quorum("paper", delta=bad, eta=0.9)
    with pytest.raises(ValueError, match=r"eta=.* is not strictly between 0 and 1"):
        resolve_quorum(3, delta=0.05, eta=bad)


def test_a_rule_that_does_not_exist_or_gives_no_vote_is_refused():
    with pytest.raises(ValueError, match="quorum rule 'floor' is unknown"):
        resolve_quorum("floor", delta=0.05, eta=0.9)
    with pytest.raises(ValueError, match="quorum=True"):
        resolve_quorum(True, delta=0.05, eta=0.9)
    with pytest.raises(ValueError, match=r"delta=0\.95 with eta=0\.9 needs 0 votes"):
        resolve_quorum("paper", delta=0.95, eta=0.9)
    with pytest.raises(ValueError, match=r"quorum=2\.5 is not an integer of at least 1"):
        message_bound(2.5, 10)
    with pytest.raises(ValueError, match="n_arms=1 is not an integer of at least 2"):
        message_bound(28, 1)
