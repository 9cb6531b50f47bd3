"""A signature is good for one message, by one key, written in one way."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.server.live import identity, vote

from devote.boards.board import Envelope
from devote.boards.identity import Identity, verify, verify_enrolment
from devote.protocol import LocalProtocolError
from devote.schemes import Reset, Vote

ALICE, BOB = identity(1), identity(2)
votes = st.builds(
    Vote,
    st.sampled_from(["a", "banner"]),
    st.integers(0, 3),
    st.integers(0, 3),
    st.sampled_from([ALICE.voter, BOB.voter]),
)


def test_the_test_vector_of_rfc_8032():
    secret = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
    assert Identity.from_private_bytes(bytes.fromhex(secret)).voter == (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    )


def test_identities_are_fresh_and_restored_exactly():
    one, two = Identity.generate(), Identity.generate()
    assert one.voter != two.voter
    assert re.fullmatch("[0-9a-f]{64}", one.voter)
    again = Identity.from_private_bytes(one.to_private_bytes())
    assert again.sign(Vote("a", 0, 0, one.voter)) == one.sign(Vote("a", 0, 0, one.voter))


def test_the_secret_is_not_shown():
    assert ALICE.to_private_bytes().hex() not in repr(ALICE)


@given(signed=votes, shown=votes)
def test_a_signature_is_good_for_exactly_the_message_signed(signed, shown):
    signer = ALICE if signed.voter == ALICE.voter else BOB
    assert verify(Envelope(shown, signer.sign(signed).signature)) is (signed == shown)


@given(st.integers(0, 127), st.sampled_from("0123456789abcdef"))
def test_a_signature_with_one_digit_changed_is_not_good(at, digit):
    good = vote(ALICE)
    changed = good.signature[:at] + digit + good.signature[at + 1 :]
    assert verify(Envelope(good.message, changed)) is (changed == good.signature)


def test_a_key_has_one_spelling_so_that_it_has_one_vote():
    good = vote(ALICE)
    for voter in (ALICE.voter.upper(), ALICE.voter[:-1], ALICE.voter + "00"):
        assert not verify(Envelope(Vote("banner", 0, 0, voter), good.signature))
    for signature in ("", good.signature.upper(), good.signature + " ", good.signature[:-2]):
        assert not verify(Envelope(good.message, signature))


def test_a_vote_and_a_reset_of_the_same_term_are_signed_differently():
    reset = ALICE.sign(Reset("banner", 1, ALICE.voter))
    assert not verify(Envelope(Vote("banner", 1, 0, ALICE.voter), reset.signature))


def test_an_enrolment_is_signed_for_one_voter_and_experiment_and_is_no_vote():
    signature = ALICE.sign_enrolment("banner")
    assert verify_enrolment(voter=ALICE.voter, experiment="banner", signature=signature)
    assert not verify_enrolment(voter=ALICE.voter, experiment="other", signature=signature)
    assert not verify_enrolment(voter=BOB.voter, experiment="banner", signature=signature)
    assert not verify_enrolment(voter="\ud800", experiment="banner", signature=signature)
    assert not verify(Envelope(vote(ALICE).message, signature))


def test_an_enrolment_of_version_1_is_still_good():
    signed_by_version_1 = (
        "c70c433cf6486b5462c3b53c7e6b182ff73ecb5ff4563d1758e1f08444af7f2e"
        "24fc7f28a13995ebf94c1cdba7b51a17a30080a0919af40f4ebc23ee9abce00d"
    )
    assert ALICE.sign_enrolment("banner") == signed_by_version_1


def test_nobody_signs_for_another():
    with pytest.raises(LocalProtocolError, match="cannot be signed"):
        ALICE.sign(Vote("banner", 0, 0, BOB.voter))


def test_a_private_key_of_the_wrong_length_is_refused_without_showing_it():
    with pytest.raises(LocalProtocolError, match="must have 32") as caught:
        Identity.from_private_bytes(b"secret")
    assert "secret" not in str(caught.value)
