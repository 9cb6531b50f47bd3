"""The set of votes: what may enter it, in which order, and what a restart forgets: nothing."""

import random

import pytest
from tests.gossip.fleets import (
    ISSUER,
    SPEC,
    certified,
    member,
    reset,
    revocation,
    signed_item,
    vote,
)

from devote.boards.admission import NOT_ENROLLED
from devote.boards.database import StoreFull
from devote.boards.identity import Identity
from devote.gossip.credentials import Certificate, Revocation, Ticket, scope_of
from devote.gossip.settings import GossipError
from devote.gossip.votes import VoteSet
from devote.protocol import ExperimentSpec, SpecError
from devote.protocol.spec import LAST_SERVERLESS_TERM
from devote.schemes import Jury, Survey, Vote

TERMS = SPEC.with_(algorithm="ser4", options={"phi": 0.01}, scheme={"quorum": 2})
OTHER = SPEC.with_(epsilon=0.5)


@pytest.fixture
def new_set(tmp_path):
    opened = []

    def make(name: str = "a", spec: ExperimentSpec | None = SPEC) -> VoteSet:
        opened.append(VoteSet(tmp_path / name, spec))
        return opened[-1]

    yield make
    for votes in opened:
        votes.close()


def held(votes: VoteSet) -> list[str]:
    return sorted(row[1] for row in votes.board.rows("banner")[1])


def test_a_vote_enters_once_however_often_and_with_whatever_signature_it_comes(new_set):
    votes = new_set()
    assert len(votes.take([vote(1, 0), vote(1, 0), vote(1, 1)]).new) == 2
    assert votes.take([vote(1, 0)]).new == []
    assert len(held(votes)) == 2


def forged(item: dict, **changes) -> dict:
    return {**item, **changes}


