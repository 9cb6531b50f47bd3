"""What is signed and what is hashed, byte by byte: the one place for it.

``docs/wire.md`` specifies the same for other languages, and ``tests/vectors`` holds examples of
all of it, which a second implementation passes too.
"""

import hashlib
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from devote.protocol.errors import SpecError

VERSION = 2
"""The version of what devices and servers send each other, and of what they sign."""

WHOLE = 2**53
"""Whole numbers up to this are the same in every language."""

_WORDS = {None: b"null", True: b"true", False: b"false"}


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a signature is good: on one board, under one specification.

    ``board`` is drawn at random when an experiment is opened and stays with its log, whoever
    serves it; ``fingerprint`` is that of the specification, in full.
    """

    board: str
    fingerprint: str


def serverless(fingerprint: str) -> Scope:
    """Where signatures are good among devices without a server: it follows from the specification.

    >>> serverless("9f3c").board
    '990d8e4492b1ddd36be2d5eaf0c088f0'
    """
    line = f"devote/{VERSION} gossip {fingerprint}"
    return Scope(hashlib.sha256(line.encode()).hexdigest()[:32], fingerprint)


def signed_bytes(kind: str, fields: Mapping[str, object], scope: Scope) -> bytes:
    """What is signed: words with one space between them.

    They are the version, the kind, the scope, and the values of the fields in the order of the
    fields' names. No value has a space in it, and the kind determines the fields: so no two
    messages are signed alike.

    >>> signed_bytes("pick", {"voter": "d75a", "arm": 4}, Scope("b0a2", "9f3c"))
    b'devote/2 pick b0a2 9f3c 4 d75a'
    """
    values = (str(fields[name]) for name in sorted(fields))
    words = (f"devote/{VERSION}", kind, scope.board, scope.fingerprint, *values)
    return " ".join(words).encode()


def canonical(value: object) -> bytes:
    r"""The one spelling of a JSON value: numbers as the bits of a double, texts with their length.

    No two values are spelt alike, and nothing depends on how a language writes numbers or texts.

    >>> canonical({"b": [0.25, "é", None], "a": 2})
    b'{1:a#40000000000000001:b[#3fd00000000000002:\xc3\xa9null]}'
    """
    if value is None or isinstance(value, bool):
        return _WORDS[value]
    if isinstance(value, int | float):
        if abs(value) > WHOLE and isinstance(value, int):
            raise SpecError(f"{value} is larger than 2^53.\nUse a smaller number.")
        return b"#" + struct.pack(">d", value + 0.0).hex().encode()  # + 0.0: there is one zero
    if isinstance(value, str):
        text = value.encode()
        return b"%d:%b" % (len(text), text)
    if isinstance(value, Mapping):
        pairs = (canonical(name) + canonical(value[name]) for name in sorted(value))
        return b"{" + b"".join(pairs) + b"}"
    assert isinstance(value, Sequence)
    return b"[" + b"".join(map(canonical, value)) + b"]"


def digest(value: object) -> str:
    """The SHA-256 of a value's one spelling, in hexadecimal digits."""
    return hashlib.sha256(canonical(value)).hexdigest()
