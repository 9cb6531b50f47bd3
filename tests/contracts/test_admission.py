"""One admission: the same 200 messages have the same outcome, for the same reason, on all boards.

Memory, SQLite, JetStream and the votes of devices without a server. Where a board differs by its
nature, the test says so: devices without a server keep what came before its turn, and take back
what a revoked voter has sent.
"""

import random
from contextlib import closing

import pytest
from tests.boards.memory import MemoryBoard
from tests.boards.nodes import fresh_address
from tests.gossip.fleets import ISSUER

from devote.boards.admission import NOT_ENROLLED, REVOKED, Receipt
from devote.boards.board import Envelope, Experiment, ExperimentState, Outcome
from devote.boards.identity import Identity
from devote.boards.jetstream.store import JetStreamStore
from devote.boards.store import SqliteStore
from devote.gossip.credentials import Certificate, Revocation
from devote.gossip.votes import VoteSet
from devote.protocol import ExperimentSpec
from devote.protocol.messages import Scope, serverless
from devote.schemes import Claim, Reset, Vote

SPEC = ExperimentSpec(
    arms=4,
    name="banner",
    algorithm="ser4",
    options={"phi": 0.01},
    scheme={"quorum": 3},
    issuer=ISSUER.voter,
)
SCOPE = serverless(SPEC.fingerprint)
MOST = 6
VOTERS = [Identity.from_private_bytes(n.to_bytes(32, "big")) for n in range(1, 13)]
STRANGER, REVOKED_VOTER, BUSY = Identity.from_private_bytes(b"s" * 32), VOTERS[0], VOTERS[1]
LATER = VOTERS[2:]
ELSEWHERE = Scope("f" * 32, SPEC.fingerprint)


def vote(voter: Identity, arm: int, term: int = 0, scope: Scope = SCOPE) -> Envelope:
    return voter.sign(Vote("banner", term, arm, voter.voter), scope)


def reset(voter: Identity, term: int) -> Envelope:
    return voter.sign(Reset("banner", term, voter.voter), SCOPE)


def messages() -> list[tuple[str, Envelope]]:
    """Two hundred messages of every kind that a board meets, in an order of chance."""
    rng = random.Random(29)
    good = [("valid", vote(voter, arm)) for voter in LATER for arm in range(4)]
    good += [("valid", reset(voter, 1)) for voter in LATER[:4]]
    other = [
        *(("forged", Envelope(vote(v, a).message, "0" * 128)) for v in LATER for a in (0, 3)),
        *(
            ("another's signature", Envelope(vote(v, 1).message, vote(BUSY, 1).signature))
            for v in LATER
        ),
        *(("moved", vote(v, a, scope=ELSEWHERE)) for v in LATER for a in (0, 1, 2)),
        *(("another experiment", v.sign(Vote("other", 0, 0, v.voter), SCOPE)) for v in LATER),
        *(("another scheme", v.sign(Claim("banner", v.voter), SCOPE)) for v in LATER),
        *(
            ("another scheme, forged", Envelope(Claim("banner", v.voter), "0" * 128))
            for v in LATER[:5]
        ),
        *(("unknown arm", vote(v, 4)) for v in LATER[:9]),
        *(("not enrolled", vote(STRANGER, arm)) for arm in range(4)),
        *(("revoked", vote(REVOKED_VOTER, arm)) for arm in (1, 2, 3)),
        *(("early", vote(v, 0, term=3)) for v in LATER[:3]),
        *(("over the limit", vote(BUSY, arm, term=n)) for n in (0, 1) for arm in range(4)),
    ]
    again = [("duplicate", envelope) for _, envelope in good]
    listed = good + other
    rng.shuffle(listed)
    listed += again
    return listed[:200]


class Memory:
    def __init__(self, folder) -> None:
        self.board = MemoryBoard(SPEC, enrolled=(v.voter for v in VOTERS), board=SCOPE.board)

    def post(self, envelope: Envelope) -> Receipt:
        return self.board.post(envelope, MOST)

    def revoke(self, voter: Identity) -> None:
        self.board.ledger.revoked.add(voter.voter)

    def close_experiment(self) -> None:
        self.board.ledger.state = ExperimentState("closed")

    def close(self) -> None:
        pass


