"""The only things that ever leave a device.

A message says who (``voter``) and in which experiment; a vote says in which term and which arm
is not good enough, a reset which term it opens, a seat which place in the jury it claims. They
carry nothing else. Both wire forms are strict: what does not decode exactly is a peer's error.

Byte form, big endian: version (1), kind (1), the kind's numbers (term 4, arm 2, seat 2), then
experiment and voter, each as its length (1) and its characters.

Paper: Definition 2, ``lambda^n_k = 1``; a ``Reset`` is section 4's; a ``Seat`` is this project's.
"""

import json
import re
import struct
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

from devote.protocol.errors import RemoteProtocolError

VERSION = 1
MAX_TERM = 2**32 - 1
MAX_ARMS = 2**16
MAX_SEATS = 2**16 - 1
IDENTIFIER = re.compile(r"[A-Za-z0-9_.:-]{1,64}")

_HEAD = struct.Struct(">BB")
_NUMBERS = {"term": struct.Struct(">I"), "arm": struct.Struct(">H"), "seat": struct.Struct(">H")}
_TEXTS = ("experiment", "voter")


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


@dataclass(frozen=True, slots=True)
class Seat:
    """``voter`` claims place ``seat`` (1, 2, ...) in the jury; the lowest name has it in a tie."""

    experiment: str
    seat: int
    voter: str


Message: TypeAlias = Vote | Reset | Seat

KINDS: dict[str, tuple[int, type[Vote] | type[Reset] | type[Seat]]] = {
    "vote": (1, Vote),
    "reset": (2, Reset),
    "seat": (3, Seat),
}
_NAMES: dict[type, str] = {kind: name for name, (_, kind) in KINDS.items()}
_CODES = {code: name for name, (code, _) in KINDS.items()}
_FIELDS = {name: [item.name for item in fields(kind)] for name, (_, kind) in KINDS.items()}


def to_bytes(message: Message) -> bytes:
    """The compact form of a message.

    >>> from_bytes(to_bytes(Vote("banner", 0, 4, "n3")), n_arms=10)
    Vote(experiment='banner', term=0, arm=4, voter='n3')
    """
    name = _NAMES[type(message)]
    body = _HEAD.pack(VERSION, KINDS[name][0])
    for number in _FIELDS[name]:
        if number in _NUMBERS:
            body += _NUMBERS[number].pack(getattr(message, number))
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
    version, code = _HEAD.unpack_from(data)
    values: dict[str, Any] = {"v": version, "type": _CODES.get(code, f"kind {code}")}
    name = _check_head(values)
    rest = data[_HEAD.size :]
    for number in _FIELDS[name]:
        if number in _NUMBERS:
            form = _NUMBERS[number]
            if len(rest) < form.size:
                raise RemoteProtocolError(f"A {name} ends before its {number}.\nDiscard it.")
            (values[number],) = form.unpack_from(rest)
            rest = rest[form.size :]
    for text in _TEXTS:
        length = rest[0] if rest else 0
        encoded = rest[1 : 1 + length]
        if not rest or len(encoded) != length:
            raise RemoteProtocolError(f"A message ends within its {text}.\nDiscard it.")
        values[text] = encoded.decode("ascii", errors="replace")
        rest = rest[1 + length :]
    if rest:
        raise RemoteProtocolError(f"{len(rest)} bytes follow a whole message.\nDiscard it.")
    return from_dict(values, n_arms)


def to_dict(message: Message) -> dict[str, Any]:
    """The JSON form of a message, as a dictionary."""
    name = _NAMES[type(message)]
    return {
        "v": VERSION,
        "type": name,
        **{item: getattr(message, item) for item in _FIELDS[name]},
    }


def from_dict(values: object, n_arms: int) -> Message:
    """Decode the JSON form, refusing unknown versions, kinds, fields and values."""
    if not isinstance(values, dict):
        raise RemoteProtocolError("A message must be a JSON object.\nDiscard it.")
    name = _check_head(values)
    expected = {"v", "type", *_FIELDS[name]}
    if set(values) != expected:
        odd = ", ".join(sorted(map(str, set(values) ^ expected)))
        raise RemoteProtocolError(
            f"A {name} has exactly the fields {', '.join(sorted(expected))}; "
            f"wrong or missing: {odd}.\nDiscard it."
        )
    for text in _TEXTS:
        if not is_identifier(values[text]):
            raise RemoteProtocolError(
                f"A message's {text} must be 1 to 64 of A-Z a-z 0-9 _ . : -\nDiscard it."
            )
    message: Message = KINDS[name][1](**{item: values[item] for item in _FIELDS[name]})
    check_numbers(message, n_arms)
    return message


def check_numbers(message: Message, n_arms: int) -> None:
    """Refuse a term, an arm or a seat that is out of range."""
    ranges = {
        "term": (1 if isinstance(message, Reset) else 0, MAX_TERM),
        "arm": (0, n_arms - 1),
        "seat": (1, MAX_SEATS),
    }
    for number in _FIELDS[_NAMES[type(message)]]:
        if number in ranges:
            least, most = ranges[number]
            value = getattr(message, number)
            if not is_whole(value, least, most):
                raise RemoteProtocolError(
                    f"{number}={value!r} must be a whole number from {least} to {most}.\n"
                    "Discard the message."
                )


def _check_head(values: dict[str, Any]) -> str:
    version, name = values.get("v"), values.get("type")
    if not is_whole(version, VERSION, VERSION):
        raise RemoteProtocolError(
            f"Message version {version!r} is not {VERSION}.\nUpgrade the older of the two ends."
        )
    if not isinstance(name, str) or name not in KINDS:
        raise RemoteProtocolError(
            f"Message type {name!r} is not one of: {', '.join(KINDS)}.\nDiscard it."
        )
    return name


def to_json(message: Message) -> str:
    """The JSON form of a message, as text."""
    return json.dumps(to_dict(message), separators=(",", ":"), sort_keys=True)


def from_json(text: str | bytes, n_arms: int) -> Message:
    """Decode the JSON text of one message."""
    try:
        values = json.loads(text, object_pairs_hook=_no_duplicates)
    except (ValueError, RecursionError):
        raise RemoteProtocolError("A message is not valid JSON.\nDiscard it.") from None
    return from_dict(values, n_arms)


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError
    return values
