"""Who votes: a fresh Ed25519 key per device and experiment.

The voter *is* the public key, in 64 lower-case hexadecimal digits, so a signature needs no
directory to be checked: the server checks it, and every device checks it again, which is why a
server can withhold votes but not invent them. A key is never used in two experiments, so votes
cannot be linked across them.

A message is signed over all of its fields, the board and the specification: a signature is good
for exactly one message in one place. So is a request to be enrolled.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from devote.boards.board import Envelope, SignedSnapshot, TallySnapshot
from devote.protocol import LocalProtocolError, Message
from devote.protocol.messages import RESERVED, Scope, digest, signed_bytes, to_bytes

# One spelling per key: bytes.fromhex would also take capitals and spaces, and a key with two
# spellings would have two votes.
_KEY = re.compile(r"[0-9a-f]{64}")
_SIGNATURE = re.compile(r"[0-9a-f]{128}")

_PRIME = 2**255 - 19
_SMALL = frozenset(
    int.from_bytes(bytes.fromhex(y), "little")
    for y in (
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    )
)
"""The y of the eight points of small order, with whose keys a signature is good for any text."""


def is_key(voter: str) -> bool:
    """Whether a text is a public key that can name a voter.

    It is 64 lower-case hexadecimal digits, the y in them is below the prime, so that a key has
    one spelling, and it is of no point of small order.

    >>> is_key(Identity.generate().voter), is_key("00" * 32)
    (True, False)
    """
    if _KEY.fullmatch(voter) is None:
        return False
    y = int.from_bytes(bytes.fromhex(voter), "little") & (2**255 - 1)
    return y < _PRIME and y not in _SMALL


class Identity:
    """A device's key pair in one experiment.

    >>> from devote.schemes import Vote
    >>> identity = Identity.from_private_bytes(bytes(32))
    >>> here = Scope("b0a2", "9f3c")
    >>> verify(identity.sign(Vote("banner", 0, 4, identity.voter), here), here)
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

    def sign(self, message: Message, scope: Scope) -> Envelope:
        """Put a message of this voter into an envelope that is good in a scope."""
        if message.voter != self.voter:
            raise LocalProtocolError(
                f"A message of voter {message.voter!r} cannot be signed as {self.voter!r}.\n"
                "Give the Player its identity's voter."
            )
        return Envelope(message, self._key.sign(to_bytes(message, scope)).hex())

    def sign_enrolment(self, scope: Scope) -> str:
        """The signature with which to enrol on a board."""
        return self.sign_fields("enrolment", {"voter": self.voter}, scope)

    def sign_join(self, experiment: str, invite: str | None = None) -> str:
        """The signature with which to join an experiment of this name, wherever it is."""
        fields = join_fields(self.voter, experiment, invite)
        return self.sign_fields("join", fields, JOINING)

    def sign_snapshot(self, snapshot: TallySnapshot, head: str, now: float) -> SignedSnapshot:
        """The signature of a server over a tally, and the head of the log that it counts."""
        at = int(now) // ROUNDED * ROUNDED
        made = SignedSnapshot(snapshot.number, at, head, digest(snapshot.tally), "")
        return replace(made, signature=self.sign_fields("snapshot", made.fields, snapshot.scope))

    def sign_fields(self, kind: str, fields: Mapping[str, object], scope: Scope) -> str:
        """The signature over something that is not a message; ``kind`` is no message's either."""
        assert kind in RESERVED
        return self._key.sign(signed_bytes(kind, fields, scope)).hex()

    def __repr__(self) -> str:
        return f"Identity(voter={self.voter!r})"


@lru_cache(maxsize=65_536)
def verify(envelope: Envelope, scope: Scope) -> bool:
    """Whether an envelope's message was signed, exactly as it is, by its voter, for this scope.

    Cached: many devices in one process read the same board.
    """
    message = envelope.message
    return _verified(message.voter, to_bytes(message, scope), envelope.signature)


def verify_enrolment(*, voter: str, scope: Scope, signature: str) -> bool:
    """Whether a request to be enrolled was signed by the voter whom it names."""
    fields = {"voter": voter}
    return is_key(voter) and verify_fields(voter, "enrolment", fields, scope, signature)


def hash_of(invite: str) -> str:
    """All that is kept of an invite: it is 128 random bits, so that a plain hash does."""
    return hashlib.sha256(invite.encode(errors="surrogatepass")).hexdigest()


JOINING = Scope("-", "-")
"""The scope of a request to join: the board and the specification are not known before it."""


def join_fields(voter: str, experiment: str, invite: str | None) -> dict[str, object]:
    """What a request to join signs: the experiment's name, the voter, the hash of its invite."""
    hashed = "-" if invite is None else hash_of(invite)
    return {"experiment": experiment, "voter": voter, "invite": hashed}


def verify_join(*, voter: str, experiment: str, invite: str | None, signature: str) -> bool:
    """Whether a request to join was signed by the voter whom it names."""
    fields = join_fields(voter, experiment, invite)
    return is_key(voter) and verify_fields(voter, "join", fields, JOINING, signature)


def verify_fields(
    key: str, kind: str, fields: Mapping[str, object], scope: Scope, signature: str
) -> bool:
    """Whether ``sign_fields`` gave this signature, by the owner of the key."""
    return _verified(key, signed_bytes(kind, fields, scope), signature)


def _verified(voter: str, data: bytes, signature: str) -> bool:
    if not is_key(voter) or _SIGNATURE.fullmatch(signature) is None:
        return False
    try:
        # OpenSSL refuses the signature's R and s in any but their one spelling.
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(voter)).verify(
            bytes.fromhex(signature), data
        )
    except (InvalidSignature, ValueError):
        return False
    return True


ROUNDED = 600
"""Seconds to which the moment of a signed snapshot is rounded down."""


def verify_snapshot(signed: SignedSnapshot, scope: Scope, signer: str) -> bool:
    """Whether a snapshot was signed with the key of an experiment's servers."""
    return verify_fields(signer, "snapshot", signed.fields, scope, signed.signature)


def begin_chain(scope: Scope) -> bytes:
    """The head of an empty log."""
    return hashlib.sha256(signed_bytes("log", {}, scope)).digest()


def extend_chain(head: bytes, envelope: Envelope, scope: Scope) -> bytes:
    """The head after one more message: over the head before, what is signed, and the signature."""
    signature = envelope.signature.encode(errors="replace")
    return hashlib.sha256(head + to_bytes(envelope.message, scope) + b" " + signature).digest()
