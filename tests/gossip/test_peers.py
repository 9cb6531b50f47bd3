"""Whom a device may dial: what an operator gave, and what members signed of themselves."""

import random

import pytest
from tests.gossip.fleets import (
    LOOPBACK,
    SPEC,
    Wire,
    certified,
    member,
    on_loopback,
    revocation,
)

from devote.gossip.discovery import announced, read_announced
from devote.gossip.exchange import PeerLied
from devote.gossip.peers import IN_VAIN, PeerBook, sign_address
from devote.gossip.settings import GossipError, GossipSettings, parse_address, parse_url
from devote.gossip.votes import VoteSet


@pytest.fixture
def votes(tmp_path):
    made = VoteSet(tmp_path / "a.db", SPEC)
    yield made
    made.close()


@pytest.fixture
def book(votes):
    return PeerBook(votes, on_loopback(peers=8), random.Random(0))


def record(votes, number, address, sequence=1):
    identity = member(number)
    certificate = certified(identity.voter, number)
    return sign_address(identity, certificate, votes, address=address, sequence=sequence)


def test_a_member_announces_where_it_listens_and_moves(votes, book):
    assert book.learn(record(votes, 1, "127.0.0.1:7001"))
    assert book.learn(record(votes, 1, "127.0.0.1:7002", sequence=2))
    book.learn(record(votes, 1, "127.0.0.1:7001", sequence=1))  # an older word
    assert set(book.known) == {"127.0.0.1:7002"}


@pytest.mark.parametrize(
    "address",
    [
        "8.8.8.8:53",
        "example.org:80",
        "localhost:80",
        "0.0.0.0:80",
        "224.0.0.1:80",
        "127.0.0.1:99999",
        "127.0.0.1",
        "127.0.0.1:80/path",
        "user@127.0.0.1:80",
        "127.0.0.1:-1",
    ],
)
def test_an_address_that_is_not_allowed_is_not_dialled(votes, book, address):
    assert not book.learn(record(votes, 1, address))
    assert not book.known


def test_an_address_that_nobody_signed_is_not_dialled(votes, book):
    good = record(votes, 1, "127.0.0.1:7001")
    stranger = record(votes, 2, "127.0.0.1:7001")
    for bad in (
        {**good, "address": "127.0.0.1:7002"},
        {**good, "sequence": 2},
        {**good, "voter": member(2).voter},
        {**good, "certificate": stranger["certificate"]},
        {**good, "more": 1},
        {"address": "127.0.0.1:7001"},
        "127.0.0.1:7001",
        None,
    ):
        assert not book.learn(bad)
    votes.take([revocation(1)])
    assert not book.learn(good)
    assert not book.known


def test_addresses_are_bounded_and_those_of_the_operator_stay(votes, book):
    book.give("127.0.0.1:1")
    for number in range(1, 60):
        book.learn(record(votes, number, f"127.0.0.1:{7000 + number}"))
    assert len(book.known) <= 9
    assert book.known["127.0.0.1:1"].given
    again = PeerBook(votes, on_loopback(peers=8), random.Random(0))
    assert set(again.known) == set(book.known)


def test_a_poisoned_address_is_forgotten_and_its_member_soon_ignored(votes, book):
    dialled = 0
    for sequence in range(1, 50):
        book.learn(record(votes, 1, "127.0.0.1:7001", sequence))
        for _ in range(200):
            for peer in book.choose(turn=True):
                dialled += 1
                book.note(peer, worked=False)
    assert dialled <= IN_VAIN
    assert not book.known


@pytest.mark.parametrize("in_flight", [False, True])
def test_a_member_that_names_one_address_after_the_other_is_soon_ignored(votes, book, in_flight):
    """Whether it moves before or after the dialled address is found to be silent."""
    dialled = 0
    for sequence in range(1, 200):
        book.learn(record(votes, 1, f"127.0.0.1:{7000 + sequence}", sequence))
        for peer in book.choose(turn=True):
            dialled += 1
            if in_flight:
                book.learn(record(votes, 1, f"127.0.0.1:{8000 + sequence}", sequence + 1))
            book.note(peer, worked=False)
    assert 0 < dialled <= IN_VAIN + in_flight
    assert not book.known


def test_a_member_that_names_the_addresses_of_others_takes_them_from_nobody(votes, book):
    """Also those that were not dialled yet, as after a start."""
    for number in range(1, 6):
        book.learn(record(votes, number, f"127.0.0.1:{7000 + number}"))
    for sequence in range(1, 6):
        assert not book.learn(record(votes, 9, f"127.0.0.1:{7000 + sequence}", sequence))
    assert {p.address: p.voter for p in book.known.values()} == {
        f"127.0.0.1:{7000 + n}": member(n).voter for n in range(1, 6)
    }
    silent = book.known["127.0.0.1:7001"]
    book.note(silent, worked=False)  # whose address another one may have got
    assert book.learn(record(votes, 9, "127.0.0.1:7001", 9))
    assert silent.voter == member(9).voter


