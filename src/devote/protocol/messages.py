"""The codec of messages, which are the only things that ever leave a device, byte by byte.

A message is a frozen dataclass that a scheme defines: who sends it (``voter``), in which
``experiment``, and a few whole numbers. A scheme declares each kind with ``@message``; this module
writes and reads them all. Both forms are strict: what does not decode exactly is a peer's error.

JSON form: ``v``, ``type`` and the fields. What a voter signs is made of the same fields, and of
where the message is good (``Scope``). ``docs/wire.md`` specifies the same for other languages, and
``tests/vectors`` holds examples of all of it, which a second implementation passes too.
"""

import hashlib
import json
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol, TypeVar

from devote.protocol.errors import RemoteProtocolError, SpecError

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


MAX_ARMS = 2**16
IDENTIFIER = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
TEXTS = ("experiment", "voter")
RESERVED = (
    "enrolment", "join", "log", "snapshot", "certificate", "revocation", "address", "peer",
    "gossip",
)  # fmt: skip
"""What else is signed or hashed in the way of messages."""


class Message(Protocol):
    """What every kind of message has."""

    @property
    def experiment(self) -> str:
        """The experiment's name."""
        ...

    @property
    def voter(self) -> str:
        """Who sends it."""
        ...


@dataclass(frozen=True, slots=True)
class Number:
    """A whole number in a message, by its range; without ``most``, an arm's index."""

    least: int = 0
    most: int | None = None


