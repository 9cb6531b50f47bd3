"""Small fleets without a server: an issuer, certified devices, and their boards."""

import asyncio
import json
import random
from pathlib import Path

from devote.boards.identity import Identity
from devote.device.device import prepare_store
from devote.gossip import Certificate, GossipSettings, Ticket
from devote.gossip.credentials import Revocation, scope_of
from devote.gossip.exchange import Answers, PeerLied, Unreachable, meet
from devote.gossip.peers import PeerBook
from devote.gossip.votes import VoteSet
from devote.protocol import ExperimentSpec
from devote.protocol.messages import to_dict
from devote.schemes import Reset, Vote

ISSUER = Identity.from_private_bytes(b"i" * 32)
SPEC = ExperimentSpec(arms=3, name="banner", epsilon=1.0, scheme={"quorum": 4}, issuer=ISSUER.voter)
LOOPBACK = ("127.0.0.0/8",)


def certified(voter: str, number: int, spec: ExperimentSpec = SPEC) -> Certificate:
    return Certificate.issue(ISSUER, spec, voter=voter, number=number)


def prepare(store: Path, number: int, spec: ExperimentSpec = SPEC, *peers: str) -> str:
    """A store with a key, and the ticket for it as text."""
    voter = prepare_store(store, spec)
    return Ticket(spec, certified(voter, number, spec), peers).to_json()


def on_loopback(**changes) -> GossipSettings:
    known = {"period": 0.2, "listen": "127.0.0.1:0", "allow": LOOPBACK}
    return GossipSettings(**{**known, **changes})


def member(number: int) -> Identity:
    """A key that the issuer certifies with this number."""
    return Identity.from_private_bytes(number.to_bytes(32, "big"))


def signed_item(number: int, message_of, spec: ExperimentSpec = SPEC) -> dict:
    """An item: what a member sends, with its certificate."""
    identity = member(number)
    envelope = identity.sign(message_of(identity.voter), scope_of(spec))
    return {
        "message": to_dict(envelope.message),
        "signature": envelope.signature,
        "number": number,
        "certificate": certified(identity.voter, number, spec).signature,
    }


def vote(number: int, arm: int, term: int = 0, spec: ExperimentSpec = SPEC) -> dict:
    return signed_item(number, lambda voter: Vote(spec.name, term, arm, voter), spec)


def reset(number: int, term: int, spec: ExperimentSpec = SPEC) -> dict:
    return signed_item(number, lambda voter: Reset(spec.name, term, voter), spec)


def revocation(number: int, spec: ExperimentSpec = SPEC) -> dict:
    return {"revoked": number, "signature": Revocation.issue(ISSUER, spec, number).signature}


class Wire:
    """Peers in one process that call each other by address, and what each body weighs."""

    def __init__(self, folder: Path, spec: ExperimentSpec = SPEC) -> None:
        self._folder, self._spec = folder, spec
        self.nodes: dict[str, Answers] = {}
        self.bytes = 0

    def add(self, number: int, spec: ExperimentSpec | None = None) -> Answers:
        votes = VoteSet(self._folder / f"{number}.db", spec or self._spec)
        identity, settings = member(number), on_loopback()
        votes.certify(certified(identity.voter, number, votes.spec))
        own = Answers(votes, PeerBook(votes, settings, random.Random(number)), settings)
        address = f"127.0.0.1:{7000 + number}"
        own.introduce(identity, address, sequence=1)
        self.nodes[address] = own
        return own

    async def call(self, address: str, path: str, body: bytes) -> bytes:
        if address not in self.nodes:
            raise Unreachable("nobody is there")
        status, reply = self.nodes[address].answer(path, body)
        if status != 200:
            raise PeerLied(f"{status}: {reply}")
        answer = json.dumps(reply, separators=(",", ":")).encode()
        self.bytes += len(body) + len(answer)
        return answer

    def meet(self, own: Answers, number: int) -> None:
        address = f"127.0.0.1:{7000 + number}"
        if address not in own.peers.known:
            own.peers.give(address)
        asyncio.run(meet(own, own.peers.known[address], self.call))

    def close(self) -> None:
        for node in self.nodes.values():
            node.votes.close()