def test_a_given_address_may_come_to_be_another_members(tmp_path):
    wire = Wire(tmp_path)
    a, b = wire.add(1), wire.add(2)
    a.peers.give("127.0.0.1:7002")
    a.peers.learn(record(a.votes, 3, "127.0.0.1:7002"))
    wire.meet(a, 2)
    peer = a.peers.known["127.0.0.1:7002"]
    assert (peer.voter, peer.proven) == (b.identity.voter, True)
    assert a.peers.hand_out() == [b.record]
    wire.close()


def test_a_peer_that_once_proved_itself_is_not_forgotten_but_rests(votes, book):
    book.learn(record(votes, 1, "127.0.0.1:7001"))
    peer = book.known["127.0.0.1:7001"]
    peer.proven = True
    for _ in range(30):
        book.note(peer, worked=False)
    assert book.known
    assert peer.waits_until - book.round <= 8
    book.note(peer, worked=True)
    assert book.choose(turn=True) == [peer]


def test_an_address_where_another_member_answers_does_not_count_as_its_own(tmp_path):
    wire = Wire(tmp_path)
    a, _ = wire.add(1), wire.add(2)
    a.peers.learn(record(a.votes, 3, "127.0.0.1:7002"))
    with pytest.raises(Exception, match="no peer does"):
        wire.meet(a, 2)
    assert not a.peers.known["127.0.0.1:7002"].proven
    wire.close()


def test_a_peer_that_shows_the_record_of_another_member_is_not_believed(tmp_path, monkeypatch):
    wire = Wire(tmp_path)
    a, b, c = (wire.add(n) for n in (1, 2, 3))
    answer = b.answer

    def as_another(path, body):
        status, shown = answer(path, body)
        shown["who"]["me"] = c.record
        return status, shown

    monkeypatch.setattr(b, "answer", as_another)
    with pytest.raises(PeerLied, match="no peer does"):
        wire.meet(a, 2)
    assert not a.peers.known["127.0.0.1:7002"].proven
    wire.close()


def test_what_an_operator_adds_while_a_device_runs_is_given_also_if_a_member_announced_it(
    votes, book
):
    book.learn(record(votes, 1, "127.0.0.1:7001"))
    PeerBook(votes, on_loopback(), random.Random(0)).give("127.0.0.1:7001")
    book.learn(record(votes, 1, "127.0.0.1:7001", sequence=2))
    book.reload()
    assert book.known["127.0.0.1:7001"].given
    assert book.known["127.0.0.1:7001"].sequence == 2


def test_a_peer_hands_out_only_those_that_have_answered_it(tmp_path):
    wire = Wire(tmp_path)
    a, b, c = (wire.add(n) for n in (1, 2, 3))
    b.peers.learn(record(b.votes, 4, "127.0.0.1:7004"))
    wire.meet(b, 3)
    wire.meet(a, 2)
    assert {"127.0.0.1:7002", "127.0.0.1:7003"} == set(a.peers.known)
    assert c.peers.known.keys() == {"127.0.0.1:7002"}
    wire.close()


def test_what_is_announced_on_a_lan_is_the_signed_record(votes):
    mine = record(votes, 1, "127.0.0.1:7001")
    info = announced(mine, SPEC.fingerprint)
    assert all(len(part) <= 255 for part in info.properties.values())
    assert read_announced(info.properties, SPEC.fingerprint) == mine
    assert read_announced(info.properties, "0" * 64) is None
    assert read_announced({b"f": None}, SPEC.fingerprint) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"period": 0.0},
        {"allow": ("everywhere",)},
        {"listen": "here"},
        {"mutual": True},
        {"certificate": "missing.pem"},
        {"certificate": "a", "key": "b", "authority": "c"},
    ],
)
def test_a_setting_that_cannot_be_used_is_refused_in_words(changes):
    with pytest.raises(GossipError, match="\n"):
        GossipSettings(**changes)


@pytest.mark.parametrize("url", ["gossip://", "gossip://host/banner", "gossip:///", "http://a:1/b"])
def test_an_address_of_no_experiment_is_refused(url):
    with pytest.raises(GossipError, match="is not"):
        parse_url(url)


def test_addresses_are_read_as_they_are_written():
    assert parse_url("gossip:///banner") == ((), "banner")
    assert parse_address("[::1]:80") == ("::1", 80)
    assert not GossipSettings().may_dial("127.0.0.1:80")
    assert GossipSettings(allow=LOOPBACK).may_dial("127.0.0.1:80")
