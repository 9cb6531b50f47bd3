"""What peers hand each other, as JSON values: messages with certificates, and revocations."""

import json
from dataclasses import dataclass, field
from typing import Any

from devote.boards.board import Envelope
from devote.gossip.credentials import Certificate, Revocation
from devote.protocol import to_json

Item = dict[str, Any]
"""A message with its voter's certificate, or a revocation, as JSON values."""


@dataclass
class Taken:
    """What became of items: which were new, and whether one of them was not valid."""

    new: list[Item] = field(default_factory=list)
    bad: bool = False


def vote_item(envelope: Envelope, certificate: Certificate) -> Item:
    """A message with its voter's certificate."""
    return {
        "message": json.loads(to_json(envelope.message)),
        "signature": envelope.signature,
        "number": certificate.number,
        "certificate": certificate.signature,
    }


def revocation_item(revocation: Revocation) -> Item:
    """A revocation."""
    return {"revoked": revocation.number, "signature": revocation.signature}


def voter_of(item: Item) -> str | None:
    """Who says it; None if it is the issuer."""
    voter: str | None = item.get("message", {}).get("voter")
    return voter
