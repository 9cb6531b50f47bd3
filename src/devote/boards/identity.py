"""Who votes: a fresh Ed25519 key per device and experiment.

The voter *is* the public key, in 64 lower-case hexadecimal digits, so a signature needs no
directory to be checked: the server checks it, and every device checks it again, which is why a
server can withhold votes but not invent them. A key is never used in two experiments, so votes
cannot be linked across them.

A message is signed over its byte form, which covers version, kind and all of its fields:
a signature is good for exactly one message. A request to be enrolled is signed over another
prefix, so neither can be passed off as the other.
"""

import re
from functools import lru_cache

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from devote.boards.board import Envelope
from devote.protocol import LocalProtocolError, Message
from devote.protocol.messages import to_bytes

_ENROLMENT = b"devote seat 1\0"
# One spelling per key: bytes.fromhex would also take capitals and spaces, and a key with two
# spellings would have two votes.
_KEY = re.compile(r"[0-9a-f]{64}")
_SIGNATURE = re.compile(r"[0-9a-f]{128}")


class Identity:
    """A device's key pair in one experiment.

    >>> from devote.schemes import Vote
    >>> identity = Identity.from_private_bytes(bytes(32))
    >>> verify(identity.sign(Vote("banner", 0, 4, identity.voter)))
    True
    """

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self.voter = key.public_key().public_bytes_raw().hex()

    @classmethod
    def generate(cls) -> "Identity":
        """A fresh identity, from the operating system's randomness."""
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def from_private_bytes(cls, secret: bytes) -> "Identity":
        """The identity with this 32-byte private key."""
        if len(secret) != 32:
            raise LocalProtocolError(
                f"A private key of {len(secret)} bytes must have 32.\n"
                "Restore it from where to_private_bytes() was saved, or generate a new one."
            )
        return cls(Ed25519PrivateKey.from_private_bytes(secret))

    def to_private_bytes(self) -> bytes:
        """The private key: keep it on the device, readable by its owner only."""
        return self._key.private_bytes_raw()

    def sign(self, message: Message) -> Envelope:
        """Put a message of this voter into a signed envelope."""
        if message.voter != self.voter:
            raise LocalProtocolError(
                f"A message of voter {message.voter!r} cannot be signed as {self.voter!r}.\n"
                "Give the Player its identity's voter."
            )
        return Envelope(message, self._key.sign(to_bytes(message)).hex())

    def sign_enrolment(self, experiment: str) -> str:
        """The signature with which to enrol in an experiment."""
        return self._key.sign(_enrolment(self.voter, experiment)).hex()

    def __repr__(self) -> str:
        return f"Identity(voter={self.voter!r})"


@lru_cache(maxsize=65_536)
def verify(envelope: Envelope) -> bool:
    """Whether an envelope's message was signed, exactly as it is, by its voter.

    Cached: many devices in one process read the same board.
    """
    message = envelope.message
    return _verified(message.voter, to_bytes(message), envelope.signature)


def verify_enrolment(*, voter: str, experiment: str, signature: str) -> bool:
    """Whether a request to be enrolled was signed by the voter whom it names."""
    return _verified(voter, _enrolment(voter, experiment), signature)


def _enrolment(voter: str, experiment: str) -> bytes:
    return _ENROLMENT + f"{voter}\0{experiment}".encode(errors="replace")


def _verified(voter: str, data: bytes, signature: str) -> bool:
    if _KEY.fullmatch(voter) is None or _SIGNATURE.fullmatch(signature) is None:
        return False
    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(voter))
    try:
        key.verify(bytes.fromhex(signature), data)
    except InvalidSignature:
        return False
    return True