BAD = {
    "no object": 7,
    "no fields": {},
    "a forged signature": forged(vote(1, 0), signature="0" * 128),
    "a signature of another type": forged(vote(1, 0), signature=5),
    "another's certificate": forged(vote(1, 0), certificate=vote(2, 0)["certificate"]),
    "another number": forged(vote(1, 0), number=2),
    "number 0": forged(vote(1, 0), number=0),
    "a number that is true": forged(vote(1, 0), number=True),
    "a certificate for another experiment": forged(
        vote(1, 0), certificate=certified(member(1).voter, 1, OTHER).signature
    ),
    "a vote for another experiment": forged(
        vote(1, 0), signature=vote(1, 0, spec=OTHER)["signature"]
    ),
    "a field too many": forged(vote(1, 0), more=1),
    "an unknown arm": vote(1, 3),
    "a term where nothing resets": vote(1, 0, term=1),
    "a revocation by a member": {
        "revoked": 2,
        "signature": member(1).sign_fields("revocation", {"number": 2}, scope_of(SPEC)),
    },
    "a revocation for another experiment": revocation(2, OTHER),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_not_valid_is_not_stored_and_ends_what_the_peer_may_say(new_set, case):
    votes = new_set()
    taken = votes.take([vote(3, 0), BAD[case], vote(4, 0)])
    assert taken.bad
    assert len(taken.new) == 1
    assert len(votes.items) == 1
    assert len(held(votes)) == 1


def test_whoever_has_no_certificate_of_the_issuer_is_ignored(new_set):
    votes = new_set()
    stranger = Identity.generate()
    outsider = vote(1, 0) | {"certificate": "ab" * 64}
    assert votes.take([outsider]).bad
    another = Identity.from_private_bytes(b"j" * 32)
    fields = {"number": 1, "voter": stranger.voter}
    signed = another.sign_fields("certificate", fields, votes.scope)
    envelope = stranger.sign(Vote("banner", 0, 0, stranger.voter), votes.scope)
    assert votes.post(envelope) == (NOT_ENROLLED, None)
    certificate = Certificate(stranger.voter, 1, signed)
    assert "not from the issuer" in (certificate.fault(SPEC) or "")


def test_a_member_can_add_no_more_than_an_arm_each_in_a_bounded_number_of_terms(new_set):
    votes = new_set("t", TERMS)
    everything = [vote(1, arm, term, TERMS) for term in (0, 1, 2, 9) for arm in range(3)]
    votes.take([reset(1, 1, TERMS), reset(1, 2, TERMS), *everything])
    assert len(votes.items) == 14
    assert votes.take([vote(1, 0, LAST_SERVERLESS_TERM + 1, TERMS)]).bad
    assert votes.take([reset(1, LAST_SERVERLESS_TERM + 1, TERMS)]).bad
    assert len(votes.items) == 14


def test_the_same_items_give_the_same_set_and_the_same_count_in_any_order(new_set):
    items = [vote(n, arm, term, TERMS) for n in (1, 2, 3) for arm in (0, 1) for term in (0, 1, 2)]
    items += [reset(2, 1, TERMS), reset(3, 2, TERMS), vote(4, 2, 3, TERMS), revocation(3, TERMS)]
    dice, found = random.Random(5), set()
    for n in range(12):
        votes = new_set(f"{n}", TERMS)
        dice.shuffle(items)
        for item in items:
            assert not votes.take([item]).bad
        public = votes.board.tally("banner").tally
        found.add((votes.root, tuple(held(votes)), str(public)))
        assert len(held(votes)) == sum("message" in item for item in votes.items.values())
    assert len(found) == 1


def test_a_message_of_a_later_term_waits_for_the_terms_in_between(new_set):
    votes = new_set("t", TERMS)
    assert votes.take([vote(1, 0, 2, TERMS)]).new
    assert held(votes) == []
    votes.close()
    votes = new_set("t", None)
    assert len(votes.items) == 1
    votes.take([reset(2, 1, TERMS)])
    assert len(held(votes)) == 2


def test_a_revoked_voter_is_out_with_all_it_said_and_says_nothing_more(new_set):
    votes = new_set()
    votes.take([vote(1, 0), vote(2, 0), vote(1, 1), vote(3, 1)])
    assert len(votes.take([revocation(1)]).new) == 1
    assert len(held(votes)) == 2
    assert [row[0] for row in votes.board.rows("banner")[1]] == [1, 2]
    later = votes.take([vote(1, 2), vote(1, 0), revocation(1)])
    assert (later.new, later.bad) == ([], False)
    root = votes.root
    votes.close()
    assert new_set().root == root


def test_a_revocation_for_which_there_was_no_room_is_carried_out_when_it_comes_again(
    new_set, monkeypatch
):
    votes = new_set()
    votes.take([vote(1, 0), vote(2, 0)])

    def full(*_, **__):
        raise StoreFull("The store is full.\nMake room.")

    monkeypatch.setattr(votes.file, "write", full)
    with pytest.raises(StoreFull):
        votes.take([revocation(1)])
    monkeypatch.undo()
    assert votes.take([revocation(1)]).new
    assert len(held(votes)) == 1
    assert len(votes.items) == 2


def test_a_restart_forgets_nothing(new_set):
    votes = new_set()
    votes.take([vote(1, 0), vote(2, 1), revocation(9)])
    root, rows = votes.root, held(votes)
    votes.close()
    again = new_set("a", None)
    assert (again.root, held(again)) == (root, rows)


@pytest.mark.parametrize("scheme", [Jury(), Survey()])
def test_a_scheme_that_needs_an_order_is_refused_in_one_line_that_says_why(scheme):
    with pytest.raises(SpecError, match=r"cannot do without a server: .* order"):
        SPEC.with_(scheme=scheme, algorithm="mixture_elimination")


def test_an_issuer_changes_the_fingerprint_and_none_changes_nothing():
    plain = ExperimentSpec(arms=3, name="banner")
    assert "issuer" not in plain.to_dict()
    assert plain.with_(issuer=ISSUER.voter).fingerprint != plain.fingerprint
    with pytest.raises(SpecError, match="must be a public key"):
        plain.with_(issuer="somebody")


def test_a_ticket_is_checked_when_it_is_read(tmp_path):
    good = Ticket(SPEC, certified(member(1).voter, 1)).to_json()
    assert Ticket.read(good).certificate.number == 1
    (tmp_path / "1.json").write_text(good)
    assert Ticket.read(tmp_path / "1.json") == Ticket.read(good)
    for text, fault in (
        (good.replace('"number": 1', '"number": 2'), "not from the issuer"),
        (Ticket(OTHER, certified(member(1).voter, 1)).to_json(), "another experiment"),
        (good[:-40], "malformed"),
        ("{}", "malformed"),
        (good.replace(member(1).voter, "0" * 64), "malformed"),
    ):
        with pytest.raises(GossipError, match=fault):
            Ticket.read(text)


def test_only_the_issuers_key_certifies():
    with pytest.raises(GossipError, match="names the issuer"):
        Certificate.issue(member(1), SPEC, voter=member(2).voter, number=1)
    assert not Revocation(1, "0" * 128).holds(SPEC)


def test_a_message_of_a_later_term_waits_only_under_the_name_of_its_experiment(new_set):
    votes = new_set("t", TERMS)
    renamed = signed_item(1, lambda voter: Vote("another", 7, 0, voter), TERMS)
    assert votes.take([renamed]).bad
    assert not votes.items


def test_a_revocation_leaves_the_same_whether_it_comes_first_or_last(new_set):
    """What counted only because the revoked voter had opened its term waits again."""
    items = [reset(3, 1, TERMS), vote(4, 0, 2, TERMS), vote(5, 1, 3, TERMS), vote(5, 1, 0, TERMS)]
    before, after = new_set("before", TERMS), new_set("after", TERMS)
    before.take([revocation(3, TERMS), *items])
    after.take([*items, revocation(3, TERMS)])
    assert len(held(before)) == 1
    assert held(after) == held(before)
    assert after.root == before.root
    after.close()
    again = new_set("after", TERMS)
    assert (held(again), again.root) == (held(before), before.root)
    for votes in (before, again):
        votes.take([reset(6, 1, TERMS)])
        assert len(held(votes)) == 4
    assert again.root == before.root


def test_messages_that_wait_are_posted_in_few_transactions_once_their_turn_comes(
    new_set, monkeypatch
):
    votes, calls = new_set("t", TERMS), []
    votes.take([reset(1, term, TERMS) for term in range(30, 1, -1)])
    posted = votes.board.post_all
    monkeypatch.setattr(
        votes.board, "post_all", lambda posts, **more: calls.append(1) or posted(posts, **more)
    )
    votes.take([vote(2, 0, 0, TERMS)])
    assert len(calls) == 1
    votes.take([reset(2, 1, TERMS)])
    assert len(calls) <= 32
    assert len(held(votes)) == 31


def test_a_file_that_is_lost_or_older_is_filled_again_by_others(new_set, tmp_path):
    votes = new_set()
    votes.take([vote(1, 0), vote(2, 1)])
    root = votes.root
    votes.close()
    for file in tmp_path.glob("a.votes*"):
        file.unlink()
    votes = new_set()
    assert not votes.take([vote(1, 0), vote(2, 1)]).bad
    assert (votes.root, len(held(votes))) == (root, 2)
