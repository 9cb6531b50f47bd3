"""What a board is: a place where messages are posted once and read by all.

A board keeps the messages of one experiment in the order in which it accepted them and numbers
them 1, 2, 3, ... It knows nothing of arms played or rewards: it cannot, nobody tells it.

Three rules make devices simple. Posting is idempotent: an unknown outcome means "post again".
A stream says when its backlog ends, so that nobody decides on half of the votes. And order on
the board carries no meaning for the vote, only for reading on where one stopped.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeAlias

from devote.protocol import Message


class Outcome(StrEnum):
    """What became of a message that was posted."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    DENIED = "denied"


class BoardUnavailable(Exception):
    """The board could not be reached, or did not answer: post or read again later."""


class BoardRefused(Exception):
    """The board answers, but not as a board of this experiment does: trying again is useless."""


class SeatDenied(BoardRefused):
    """The board has answered that there is no seat for this voter, so that it surely has none."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """A message and its voter's signature over the message's byte form."""

    message: Message
    signature: str


@dataclass(frozen=True, slots=True)
class Posted:
    """An envelope as the board holds it, with its number."""

    number: int
    envelope: Envelope


@dataclass(frozen=True, slots=True)
class EndOfBacklog:
    """All that the board held when the stream began has been read, up to this number."""

    number: int


Event: TypeAlias = Posted | EndOfBacklog


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything on the board after a number, and the number to read on from.

    A ``number`` below the one asked for says that the board is an older one, from a backup:
    read it again from 0, and post again what it has lost.
    """

    number: int
    posted: tuple[Posted, ...]


class Board(Protocol):
    """Where the messages of one experiment are posted and read."""

    async def publish(self, envelope: Envelope) -> Outcome:
        """Post a message: accepted, there already, or denied; BoardUnavailable if unknown."""
        ...

    async def snapshot(self, after: int = 0) -> Snapshot:
        """All messages with a number above ``after``, as of now."""
        ...

    def stream(self, after: int = 0) -> AsyncIterator[Event]:
        """The messages above ``after``, one EndOfBacklog, then messages as they come."""
        ...
