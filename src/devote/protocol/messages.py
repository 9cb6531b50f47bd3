"""The only things that ever leave a device.

A message says who (``voter``), in which experiment and term, and, for a vote, which arm is not
good enough. It carries nothing else. Both wire forms are strict: what does not decode exactly
is a peer's error.

Byte form, big endian: version (1), kind (1), term (4), arm (2, votes only), then experiment and
voter, each as its length (1) and its characters.

Paper: Definition 2, ``lambda^n_k = 1``; a ``Reset`` is section 4's.
"""

import json
import re
import struct
from dataclasses import dataclass
from typing import Any, TypeAlias

from devote.protocol.errors import RemoteProtocolError

VERSION = 1
MAX_TERM = 2**32 - 1
MAX_ARMS = 2**16
IDENTIFIER = re.compile(r"[A-Za-z0-9_.:-]{1,64}")

_HEAD = struct.Struct(">BBI")
_ARM = struct.Struct(">H")


def is_identifier(text: object) -> bool:
    """Whether a text can name an experiment or a voter: 1 to 64 of ``A-Z a-z 0-9 _ . : -``."""
    return isinstance(text, str) and IDENTIFIER.fullmatch(text) is not None


def is_whole(value: object, least: int, most: int) -> bool:
    """Whether a value is an ``int`` in a range; ``True`` and ``1.0`` are not."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


@dataclass(frozen=True, slots=True)
class Vote:
    """``voter`` estimates that ``arm`` is not epsilon-optimal.

    Paper: Definition 2; Algorithm 2, line 18.
    """

    experiment: str
    term: int
    arm: int
    voter: str


@dataclass(frozen=True, slots=True)
class Reset:
    """``voter`` opens ``term``: votes of lower terms no longer count.

    Paper: section 4, DSER4.
    Differs from print: the paper leaves open how others learn of a reset (erratum 14).
    """

    experiment: str
    term: int
    voter: str


Message: TypeAlias = Vote | Reset

KINDS: dict[str, tuple[int, type[Vote] | type[Reset]]] = {"vote": (1, Vote), "reset": (2, Reset)}
_NAMES: dict[type, str] = {kind: name for name, (_, kind) in KINDS.items()}
_CODES = {code: name for name, (code, _) in KINDS.items()}


def to_bytes(message: Message) -> bytes:
    """The compact form of a message.

    >>> from_bytes(to_bytes(Vote("banner", 0, 4, "n3")), n_arms=10)
    Vote(experiment='banner', term=0, arm=4, voter='n3')
    """
    code, _ = KINDS[_NAMES[type(message)]]
    body = _HEAD.pack(VERSION, code, message.term)
    if isinstance(message, Vote):
        body += _ARM.pack(message.arm)
    for text in (message.experiment, message.voter):
        encoded = text.encode("ascii")
        body += bytes([len(encoded)]) + encoded
    return body


def from_bytes(data: bytes, n_arms: int) -> Message:
    """Decode the compact form, refusing anything that is not exactly one message."""
    if len(data) < _HEAD.size:
        raise RemoteProtocolError(
            f"A message of {len(data)} bytes is shorter than its head of {_HEAD.size}.\n"
            "Discard it; the peer will send it again."
        )
    version, code, term = _HEAD.unpack_from(data)
    fields: dict[str, Any] = {"v": version, "type": _CODES.get(code, f"kind {code}"), "term": term}
    _check_head(fields)
    rest = data[_HEAD.size :]
    if code == 1:
        if len(rest) < _ARM.size:
            raise RemoteProtocolError("A vote ends before its arm.\nDiscard it.")
        (fields["arm"],) = _ARM.unpack_from(rest)
        rest = rest[_ARM.size :]
    for name in ("experiment", "voter"):
        length = rest[0] if rest else 0
        text = rest[1 : 1 + length]
        if not rest or len(text) != length:
            raise RemoteProtocolError(f"A message ends within its {name}.\nDiscard it.")
        fields[name] = text.decode("ascii", errors="replace")
        rest = rest[1 + length :]
    if rest:
        raise RemoteProtocolError(f"{len(rest)} bytes follow a whole message.\nDiscard it.")
    return from_dict(fields, n_arms)


def to_dict(message: Message) -> dict[str, Any]:
    """The JSON form of a message, as a dictionary."""
    fields: dict[str, Any] = {
        "v": VERSION,
        "type": _NAMES[type(message)],
        "experiment": message.experiment,
        "term": message.term,
        "voter": message.voter,
    }
    if isinstance(message, Vote):
        fields["arm"] = message.arm
    return fields


def from_dict(fields: object, n_arms: int) -> Message:
    """Decode the JSON form, refusing unknown versions, kinds, fields and values."""
    if not isinstance(fields, dict):
        raise RemoteProtocolError("A message must be a JSON object.\nDiscard it.")
    name = _check_head(fields)
    expected = {"v", "type", "experiment", "term", "voter"} | ({"arm"} if name == "vote" else set())
    if set(fields) != expected:
        odd = ", ".join(sorted(map(str, set(fields) ^ expected)))
        raise RemoteProtocolError(
            f"A {name} has exactly the fields {', '.join(sorted(expected))}; "
            f"wrong or missing: {odd}.\nDiscard it."
        )
    term = _whole("term", fields["term"], MAX_TERM)
    for text in ("experiment", "voter"):
        if not is_identifier(fields[text]):
            raise RemoteProtocolError(
                f"A message's {text} must be 1 to 64 of A-Z a-z 0-9 _ . : -\nDiscard it."
            )
    if name == "reset":
        if term == 0:
            raise RemoteProtocolError("A reset opens term 1 or later, not 0.\nDiscard it.")
        return Reset(fields["experiment"], term, fields["voter"])
    arm = _whole("arm", fields["arm"], n_arms - 1)
    return Vote(fields["experiment"], term, arm, fields["voter"])


def _check_head(fields: dict[str, Any]) -> str:
    version, name = fields.get("v"), fields.get("type")
    if not is_whole(version, VERSION, VERSION):
        raise RemoteProtocolError(
            f"Message version {version!r} is not {VERSION}.\nUpgrade the older of the two ends."
        )
    if not isinstance(name, str) or name not in KINDS:
        raise RemoteProtocolError(
            f"Message type {name!r} is not one of: {', '.join(KINDS)}.\nDiscard it."
        )
    return name


def _whole(name: str, value: Any, most: int) -> int:
    if not is_whole(value, 0, most):
        raise RemoteProtocolError(
            f"{name}={value!r} must be a whole number from 0 to {most}.\nDiscard the message."
        )
    return int(value)


def to_json(message: Message) -> str:
    """The JSON form of a message, as text."""
    return json.dumps(to_dict(message), separators=(",", ":"), sort_keys=True)


def from_json(text: str | bytes, n_arms: int) -> Message:
    """Decode the JSON text of one message."""
    try:
        fields = json.loads(text, object_pairs_hook=_no_duplicates)
    except (ValueError, RecursionError):
        raise RemoteProtocolError("A message is not valid JSON.\nDiscard it.") from None
    return from_dict(fields, n_arms)


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError
    return fields
