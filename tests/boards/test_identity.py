"""A signature is good for one message, by one key, written in one way."""

import re
from dataclasses import replace

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st
from tests.boards.local import scope
from tests.server.live import SPEC, identity, vote

from devote.boards.board import Envelope
from devote.boards.identity import Identity, is_key, verify, verify_enrolment
from devote.protocol import LocalProtocolError
from devote.protocol.messages import to_bytes
from devote.schemes import Reset, Vote

ALICE, BOB = identity(1), identity(2)
HERE = scope(SPEC)
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
    assert again.sign(Vote("a", 0, 0, one.voter), HERE) == one.sign(
        Vote("a", 0, 0, one.voter), HERE
    )


def test_the_secret_is_not_shown():
    assert ALICE.to_private_bytes().hex() not in repr(ALICE)


@given(signed=votes, shown=votes)
def test_a_signature_is_good_for_exactly_the_message_signed(signed, shown):
    signer = ALICE if signed.voter == ALICE.voter else BOB
    assert verify(Envelope(shown, signer.sign(signed, HERE).signature), HERE) is (signed == shown)


@given(st.integers(0, 127), st.sampled_from("0123456789abcdef"))
def test_a_signature_with_one_digit_changed_is_not_good(at, digit):
    good = vote(ALICE)
    changed = good.signature[:at] + digit + good.signature[at + 1 :]
    assert verify(Envelope(good.message, changed), HERE) is (changed == good.signature)


def test_a_key_has_one_spelling_so_that_it_has_one_vote():
    good = vote(ALICE)
    for voter in (ALICE.voter.upper(), ALICE.voter[:-1], ALICE.voter + "00"):
        assert not verify(Envelope(Vote("banner", 0, 0, voter), good.signature), HERE)
    for signature in ("", good.signature.upper(), good.signature + " ", good.signature[:-2]):
        assert not verify(Envelope(good.message, signature), HERE)


def test_a_vote_and_a_reset_of_the_same_term_are_signed_differently():
    reset = ALICE.sign(Reset("banner", 1, ALICE.voter), HERE)
    assert not verify(Envelope(Vote("banner", 1, 0, ALICE.voter), reset.signature), HERE)


ELSEWHERE = {
    "another board": replace(HERE, board="1" * 32),
    "another specification of the same name": scope(SPEC.with_(epsilon=0.2)),
    "a fingerprint cut short": replace(HERE, fingerprint=HERE.fingerprint[:16]),
}


@pytest.mark.parametrize("where", ELSEWHERE)
def test_a_signature_is_good_on_one_board_and_under_one_specification(where):
    assert verify(vote(ALICE), HERE)
    assert not verify(vote(ALICE), ELSEWHERE[where])
    signature = ALICE.sign_enrolment(HERE)
    assert not verify_enrolment(voter=ALICE.voter, scope=ELSEWHERE[where], signature=signature)


def test_an_enrolment_is_signed_for_one_voter_and_is_no_vote():
    signature = ALICE.sign_enrolment(HERE)
    assert verify_enrolment(voter=ALICE.voter, scope=HERE, signature=signature)
    assert not verify_enrolment(voter=BOB.voter, scope=HERE, signature=signature)
    assert not verify_enrolment(voter="\ud800", scope=HERE, signature=signature)
    assert not verify(Envelope(vote(ALICE).message, signature), HERE)


SMALL = [  # the multiples of a point of order 8
    "0100000000000000000000000000000000000000000000000000000000000000",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "0000000000000000000000000000000000000000000000000000000000000080",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "0000000000000000000000000000000000000000000000000000000000000000",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
]


def _twice_spelt():
    """Keys whose y is not below the prime, or whose sign is that of a zero."""
    for y in range(2**255 - 19, 2**255):
        for sign in (0, 2**255):
            yield (y + sign).to_bytes(32, "little").hex()
    for y in (1, 2**255 - 20):
        yield (y + 2**255).to_bytes(32, "little").hex()


def test_keys_of_small_order_and_second_spellings_are_none():
    assert is_key(ALICE.voter)
    assert is_key(BOB.voter)
    for voter in (*SMALL, *_twice_spelt()):
        assert not is_key(voter), voter


def test_what_the_library_takes_from_a_key_of_small_order_is_refused():
    """With R the neutral point and s = 0, one signature is good for every message of such a key."""
    signature = SMALL[0] + "00" * 32
    for voter in SMALL:
        library = Ed25519PublicKey.from_public_bytes(bytes.fromhex(voter))
        taken = 0
        for term in range(64):
            message = Vote("banner", term, 0, voter)
            try:
                library.verify(bytes.fromhex(signature), to_bytes(message, HERE))
            except InvalidSignature:
                continue
            taken += 1
            assert not verify(Envelope(message, signature), HERE)
            assert not verify_enrolment(voter=voter, scope=HERE, signature=signature)
        assert taken, "the attack itself no longer works: this test shows nothing"


def test_a_signature_has_one_spelling():
    """s plus the order of the group would be a second one."""
    order = 2**252 + 27742317777372353535851937790883648493
    good = vote(ALICE)
    s = int.from_bytes(bytes.fromhex(good.signature[64:]), "little") + order
    assert not verify(
        Envelope(good.message, good.signature[:64] + s.to_bytes(32, "little").hex()), HERE
    )


def test_nobody_signs_for_another():
    with pytest.raises(LocalProtocolError, match="cannot be signed"):
        ALICE.sign(Vote("banner", 0, 0, BOB.voter), HERE)


def test_a_private_key_of_the_wrong_length_is_refused_without_showing_it():
    with pytest.raises(LocalProtocolError, match="must have 32") as caught:
        Identity.from_private_bytes(b"secret")
    assert "secret" not in str(caught.value)
