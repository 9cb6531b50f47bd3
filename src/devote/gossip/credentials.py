"""Who may vote where no server keeps a list: certificates, and what takes one back.

The specification names the issuer's public key. A certificate is the issuer's signature over the
fingerprint, a voter's key and a number; a revocation is one over the fingerprint and the number.
Both are good for one specification only, and anybody can check them, offline.
"""

import json
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from devote.boards.identity import Identity, is_key, verify_fields
from devote.gossip.settings import GossipError
from devote.protocol import ExperimentSpec, SpecError
from devote.protocol.messages import Scope, parse_json, serverless

HIGHEST = 2**32 - 1
"""The highest number of a certificate."""

LONGEST_TICKET = 2**20


def scope_of(spec: ExperimentSpec) -> Scope:
    """Where the signatures of an experiment without a server are good."""
    if not spec.issuer:
        raise GossipError(
            f"The specification of {spec.name!r} names no issuer, so nobody can certify voters.\n"
            'Write issuer = "..." with the key that `devote certify key` prints.'
        )
    if not is_key(spec.issuer):
        raise GossipError(
            f"issuer={spec.issuer!r} is not a key that can sign.\nMake one: devote certify key"
        )
    return serverless(spec.fingerprint)


def is_number(value: object) -> bool:
    """Whether this can be the number of a certificate."""
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= HIGHEST


@dataclass(frozen=True, slots=True)
class Certificate:
    """The issuer's word that a voter may vote; ``number`` is what it is taken back by."""

    voter: str
    number: int
    signature: str

    @classmethod
    def issue(
        cls, issuer: Identity, spec: ExperimentSpec, *, voter: str, number: int
    ) -> "Certificate":
        """Certify a voter's key; done on the issuer's machine, which needs no network."""
        scope = scope_of(spec)
        if issuer.voter != spec.issuer:
            raise GossipError(
                f"This key is {issuer.voter[:12]}..., but {spec.name!r} names the issuer "
                f"{spec.issuer[:12]}....\nUse the issuer's key, or write this one into the file."
            )
        if not is_key(voter) or not is_number(number):
            raise GossipError(
                f"voter {voter[:70]!r} with number {number!r} cannot be certified.\n"
                f"Give a key of 64 digits from `devote certify request`, and 1 to {HIGHEST}."
            )
        fields = {"number": number, "voter": voter}
        return cls(voter, number, issuer.sign_fields("certificate", fields, scope))

    def fault(self, spec: ExperimentSpec) -> str | None:
        """Why it does not hold for an experiment, or None if it does."""
        if _is_certified(self, spec.issuer, scope_of(spec)):
            return None
        return (
            f"The certificate of voter {self.voter[:12]}... is not from the issuer of "
            f"{spec.name!r}, or is for another experiment.\n"
            "Ask the issuer for one with `devote certify issue` and this very specification."
        )

    @classmethod
    def read(cls, fields: Any) -> "Certificate":
        """From JSON values; GossipError if they are no certificate."""
        try:
            found = cls(fields["voter"], fields["number"], fields["signature"])
            is_whole = len(fields) == 3 and isinstance(found.signature, str)
            if not (is_whole and is_key(found.voter) and is_number(found.number)):
                raise ValueError
        except (KeyError, TypeError, ValueError):
            raise GossipError(
                "The certificate is malformed: it needs a voter, a number and a signature.\n"
                "Use the file as `devote certify issue` wrote it."
            ) from None
        return found


@lru_cache(maxsize=4_096)
def _is_certified(certificate: Certificate, issuer: str, scope: Scope) -> bool:
    fields = {"number": certificate.number, "voter": certificate.voter}
    return is_key(certificate.voter) and verify_fields(
        issuer, "certificate", fields, scope, certificate.signature
    )


@dataclass(frozen=True, slots=True)
class Revocation:
    """The issuer's word that the certificate of a number no longer holds, for good."""

    number: int
    signature: str

    @classmethod
    def issue(cls, issuer: Identity, spec: ExperimentSpec, number: int) -> "Revocation":
        """Take back the certificate of a number; its voter's votes no longer count."""
        signature = issuer.sign_fields("revocation", {"number": number}, scope_of(spec))
        return cls(number, signature)

    def holds(self, spec: ExperimentSpec) -> bool:
        """Whether the issuer of this experiment has signed it."""
        fields = {"number": self.number}
        return is_number(self.number) and verify_fields(
            spec.issuer, "revocation", fields, scope_of(spec), self.signature
        )


@dataclass(frozen=True)
class Ticket:
    """What a device needs to take part: the specification, its certificate, who to ask first."""

    spec: ExperimentSpec
    certificate: Certificate
    peers: tuple[str, ...] = ()

    def to_json(self) -> str:
        """As ``devote certify issue`` writes it."""
        return json.dumps({
            "spec": self.spec.to_dict(),
            "certificate": asdict(self.certificate),
            "peers": list(self.peers),
        })  # fmt: skip

    @classmethod
    def read(cls, given: str | Path) -> "Ticket":
        """From a file, or from the text of one."""
        text = str(given)
        if not text.lstrip().startswith("{"):
            with open(text, encoding="utf-8") as file:
                text = file.read(LONGEST_TICKET)
        try:
            fields = parse_json(text)
            spec = ExperimentSpec.from_dict(fields["spec"])
            peers = tuple(fields["peers"])
            if not all(isinstance(peer, str) for peer in peers):
                raise ValueError
        except (SpecError, KeyError, TypeError, ValueError):
            raise GossipError(
                "The ticket is malformed: it needs a specification, a certificate and peers.\n"
                "Use the file as `devote certify issue` wrote it."
            ) from None
        ticket = cls(spec, Certificate.read(fields["certificate"]), peers)
        if fault := ticket.certificate.fault(spec):
            raise GossipError(fault)
        return ticket
