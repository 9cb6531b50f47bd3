"""What two peers send each other, honest or not, without sockets."""

import asyncio
import json
import random
import secrets
from base64 import b64encode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.gossip.fleets import SPEC, Wire, revocation, vote

from devote.boards.database import StoreFull
from devote.gossip import GossipSettings, digests
from devote.gossip.exchange import (
    MOST_IDS,
    MOST_ITEMS,
    PeerLied,
    Unreachable,
    check_peers,
    meet,
)

BIG = SPEC.with_(arms=8)


@pytest.fixture
def wire(tmp_path):
    made = Wire(tmp_path)
    yield made
    made.close()


@given(st.sets(st.binary(min_size=16, max_size=16), max_size=80), st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_buckets_differ_just_where_the_sets_do(ids, seed):
    dice = random.Random(seed)
    others = {item for item in ids if dice.random() < 0.8} | {dice.randbytes(16) for _ in range(3)}
    count = digests.bucket_count(len(ids))
    places = digests.differing(digests.summarize(ids, count), digests.summarize(others, count))
    assert places == sorted({digests.bucket_of(item, count) for item in ids ^ others})
    assert (digests.root(ids) == digests.root(others)) == (ids == others)


def test_two_peers_hand_each_other_what_the_other_lacks(wire):
    a, b = wire.add(1), wire.add(2)
    a.votes.take([vote(1, 0), vote(3, 0), revocation(9)])
    b.votes.take([vote(2, 1), vote(3, 0), vote(9, 2)])
    wire.meet(a, 2)
    assert a.votes.root == b.votes.root
    assert len(a.votes.items) == 4


def test_equal_sets_cost_hardly_anything_and_nearly_equal_ones_a_few_hundred_bytes(tmp_path):
    wire = Wire(tmp_path, BIG)
    a, b = wire.add(1), wire.add(2)
    everything = [vote(n, arm, spec=BIG) for n in range(1, 21) for arm in range(8)]
    a.votes.take(everything)
    b.votes.take(everything)
    wire.meet(a, 2)
    wire.bytes = 0
    wire.meet(a, 2)
    same = wire.bytes
    b.votes.take([vote(40, 0, spec=BIG)])
    wire.bytes = 0
    wire.meet(a, 2)
    item = len(json.dumps(vote(40, 0, spec=BIG)))
    wire.close()
    assert same < 200
    assert wire.bytes - item - same < 1_500
    assert wire.bytes < len(json.dumps(everything)) / 30


def test_a_long_backlog_takes_several_bodies_and_arrives_whole(tmp_path):
    wire = Wire(tmp_path, BIG)
    a, b = wire.add(1), wire.add(2)
    a.votes.take([vote(n, arm, spec=BIG) for n in range(1, 28) for arm in range(8)])
    wire.meet(b, 1)
    assert len(b.votes.items) == 27 * 8
    wire.close()


def test_a_peer_of_another_specification_is_refused_and_nothing_changes(wire):
    a = wire.add(1)
    other = wire.add(2, SPEC.with_(epsilon=0.5))
    other.votes.take([vote(2, 0, spec=other.votes.spec)])
    with pytest.raises(PeerLied, match="another experiment or specification"):
        wire.meet(a, 2)
    assert not a.votes.items


def test_nobody_there_is_kept_apart_from_a_liar(wire):
    a = wire.add(1)
    with pytest.raises(Unreachable):
        wire.meet(a, 9)


def lying(answers):
    """A peer that answers by rote, whatever it is asked."""

    async def call(address: str, path: str, body: bytes) -> bytes:
        reply = answers[path.rpartition("/")[2]]
        reply = reply(json.loads(body)) if callable(reply) else reply
        return reply if isinstance(reply, bytes) else json.dumps(reply).encode()

    return call


def false_digest(*_):
    buckets = b64encode(secrets.token_bytes(256)).decode()
    return {"same": False, "buckets": buckets, "peers": []}


LIES = {
    "no JSON": {"compare": b"\xff"},
    "no object": {"compare": 7},
    "no answer": {"compare": {}},
    "half a digest": {"compare": {"same": False, "buckets": "AAAA"}},
    "a hundred buckets": {"compare": {"same": False, "buckets": b64encode(bytes(800)).decode()}},
    "items that are none": {"compare": false_digest, "trade": {"items": [1], "want": ""}},
    "a forged vote": {
        "compare": false_digest,
        "trade": {"items": [{**vote(1, 0), "signature": "0" * 128}], "want": ""},
    },
    "too many items": {"compare": false_digest, "trade": {"items": [0] * 1_000, "want": ""}},
    "half an id": {"compare": false_digest, "trade": {"items": [], "want": "AAAA"}},
    "false proof of who it is": {"compare": {"same": True, "who": {"me": {}, "proof": "0" * 128}}},
}


@pytest.mark.parametrize("lie", LIES)
def test_a_peer_that_lies_is_left_alone_and_nothing_is_stored(wire, lie):
    a = wire.add(1)
    a.votes.take([vote(5, 0)])
    a.peers.give("127.0.0.1:9")
    before = a.votes.root
    with pytest.raises(PeerLied):
        asyncio.run(meet(a, a.peers.known["127.0.0.1:9"], lying(LIES[lie])))
    assert a.votes.root == before


def test_a_false_digest_gets_nowhere_and_costs_a_peer_its_turn(wire):
    a = wire.add(1)
    a.peers.give("127.0.0.1:9")
    peer = a.peers.known["127.0.0.1:9"]
    call = lying({"compare": false_digest, "trade": {"items": [], "want": ""}})
    for _ in range(2):
        asyncio.run(meet(a, peer, call))
    with pytest.raises(Unreachable, match="nothing new"):
        asyncio.run(meet(a, peer, call))


def test_a_peer_that_wants_everything_again_and_again_gets_it_three_times(wire):
    a = wire.add(1)
    a.votes.take([vote(5, 0)])
    a.peers.give("127.0.0.1:9")
    handed = []

    def push(asked):
        handed.append(len(asked["items"]))
        return {"new": 1}

    def trade(asked):
        return {"items": [], "want": next(ids for ids in asked["held"].values() if ids)}

    call = lying({"compare": false_digest, "trade": trade, "push": push})
    with pytest.raises(PeerLied, match="again and again"):
        asyncio.run(meet(a, a.peers.known["127.0.0.1:9"], call))
    assert sum(handed) == 3


@given(st.binary(max_size=300))
@settings(max_examples=50, deadline=None)
def test_whatever_is_asked_is_answered(wire_of_module, body):
    for path in ("/gossip/compare", "/gossip/trade", "/gossip/push"):
        status, reply = wire_of_module.answer(path, body)
        assert status in (200, 409, 422)
        assert isinstance(reply, dict)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=40) | st.floats(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=8,
)
FIELDS = ("root", "who", "me", "peers", "count", "held", "items")


