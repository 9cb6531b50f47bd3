"""What is sent and what is signed say all there is in a message; everything else is refused."""

import json
from dataclasses import FrozenInstanceError, dataclass, fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devote.protocol import ExperimentSpec, RemoteProtocolError, from_json, to_json
from devote.protocol.messages import KINDS, MAX_ARMS, Kind, Number, Scope, message, to_bytes
from devote.schemes import Answer, Claim, Pick, Reset, Vote
from devote.schemes.decentralized import MAX_TERM

MANY = 10 * settings().max_examples
N_ARMS = 10

names = st.text("ABCxyz0189_.:-", min_size=1, max_size=64)
terms = st.integers(0, MAX_TERM)
votes = st.builds(Vote, names, terms, st.integers(0, N_ARMS - 1), names)
resets = st.builds(Reset, names, st.integers(1, MAX_TERM), names)
claims = st.builds(Claim, names, names)
picks = st.builds(Pick, names, st.integers(0, N_ARMS - 1), names)
messages = votes | resets | claims | picks

CARRIED = {
    Vote: {"experiment", "term", "arm", "voter"},
    Reset: {"experiment", "term", "voter"},
    Claim: {"experiment", "voter"},
    Pick: {"experiment", "arm", "voter"},
}

VOTE = Vote("banner", 3, 4, "n7")
RESET = Reset("banner", 3, "n7")
FIELDS = {"v": 2, "type": "vote", "experiment": "banner", "term": 3, "arm": 4, "voter": "n7"}
GONE = object()


HERE = Scope("b0a2", "9f3c")


def decoded(data):
    """Read what is signed by its description alone."""
    words = data.decode("ascii").split(" ")
    assert words[:1] == ["devote/2"]
    assert words[2:4] == ["b0a2", "9f3c"]
    kind = KINDS[words[1]]
    values = dict(zip(sorted(CARRIED[kind.form]), words[4:], strict=True))
    return kind.form(**values | {name: int(values[name]) for name in kind.numbers})


@settings(max_examples=MANY)
@given(messages)
def test_what_is_signed_says_all_there_is_in_a_message_and_where_it_is_good(message):
    """So that a signature of one message is one of no other."""
    assert decoded(to_bytes(message, HERE)) == message


@settings(max_examples=MANY)
@given(messages)
def test_json_round_trip(message):
    assert from_json(to_json(message), N_ARMS) == message
    assert from_json(to_json(message).encode(), N_ARMS) == message


def test_the_widest_values_fit():
    widest = Vote("e" * 64, MAX_TERM, MAX_ARMS - 1, "v" * 64)
    assert decoded(to_bytes(widest, HERE)) == widest
    assert from_json(to_json(widest), MAX_ARMS) == widest


@given(messages)
def test_no_message_carries_anything_but_version_experiment_voter_and_its_few_numbers(message):
    carried = CARRIED[type(message)]
    assert {item.name for item in fields(message)} == carried
    assert set(json.loads(to_json(message))) == carried | {"v", "type"}


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


@pytest.mark.parametrize(
    ("form", "name", "question"),
    [
        (Vote, "vote", ("arm", "term")),
        (Reset, "reset", ("term",)),
        (Claim, "claim", ()),
        (Pick, "pick", ()),
        (Answer, "answer", ("number",)),
    ],
)
def test_names_of_messages_and_what_they_are_about_never_change(form, name, question):
    assert KINDS[name] == Kind(name, form, KINDS[name].numbers, question, KINDS[name].names)


@pytest.mark.parametrize("name", ["enrolment", "log", "two words"])
def test_a_kind_is_not_named_like_something_else_that_is_signed(name):
    with pytest.raises(AssertionError, match=name):

        @message(name)
        @dataclass(frozen=True)
        class Another:
            experiment: str
            voter: str

    assert name not in KINDS


def test_a_kind_declares_every_number_it_has():
    with pytest.raises(AssertionError, match="other fields than it declares"):

        @message("silent", count=Number(0, 9))
        @dataclass(frozen=True)
        class Silent:
            experiment: str
            voter: str


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"v": 1}, "version 1 is not 2"),
        ({"v": "2"}, "version '2' is not 2"),
        ({"v": True}, "version True is not 2"),
        ({"v": 2.0}, "version 2.0 is not 2"),
        ({"v": None}, "version None is not 2"),
        ({"v": GONE}, "version None is not 2"),
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
        to_json(VOTE)[:-1] + ',"v":2}',
        "[" * 100_000,
        '{"v":' + "1" * 5_000 + "}",
        b"\xff\xfe\x00",
        to_bytes(VOTE, HERE),
    ],
)
def test_what_is_not_one_json_object_with_each_field_once_is_refused(text):
    refused(from_json, text)


@pytest.fixture
def player():
    spec = ExperimentSpec(arms=N_ARMS, name="banner", eta=0.5, delta=0.1)
    player = spec.scheme.player(spec, "n1")
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
        (Vote("banner", 0, 4, ""), "voter must be"),
        (Vote("banner", 0, 4, "né"), "voter must be"),
        (b"\x01\x01", "bytes is not a message.\nDecode it with from_json"),
        (Pick("banner", 4, "n7"), "Pick is no message of decentralized.\nDiscard it"),
        (Claim("banner", "n7"), "Claim is no message of decentralized.\nDiscard it"),
        ({"v": 1}, "dict is not a message"),
        (None, "NoneType is not a message"),
    ],
)
def test_a_bad_message_is_a_remote_error_and_leaves_the_player_unchanged(player, message, match):
    before, votes = player.to_dict(), player.tally.votes
    with pytest.raises(RemoteProtocolError, match=match) as caught:
        player.receive(message)
    assert "\n" in str(caught.value)
    assert (player.to_dict(), player.tally.votes) == (before, votes)


@pytest.mark.parametrize("arm", [1.0, "1", None, True])
def test_a_message_made_by_hand_with_an_arm_of_the_wrong_type_is_refused(player, arm):
    before, votes = player.to_dict(), player.tally.votes
    with pytest.raises(RemoteProtocolError):
        player.receive(Vote("banner", 0, arm, "n7"))
    with pytest.raises(RemoteProtocolError):
        player.receive(Vote("banner", arm, 1, "n7"))
    assert (player.to_dict(), player.tally.votes) == (before, votes)
