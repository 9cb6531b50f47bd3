import pytest

from devote.theory import (
    LoneFailure,
    Vote,
    claimed_failure,
    failure_bounds,
    jury_message_bound,
    vote_failure,
)

COMMON = {"eta": 0.9, "delta": 0.05, "n_arms": 10}
SHARP = LoneFailure("proved", 0.33, "why", 0.33)
UNKNOWN = LoneFailure("not proved", None, "luck")


def bounds(protocol, alone=SHARP, *, good=1, broken="", **numbers):
    return failure_bounds(protocol, Vote("rule", alone, good, broken), **COMMON, **numbers)


def names(protocol, *args, **numbers):
    return [row.name for row in bounds(protocol, *args, **numbers)]


def test_erratum_19_the_bound_is_that_of_the_subroutine_and_not_of_eta():
    claimed, proved = bounds("decentralized", n_players=64, voters=28)
    assert claimed.value == claimed_failure(0.9, 28)
    assert (claimed.name, proved.name) == ("claimed", "proved")
    assert proved.value == vote_failure(64, lone=0.33, quorum=28) < 0.06
    assert "Any 28 of 64" in proved.text


@pytest.mark.parametrize("good", [None, 2, 10])
def test_erratum_19_with_several_good_arms_or_unknown_ones_nothing_is_called_proved(good):
    rows = bounds("decentralized", good=good, n_players=64, voters=28)
    assert [row.name for row in rows] == ["claimed", "if one arm is good"]
    assert ("does not cover" in rows[1].text) == (good is not None)


def test_a_bound_that_says_nothing_is_not_shown():
    [claimed] = bounds("decentralized", n_players=1024, voters=28)
    assert vote_failure(1024, lone=0.33, quorum=28) > 0.99
    assert "too much for a bound on the vote" in claimed.text


def test_where_all_must_be_wrong_together_the_claim_is_proved_if_each_device_is():
    for good in (1, 2, None):
        _, proved = bounds("decentralized", good=good, n_players=28, voters=28)
        assert (proved.name, proved.value) == ("proved", pytest.approx(0.33**28))
    assert names("decentralized", broken="x", n_players=28, voters=28) == ["claimed"]
    assert names("decentralized", UNKNOWN, n_players=28, voters=28) == ["claimed"]


def test_a_subroutine_that_is_only_proved_alone_leaves_the_vote_unproved():
    alone = LoneFailure("proved", 0.1, "why", None)
    assert names("decentralized", alone, n_players=64, voters=28) == ["claimed"]
    assert names("jury", alone, n_players=64, voters=29) == ["proved"]


def test_too_few_devices_for_a_quorum_have_only_the_claim():
    assert names("decentralized", n_players=0, voters=28) == ["claimed"]


@pytest.mark.parametrize("protocol", ["jury", "isolated", "pooled"])
def test_nothing_is_proved_of_devices_of_whom_nothing_is_proved(protocol):
    [proved] = bounds(protocol, n_players=64, voters=29)
    [claimed] = bounds(protocol, UNKNOWN, n_players=64, voters=29)
    assert (proved.name, claimed.name) == ("proved", "claimed")
    assert proved.value == claimed.value <= 0.05
    assert "not proved here: rule alone: luck." in claimed.text
    assert "not proved" not in proved.text


def test_absent_jurors_weigh_in():
    sizes = ((29, 0), (154, 1))
    rows = [bounds("jury", n_players=200, voters=size, absent=absent)[0] for size, absent in sizes]
    assert all(0.04 < row.value <= 0.05 for row in rows)


def test_a_jury_sends_a_claim_and_all_votes_but_one_per_juror():
    assert jury_message_bound(29, 10) == 29 * 9 + 29