@given(st.dictionaries(st.sampled_from(FIELDS), JSON))
@settings(max_examples=40, deadline=None)
def test_whatever_fields_are_sent_are_answered_and_store_nothing(wire_of_module, fields):
    body = json.dumps({"fingerprint": SPEC.fingerprint, **fields}).encode()
    for path in ("/gossip/compare", "/gossip/trade", "/gossip/push"):
        assert wire_of_module.answer(path, body)[0] in (200, 409, 422)
    assert not wire_of_module.votes.items
    assert not wire_of_module.peers.known


@pytest.fixture(scope="module")
def wire_of_module(tmp_path_factory):
    made = Wire(tmp_path_factory.mktemp("wire"))
    yield made.add(1)
    made.close()


def test_health_tells_who_answers_and_whether_it_holds_the_same(wire):
    a, b = wire.add(1), wire.add(2)
    b.votes.take([vote(2, 0)])
    for port in (7002, 7009):
        a.peers.give(f"127.0.0.1:{port}")

    class Dials:
        __call__ = staticmethod(wire.call)

        async def aclose(self) -> None:
            return

    found = {each.address: each for each in asyncio.run(check_peers(a, Dials()))}
    assert (found["127.0.0.1:7002"].state, found["127.0.0.1:7002"].member) == ("differs", 2)
    assert found["127.0.0.1:7009"].state == "silent"


def test_a_revoked_member_is_not_recognized(wire):
    a, b = wire.add(1), wire.add(2)
    a.votes.take([revocation(2)])
    with pytest.raises(PeerLied, match="member 2, who was revoked"):
        wire.meet(a, 2)
    assert b.votes.root != a.votes.root


def test_itself_is_no_company(wire):
    """An operator may give the same addresses to all devices, their own among them."""
    a = wire.add(1)
    with pytest.raises(Unreachable, match="is this device itself"):
        wire.meet(a, 1)
    assert a.met == 0


def test_two_large_sets_of_which_nothing_is_common_are_exchanged_in_bodies_that_fit(
    wire, monkeypatch
):
    monkeypatch.setattr("devote.gossip.exchange.MOST_IDS", 40)
    largest = 0
    call = wire.call

    async def weighed(address, path, body):
        nonlocal largest
        if path == "/gossip/trade":
            largest = max(largest, *(len(ids) for ids in json.loads(body)["held"].values()))
            assert sum(len(ids) // 21 + 1 for ids in json.loads(body)["held"].values()) <= 60
        return await call(address, path, body)

    monkeypatch.setattr(wire, "call", weighed)
    a, b = wire.add(1), wire.add(2)
    a.votes.take([vote(n, arm) for n in range(1, 41) for arm in range(3)])
    b.votes.take([vote(n, arm) for n in range(41, 81) for arm in range(3)])
    wire.meet(a, 2)
    assert a.votes.root == b.votes.root
    assert len(a.votes.items) == 240
    assert largest > 0


def test_what_peers_send_fits_into_what_peers_take():
    """The largest bodies there can be: ids of 8,000 buckets, and 200 items."""
    ids = b64encode(bytes(16)).decode()
    held = {"fingerprint": "0" * 64, "count": 4_096, "held": {f"{n:04}": ids for n in range(4_000)}}
    items = {"fingerprint": "0" * 64, "items": [vote(1, 0)] * MOST_ITEMS}
    assert 2 * len(held["held"]) == MOST_IDS
    for body in (held, items):
        assert len(json.dumps(body, separators=(",", ":"))) < GossipSettings().body


def test_a_peer_that_has_lost_its_store_gets_everything_again_after_a_rest(wire, tmp_path):
    a, b = wire.add(1), wire.add(2)
    a.votes.take([vote(5, 0)])
    outcomes = []
    for _ in range(6):
        b.votes.close()
        for file in tmp_path.glob("2.db*"):
            file.unlink()
        b = wire.add(2)
        try:
            wire.meet(a, 2)
        except PeerLied:
            outcomes.append("rests")
        else:
            assert b.votes.root == a.votes.root
            outcomes.append("equal")
    assert outcomes == ["equal"] * 3 + ["rests"] + ["equal"] * 2


def test_a_peer_that_cannot_write_answers_so_and_is_no_liar(wire, monkeypatch):
    a = wire.add(1)

    def full(*_):
        raise StoreFull("The store is full.\nMake room.")

    monkeypatch.setattr(a.votes, "take", full)
    body = json.dumps({"fingerprint": SPEC.fingerprint, "items": [vote(1, 0)]}).encode()
    assert a.answer("/gossip/push", body)[0] == 503
