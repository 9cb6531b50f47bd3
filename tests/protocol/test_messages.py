"""Both wire forms give back what went in, and refuse everything else."""

import json
import struct
from dataclasses import FrozenInstanceError, fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devote.protocol import (
    ExperimentSpec,
    Player,
    RemoteProtocolError,
    Reset,
    Vote,
    from_bytes,
    from_json,
    to_bytes,
    to_json,
)
from devote.protocol.messages import MAX_ARMS, MAX_TERM

MANY = 10 * settings().max_examples
N_ARMS = 10

names = st.text("ABCxyz0189_.:-", min_size=1, max_size=64)
terms = st.integers(0, MAX_TERM)
votes = st.builds(Vote, names, terms, st.integers(0, N_ARMS - 1), names)
resets = st.builds(Reset, names, st.integers(1, MAX_TERM), names)
messages = votes | resets

VOTE = Vote("banner", 3, 4, "n7")
RESET = Reset("banner", 3, "n7")
FIELDS = {"v": 1, "type": "vote", "experiment": "banner", "term": 3, "arm": 4, "voter": "n7"}
GONE = object()


@settings(max_examples=MANY)
@given(messages)
def test_bytes_round_trip(message):
    assert from_bytes(to_bytes(message), N_ARMS) == message


@settings(max_examples=MANY)
@given(messages)
def test_json_round_trip(message):
    assert from_json(to_json(message), N_ARMS) == message
    assert from_json(to_json(message).encode(), N_ARMS) == message


def test_the_widest_values_fit():
    widest = Vote("e" * 64, MAX_TERM, MAX_ARMS - 1, "v" * 64)
    assert from_bytes(to_bytes(widest), MAX_ARMS) == widest
    assert from_json(to_json(widest), MAX_ARMS) == widest


@given(messages)
def test_no_message_carries_anything_but_version_experiment_term_arm_and_voter(message):
    carried = {"experiment", "term", "voter"} | ({"arm"} if isinstance(message, Vote) else set())
    assert {item.name for item in fields(message)} == carried
    assert set(json.loads(to_json(message))) == carried | {"v", "type"}
    # bytes: version, kind, term, arm, and two texts with their lengths; not one byte more
    arm = 2 if isinstance(message, Vote) else 0
    texts = 1 + len(message.experiment) + 1 + len(message.voter)
    assert len(to_bytes(message)) == 1 + 1 + 4 + arm + texts


def test_messages_are_frozen():
    with pytest.raises(FrozenInstanceError):
        VOTE.arm = 5
    with pytest.raises(FrozenInstanceError):
        RESET.term = 5


def refused(decode, data, match=None):
    with pytest.raises(RemoteProtocolError, match=match) as caught:
        decode(data, N_ARMS)
    problem, _, remedy = str(caught.value).partition("\n")
    assert problem
    assert remedy


@given(messages)
def test_every_truncation_and_every_trailing_byte_is_refused(message):
    data = to_bytes(message)
    for length in range(len(data)):
        refused(from_bytes, data[:length])
    for extra in (b"\x00", b"\xff", data):
        refused(from_bytes, data + extra)


@settings(max_examples=MANY)
@given(st.binary(max_size=40))
def test_random_bytes_are_a_message_of_that_very_form_or_refused(data):
    try:
        message = from_bytes(data, N_ARMS)
    except RemoteProtocolError:
        return
    assert to_bytes(message) == data


@settings(max_examples=MANY)
@given(messages, st.data())
def test_a_flipped_bit_is_another_valid_message_or_refused(message, data):
    buffer = bytearray(to_bytes(message))
    place = data.draw(st.integers(0, len(buffer) - 1))
    buffer[place] ^= 1 << data.draw(st.integers(0, 7))
    try:
        other = from_bytes(bytes(buffer), N_ARMS)
    except RemoteProtocolError:
        return
    assert other != message
    assert to_bytes(other) == bytes(buffer)


