"""A log of messages, what was told of it, what is remembered of it, and its head.

The head is a chain of digests over the log. Two readers who compare one head have read the same
messages in the same order. No server tells it: a reader works it out, and a device that was told
one could be known again by it.
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from devote.boards.board import Envelope
from devote.boards.experiment import Experiment
from devote.protocol import Message
from devote.protocol.messages import to_bytes
from devote.protocol.wire import Scope, signed_bytes

Form: TypeAlias = Literal["tally", "page", "head"]

SHOWN = ("heading", "needed", "facts", "progress", "notes")
"""What the page shows as the tally gives it; estimates it shows in thousandths."""


@dataclass(frozen=True)
class Told:
    """What somebody was told of the messages up to ``number``.

    ``form`` says how ``values`` are to be read: as the public tally, as what the page shows, or
    as the head. ``source`` is who told it, for the report. ``partial``: a value that is
    not among them was not told, or not kept.
    """

    form: Form
    number: int
    values: Mapping[str, Any]
    source: str = "the server"
    partial: bool = False


@dataclass(frozen=True)
class Remembered:
    """What somebody knows to have been on the board: messages, with their numbers where known.

    ``voters`` are known to have been enrolled, ``scope`` is the board and the specification that
    they know, and ``told`` is what the server once told.
    """

    source: str
    scope: Scope
    messages: Iterable[tuple[int | None, Message]]
    voters: Iterable[str] = ()
    told: Iterable[Told] = ()


class Log(Protocol):
    """Where a log is read from: a server, or a file.

    ``voters`` are those that are listed as enrolled, ``number`` how many messages there are.
    """

    @property
    def experiment(self) -> Experiment:
        """The experiment."""
        ...

    @property
    def voters(self) -> Collection[str]:
        """All voters who are enrolled."""
        ...

    @property
    def told(self) -> Collection[Told]:
        """What was told before the messages were read."""
        ...

    @property
    def number(self) -> int:
        """About how many messages there are."""
        ...

    def items(self) -> Iterator[Any]:
        """The messages as JSON values, in order."""
        ...

    def told_last(self) -> Collection[Told]:
        """What was told after the messages."""
        ...


def begin_chain(scope: Scope) -> bytes:
    """The head of an empty log."""
    return hashlib.sha256(signed_bytes("log", {}, scope)).digest()


def extend_chain(head: bytes, envelope: Envelope, scope: Scope) -> bytes:
    """The head after one more message: over the head before, what is signed, and the signature."""
    signature = envelope.signature.encode(errors="replace")
    return hashlib.sha256(head + to_bytes(envelope.message, scope) + b" " + signature).digest()
