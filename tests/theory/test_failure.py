import math
from fractions import Fraction

import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from devote.theory import claimed_failure, vote_failure

etas = st.floats(0.01, 0.99)


def test_erratum_6_the_papers_own_quorum_misses_its_delta():
    assert claimed_failure(0.9, 28) == pytest.approx(0.0523, abs=5e-5)
    assert claimed_failure(0.9, 28) > 0.05 > claimed_failure(0.9, 29)


@pytest.mark.parametrize(("n_players", "failure"), [(28, 0.052), (32, 0.79), (64, 1.0)])
def test_erratum_7_any_quorum_of_many_players_fails_far_more_often(n_players, failure):
    assert vote_failure(n_players, lone=0.9, quorum=28) == pytest.approx(failure, abs=2e-3)


@given(etas, st.integers(1, 200))
def test_claim_and_truth_agree_when_every_player_must_vote(eta, quorum):
    assert vote_failure(quorum, lone=eta, quorum=quorum) == pytest.approx(
        claimed_failure(eta, quorum), rel=1e-11
    )


@given(etas, st.integers(1, 60), st.integers(0, 60))
def test_the_vote_failure_grows_with_every_player(eta, quorum, spare):
    now = vote_failure(quorum + spare, lone=eta, quorum=quorum)
    more = vote_failure(quorum + spare + 1, lone=eta, quorum=quorum)
    assert claimed_failure(eta, quorum) * (1 - 1e-11) <= now <= more * (1 + 1e-12)


@given(st.integers(1, 10**6), etas, st.integers(1, 10**6))
def test_the_vote_failure_agrees_with_scipy_up_to_a_million_players(n_players, eta, quorum):
    assert vote_failure(n_players, lone=eta, quorum=quorum) == pytest.approx(
        scipy.stats.binom.sf(quorum - 1, n_players, eta), rel=1e-9, abs=1e-290
    )


def test_a_tiny_failure_keeps_its_digits():
    n_players, quorum, eta = 10**6, 20, Fraction(1, 2**60)
    # The next term and the chance that nobody else fails are off by 1e-12 or less.
    exact = math.comb(n_players, quorum) * eta**quorum
    assert vote_failure(n_players, lone=float(eta), quorum=quorum) == pytest.approx(
        float(exact), rel=1e-11
    )


def test_fewer_players_than_the_quorum_never_fail_together():
    assert vote_failure(27, lone=0.9, quorum=28) == 0.0


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match=r"eta=1 must be in \(0, 1\)"):
        claimed_failure(1, 28)
    with pytest.raises(ValueError, match="quorum=0 must be a whole number"):
        vote_failure(32, lone=0.9, quorum=0)
    with pytest.raises(ValueError, match="n_players=0 must be a whole number"):
        vote_failure(0, lone=0.9, quorum=1)
