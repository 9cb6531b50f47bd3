"""Small fleets without a server: an issuer, certified devices, and their boards."""

from pathlib import Path

from devote.boards.identity import Identity
from devote.fleet.joining import prepare_store
from devote.gossip import Certificate, GossipSettings, Ticket
from devote.protocol import ExperimentSpec

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