ARM = Number()


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of message: its name, its form, its numbers and the names of all its fields.

    ``question`` has the numbers that identify what a message is about. Of a voter's messages of one
    kind about one question a board needs to take only one.
    """

    name: str
    form: type
    numbers: dict[str, Number]
    question: tuple[str, ...]
    names: tuple[str, ...]


_ENCODER = json.JSONEncoder(separators=(",", ":"), sort_keys=True)  # to make one takes longer

KINDS: dict[str, Kind] = {}
_BY_FORM: dict[type, Kind] = {}

M = TypeVar("M")


def message(
    name: str, question: tuple[str, ...] | None = None, **numbers: Number
) -> Callable[[type[M]], type[M]]:
    """Declare a frozen dataclass as a kind of message with these numbers among its fields.

    ``question`` names those that identify what it is about, all of them if it is left out. A
    name is given once and for all: one that was ever in use is not used again for another kind.
    """

    def declare(form: type[M]) -> type[M]:
        names = tuple(item.name for item in fields(form))  # type: ignore[arg-type]
        assert set(names) == {*TEXTS, *numbers}, (
            f"{form.__name__} has other fields than it declares"
        )
        assert is_identifier(name), f"{name!r} cannot name a kind"
        assert name not in RESERVED, f"{name!r} names something else"
        about = tuple(sorted(numbers)) if question is None else question
        assert numbers.keys() >= set(about), f"{name!r} has a question about numbers that it lacks"
        KINDS[name] = _BY_FORM[form] = Kind(name, form, numbers, about, names)
        return form

    return declare


def kind_of(item: object) -> Kind:
    """The kind of a message; RemoteProtocolError for anything else."""
    try:
        return _BY_FORM[type(item)]
    except KeyError:
        raise RemoteProtocolError(
            f"{type(item).__name__} is not a message.\nDecode it with from_json."
        ) from None


def is_identifier(text: object) -> bool:
    """Whether a text can name an experiment or a voter: 1 to 64 of ``A-Z a-z 0-9 _ . : -``."""
    return isinstance(text, str) and IDENTIFIER.fullmatch(text) is not None


def to_bytes(item: Message, scope: Scope) -> bytes:
    """What the voter of a message signs for it to be good in a scope."""
    kind = kind_of(item)
    values = {name: getattr(item, name) for name in kind.names}
    return signed_bytes(kind.name, values, scope)


def to_dict(item: Message) -> dict[str, Any]:
    """The JSON form of a message, as a dictionary."""
    kind = kind_of(item)
    values = {name: getattr(item, name) for name in kind.names}
    return {"v": VERSION, "type": kind.name, **values}


def from_dict(values: object, n_arms: int) -> Message:
    """Decode the JSON form, refusing unknown versions, kinds, fields and values."""
    if not isinstance(values, dict):
        raise RemoteProtocolError("A message must be a JSON object.\nDiscard it.")
    version, name = values.get("v"), values.get("type")
    if type(version) is not int or version != VERSION:
        raise RemoteProtocolError(
            f"Message version {version!r} is not {VERSION}.\nUpgrade the older of the two ends."
        )
    if not isinstance(name, str) or name not in KINDS:
        raise RemoteProtocolError(
            f"Message type {name!r} is not one of: {', '.join(KINDS)}.\nDiscard it."
        )
    kind = KINDS[name]
    expected = ("v", "type", *TEXTS, *kind.numbers)
    if len(values) != len(expected) or not all(map(values.__contains__, expected)):
        odd = ", ".join(sorted(map(str, set(values) ^ set(expected))))
        raise RemoteProtocolError(
            f"A {kind.name} has exactly the fields {', '.join(sorted(expected))}; "
            f"wrong or missing: {odd}.\nDiscard it."
        )
    item: Message = kind.form(**{name: values[name] for name in expected[2:]})
    check_fields(item, n_arms)
    return item


def check_fields(item: Message, n_arms: int) -> None:
    """Refuse anything that is not a message, a malformed name, and a number out of range."""
    kind = kind_of(item)
    for text in TEXTS:
        if not is_identifier(getattr(item, text)):
            raise RemoteProtocolError(
                f"A message's {text} must be 1 to 64 of A-Z a-z 0-9 _ . : -\nDiscard it."
            )
    for name, number in kind.numbers.items():
        value = getattr(item, name)
        most = n_arms - 1 if number.most is None else number.most
        if type(value) is not int or not number.least <= value <= most:
            raise RemoteProtocolError(
                f"{name}={value!r} must be a whole number from {number.least} to {most}.\n"
                "Discard the message."
            )


def to_json(item: Message) -> str:
    """The JSON form of a message, as text."""
    return _ENCODER.encode(to_dict(item))


def from_json(text: str | bytes, n_arms: int) -> Message:
    """Decode the JSON text of one message."""
    try:
        values = parse_json(text)
    except ValueError:
        raise RemoteProtocolError("A message is not valid JSON.\nDiscard it.") from None
    return from_dict(values, n_arms)


def parse_json(text: str | bytes, constant: Callable[[str], Any] | None = None) -> Any:
    """Decode a JSON text; ValueError if it is not JSON, or has a field twice or half a character.

    ``constant`` converts NaN and Infinity.
    """
    try:
        plain = text.decode() if isinstance(text, bytes) else text
        value = json.loads(plain, object_pairs_hook=_no_duplicates, parse_constant=constant)
        if "\\u" in plain:  # a lone surrogate can be neither stored nor signed nor sent
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except RecursionError:
        raise ValueError("nested too deep") from None


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError("a field twice")
    return values


OPERATOR = "operator"
"""The voter of what an operator enters in a log; no key is spelt like this."""


@message("withdrawal", arm=ARM)
@dataclass(frozen=True, slots=True)
class Withdrawal:
    """The operator withdraws ``arm``: from here on nobody is asked about it, and it cannot win.

    It is entered in the log where it is decided, in one order with all messages. In the place of a
    signature it has ``entry``: whoever runs a server can enter one, and everybody sees it.
    """

    experiment: str
    arm: int
    voter: str = OPERATOR


def entry(item: Message, scope: Scope) -> str:
    """What stands in the place of a signature where the operator enters a message."""
    return hashlib.sha256(to_bytes(item, scope)).hexdigest()