def patched(place, value):
    buffer = bytearray(to_bytes(VOTE))
    buffer[place : place + len(value)] = value
    return bytes(buffer)


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (patched(0, b"\x00"), "version 0 is not 1"),
        (patched(0, b"\x02"), "version 2 is not 1.\nUpgrade the older"),
        (patched(1, b"\x00"), "is not one of: vote, reset"),
        (patched(1, b"\xfe"), "is not one of: vote, reset"),
        (patched(6, struct.pack(">H", N_ARMS)), "arm=10 must be a whole number from 0 to 9"),
        (patched(6, b"\xff\xff"), "arm=65535 must be"),
        (patched(9, b"\xc3\xa9"), "experiment must be 1 to 64"),
        (patched(9, b"\x00"), "experiment must be 1 to 64"),
        (patched(9, b"\n"), "experiment must be 1 to 64"),
        (patched(8, b"\xff"), "ends within its experiment"),
        (to_bytes(VOTE)[:-3] + b"\x00", "voter must be 1 to 64"),
        (struct.pack(">BBI", 1, 1, 0) + b"\x00", "ends before its arm"),
        (to_bytes(Reset("banner", 0, "n7")), "term=0 must be"),
        (to_bytes(Vote("banner", 0, 0, "v" * 65)), "voter must be 1 to 64"),
        (b"", "shorter than its head"),
    ],
)
def test_a_corrupt_buffer_is_refused_with_the_reason(data, match):
    refused(from_bytes, data, match)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"v": 2}, "version 2 is not 1"),
        ({"v": "1"}, "version '1' is not 1"),
        ({"v": True}, "version True is not 1"),
        ({"v": 1.0}, "version 1.0 is not 1"),
        ({"v": None}, "version None is not 1"),
        ({"v": GONE}, "version None is not 1"),
        ({"type": "veto"}, "type 'veto' is not one of"),
        ({"type": ["vote"]}, "is not one of"),
        ({"type": {"vote": 1}}, "is not one of"),
        ({"type": 1}, "type 1 is not one of"),
        ({"type": GONE}, "type None is not one of"),
        ({"type": "reset"}, "wrong or missing: arm"),
        ({"arm": GONE}, "wrong or missing: arm"),
        ({"term": GONE}, "wrong or missing: term"),
        ({"voter": GONE}, "wrong or missing: voter"),
        ({"reward": 1.0}, "wrong or missing: reward"),
        ({"arm": N_ARMS}, "arm=10 must be a whole number from 0 to 9"),
        ({"arm": -1}, "arm=-1 must be"),
        ({"arm": 4.0}, "arm=4.0 must be"),
        ({"arm": "4"}, "arm='4' must be"),
        ({"arm": True}, "arm=True must be"),
        ({"arm": [4]}, "must be a whole number"),
        ({"arm": None}, "arm=None must be"),
        ({"term": MAX_TERM + 1}, "term=4294967296 must be"),
        ({"term": -1}, "term=-1 must be"),
        ({"term": float("nan")}, "term=nan must be"),
        ({"voter": ""}, "voter must be 1 to 64"),
        ({"voter": "n" * 65}, "voter must be 1 to 64"),
        ({"voter": "n7\n"}, "voter must be 1 to 64"),
        ({"voter": "né"}, "voter must be 1 to 64"),
        ({"voter": 7}, "voter must be 1 to 64"),
        ({"voter": None}, "voter must be 1 to 64"),
        ({"experiment": "two words"}, "experiment must be 1 to 64"),
        ({"experiment": "٣"}, "experiment must be 1 to 64"),
    ],
)
def test_a_wrong_field_is_refused_with_the_reason(change, match):
    document = {key: value for key, value in (FIELDS | change).items() if value is not GONE}
    refused(from_json, json.dumps(document), match)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "3",
        '"vote"',
        "{",
        to_json(VOTE) + to_json(VOTE),
        to_json(VOTE)[:-1] + ',"arm":5}',
        to_json(VOTE)[:-1] + ',"v":1}',
        "[" * 100_000,
        '{"v":' + "1" * 5_000 + "}",
        b"\xff\xfe\x00",
        to_bytes(VOTE),
    ],
)
def test_what_is_not_one_json_object_with_each_field_once_is_refused(text):
    refused(from_json, text)


@pytest.fixture
def player():
    spec = ExperimentSpec(arms=N_ARMS, name="banner", eta=0.5, delta=0.1)
    player = Player(spec, "n1")
    player.receive(Vote("banner", 0, 3, "n2"))
    player.activate(0.3)
    return player


@pytest.mark.parametrize(
    ("message", "match"),
    [
        (Vote("poster", 0, 4, "n7"), "for experiment 'poster' reached a player of 'banner'"),
        (Reset("poster", 1, "n7"), "for experiment 'poster' reached a player of 'banner'"),
        (Vote("banner", 0, N_ARMS, "n7"), "arm=10 must be a whole number from 0 to 9"),
        (Vote("banner", 0, -1, "n7"), "arm=-1 must be a whole number from 0 to 9"),
        (Vote("banner", -1, 4, "n7"), "term=-1 must be"),
        (Vote("banner", MAX_TERM + 1, 4, "n7"), "must be a whole number from 0 to"),
        (Reset("banner", 0, "n7"), "term=0 must be"),
        (Vote("banner", 0, 4, ""), "voter=.* must be"),
        (Vote("banner", 0, 4, "né"), "voter=.* must be"),
        (b"\x01\x01", "bytes is not a message.\nDecode it with from_bytes or from_json"),
        ({"v": 1}, "dict is not a message"),
        (None, "NoneType is not a message"),
    ],
)
def test_a_bad_message_is_a_remote_error_and_leaves_the_player_unchanged(player, message, match):
    before = player.to_dict()
    with pytest.raises(RemoteProtocolError, match=match) as caught:
        player.receive(message)
    assert "\n" in str(caught.value)
    assert player.to_dict() == before


@pytest.mark.parametrize("arm", [1.0, "1", None, True])
def test_a_message_made_by_hand_with_an_arm_of_the_wrong_type_is_refused(player, arm):
    before = player.to_dict()
    with pytest.raises(RemoteProtocolError):
        player.receive(Vote("banner", 0, arm, "n7"))
    with pytest.raises(RemoteProtocolError):
        player.receive(Vote("banner", arm, 1, "n7"))
    assert player.to_dict() == before
