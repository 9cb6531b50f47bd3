"""What each scheme says of a wrong answer, and when it may say "proved"."""

import pytest

from devote.protocol import Case, ExperimentSpec
from devote.theory import binomial_tail, claimed_failure, lone_failure, vote_failure

SPEC = ExperimentSpec(arms=10)


def names(spec, n_players, **known):
    return [bound.name for bound in spec.scheme.guarantees(Case(spec, n_players, **known)).bounds]


def test_the_vote_has_the_claimed_bound_and_that_for_one_good_arm():
    alone = lone_failure("ser3", n_arms=10, epsilon=SPEC.epsilon, eta=0.9).wrong_vote
    claimed, one_good = SPEC.scheme.guarantees(Case(SPEC, 32)).bounds
    assert (claimed.name, claimed.value) == ("claimed", claimed_failure(0.9, 28))
    assert one_good.name == "if one arm is good"
    assert one_good.value == vote_failure(32, lone=alone, quorum=28)
    assert "Any 28 of 32" in one_good.text


def test_the_bound_for_one_good_arm_is_proved_where_there_is_one():
    assert names(SPEC, 64, n_optimal=1) == ["claimed", "proved"]
    assert names(SPEC, 64, n_optimal=2) == ["claimed", "if one arm is good"]
    assert names(SPEC, 64, n_optimal=1, broken="the means drift") == ["claimed"]


def test_all_devices_together_are_a_proof_only_where_no_more_can_join():
    assert names(SPEC, 28) == ["claimed", "proved"]
    assert names(SPEC, None) == ["claimed"]
    assert names(SPEC, 27) == ["claimed"]


def test_a_bound_that_says_nothing_is_not_shown():
    assert names(SPEC.with_(algorithm="kl_lucb"), 64, n_optimal=1) == ["claimed"]


def test_the_jurys_bound_is_proved_at_any_number_of_devices_and_of_good_arms():
    spec = SPEC.with_(scheme="jury")
    for n_players in (29, 1_000_000, None):
        for n_optimal in (None, 1, 3):
            [proved] = spec.scheme.guarantees(Case(spec, n_players, n_optimal)).bounds
            assert proved.name == "proved"
            assert proved.value == pytest.approx(binomial_tail(10, 29, probability=0.2))
            assert proved.value <= spec.delta


def test_the_jurys_bound_is_only_claimed_for_a_subroutine_without_a_proof():
    spec = SPEC.with_(scheme="jury", algorithm="kl_racing")
    [claimed] = spec.scheme.guarantees(Case(spec, 64)).bounds
    assert claimed.name == "claimed"
    assert "not proved here: kl_racing alone" in claimed.text


def test_nothing_is_proved_where_rewards_change():
    spec = SPEC.with_(scheme="jury")
    assert names(spec, 64, broken="the means drift") == ["claimed"]
    for baseline in ("isolated", "pooled"):
        assert names(SPEC.with_(scheme=baseline), 64, broken="the means drift") == ["claimed"]
        assert names(SPEC.with_(scheme=baseline), 64) == ["proved"]
