import pytest

from devote.theory import claimed_failure, failure_bounds, honest_failure, jury_message_bound

COMMON = {"eta": 0.9, "delta": 0.05, "n_arms": 10}


def names(protocol, **numbers):
    return [row.name for row in failure_bounds(protocol, **COMMON, **numbers)]


def test_erratum_7_the_claim_and_what_follows_stand_side_by_side():
    claimed, honest = failure_bounds("decentralized", n_players=32, voters=28, **COMMON)
    assert claimed.value == claimed_failure(0.9, 28)
    assert honest.value == honest_failure(32, eta=0.9, quorum=28)
    assert (claimed.name, honest.name) == ("claimed", "honest")
    assert "any 28 of 32" in honest.text
    assert "several good arms perhaps more often" in honest.text


def test_where_all_must_be_wrong_together_the_claim_is_proved_if_each_device_is():
    assert names("decentralized", n_players=28, voters=28) == ["claimed", "proved"]
    assert names("decentralized", n_players=28, voters=28, unproved="x") == ["claimed", "honest"]


def test_too_few_devices_for_a_quorum_have_no_honest_value():
    assert names("decentralized", n_players=0, voters=28) == ["claimed"]


@pytest.mark.parametrize("protocol", ["jury", "isolated", "pooled"])
def test_nothing_is_proved_of_devices_of_whom_nothing_is_proved(protocol):
    [proved] = failure_bounds(protocol, n_players=64, voters=29, **COMMON)
    [claimed] = failure_bounds(protocol, n_players=64, voters=29, unproved="luck", **COMMON)
    assert (proved.name, claimed.name) == ("proved", "claimed")
    assert proved.value == claimed.value <= 0.05
    assert "not proved here: luck." in claimed.text
    assert "not proved" not in proved.text


def test_absent_jurors_weigh_in():
    sizes = ((29, 0), (154, 1))
    rows = [
        failure_bounds("jury", n_players=200, voters=size, absent=absent, **COMMON)[0]
        for size, absent in sizes
    ]
    assert all(0.04 < row.value <= 0.05 for row in rows)


def test_a_jury_sends_a_claim_and_all_votes_but_one_per_juror():
    assert jury_message_bound(29, 10) == 29 * 9 + 29