class Stored:
    def __init__(self, folder) -> None:
        self.store = self.open(folder)
        assert self.store.create(Experiment(SPEC, board=SCOPE.board)).outcome is Outcome.ACCEPTED
        receipts = self.store.enrol_all([("banner", voter.voter, None) for voter in VOTERS])
        assert {receipt.outcome for receipt in receipts} == {Outcome.ACCEPTED}

    def open(self, folder):
        return SqliteStore(folder / "x.db")

    def post(self, envelope: Envelope) -> Receipt:
        return self.store.post("banner", envelope, most=MOST)

    def revoke(self, voter: Identity) -> None:
        assert self.store.revoke("banner", voters=[voter.voter]).devices == 1

    def close_experiment(self) -> None:
        self.store.change("banner", state="closed")

    def close(self) -> None:
        self.store.close()


class OnNats(Stored):
    def open(self, folder):
        return JetStreamStore(fresh_address())


class Gossip:
    def __init__(self, folder) -> None:
        self.votes = VoteSet(folder / "device.db", SPEC)
        for number, voter in enumerate(VOTERS, 1):
            certificate = Certificate.issue(ISSUER, SPEC, voter=voter.voter, number=number)
            self.votes.certify(certificate)

    def post(self, envelope: Envelope) -> Receipt:
        return self.votes.post(envelope, MOST)[0]

    def revoke(self, voter: Identity) -> None:
        number = VOTERS.index(voter) + 1
        signature = Revocation.issue(ISSUER, SPEC, number).signature
        assert self.votes.take([{"revoked": number, "signature": signature}]).new

    def close_experiment(self) -> None:
        """Nobody can close what no server keeps."""
        self.votes.board.change("banner", state="closed")

    def close(self) -> None:
        self.votes.close()


BOARDS = {"sqlite": Stored, "jetstream": OnNats, "gossip": Gossip}


def outcomes(board) -> list[tuple[str, str, str, str | None]]:
    """What became of each message, in three acts: open, with a voter revoked, closed."""
    with closing(board):
        board.post(vote(REVOKED_VOTER, 0))
        board.revoke(REVOKED_VOTER)
        listed = messages()
        found = [(what, board.post(envelope)) for what, envelope in listed[:180]]
        board.close_experiment()
        found += [(f"{what}, closed", board.post(envelope)) for what, envelope in listed[180:]]
        receipt = board.post(vote(LATER[-1], 0, term=1))
        found.append(("new, closed", receipt))
    return [(what, r.outcome.value, r.reason, r.cause) for what, r in found]


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    return outcomes(Memory(tmp_path_factory.mktemp("memory")))


def test_the_200_messages_meet_every_reason_there_is(expected):
    assert len(messages()) == 200
    by_kind: dict[str, set[str]] = {}
    for what, outcome, reason, _ in expected:
        by_kind.setdefault(what, set()).add(f"{outcome} {reason.partition(chr(10))[0]}")
    assert by_kind["revoked"] == {f"refused {REVOKED.reason.partition(chr(10))[0]}"}
    assert by_kind["not enrolled"] == {f"refused {NOT_ENROLLED.reason.partition(chr(10))[0]}"}
    assert all("has no such message" in text for text in by_kind["another scheme, forged"])
    assert by_kind["another scheme"] == by_kind["another scheme, forged"], "the kind goes first"
    assert all("signature" in text for text in by_kind["moved"] | by_kind["forged"])
    assert by_kind["new, closed"] == {"refused Experiment 'banner' is closed."}
    assert by_kind["duplicate, closed"] == {"duplicate "}, "what is there stays a duplicate"
    assert any("at most 6 messages" in text for text in by_kind["over the limit"])
    assert all(text.startswith("refused") for text in by_kind["early"])


@pytest.mark.parametrize("name", BOARDS)
def test_every_board_answers_each_message_alike(name, tmp_path, expected):
    found = outcomes(BOARDS[name](tmp_path))
    if name == "gossip":  # what came before its turn is kept and handed on, so it is accepted
        early = [("early", "accepted", "", None)] * 3
        assert [item for item in found if item[0] == "early"] == early
        found = [item for item in found if item[0] != "early"]
        expected = [item for item in expected if item[0] != "early"]
    assert found == expected


def test_a_duplicate_of_a_voter_revoked_since_is_a_duplicate_where_it_stays(tmp_path):
    for name, board in {"memory": Memory, **BOARDS}.items():
        opened = board(tmp_path)
        with closing(opened):
            opened.post(vote(REVOKED_VOTER, 0))
            opened.revoke(REVOKED_VOTER)
            receipt = opened.post(vote(REVOKED_VOTER, 0))
            took_back = name == "gossip"
            assert receipt.outcome is (Outcome.REFUSED if took_back else Outcome.DUPLICATE), name
            assert receipt.cause == ("revoked" if took_back else None)
