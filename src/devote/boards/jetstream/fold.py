"""What the log of one experiment comes to, taken in entry by entry. Nothing here waits.

The order of the log is the order of the board, and it is fixed by the log alone: two servers may
post at the same moment, and neither knows before which of the two came first. So what depends on
the order (is there still a seat, a place for one more player, does the survey still ask?) is
decided here, when an entry is taken in, and not when it is posted. Every server takes in the same
entries in the same order, so all decide alike. An entry that is refused here stays in the log and
has no number on the board.

An entry's subject says what it is:

    e.<voter>                            the voter is enrolled
    m.<voter>.<kind>[.<number>...]       a message; the numbers are those of its question
    r.<voter>                            the operator has revoked the voter
    b.<any>                              nothing: by it a server sees that it has read all

The stream takes one entry for each subject, so a second vote is refused before it is an entry.
So nothing is refused here because of a revocation: whoever posts looks for one first.
"""

import re
from bisect import bisect_right, insort
from collections.abc import Callable
from dataclasses import replace

from devote.boards.admission import NOT_ENROLLED, no_place
from devote.boards.board import Envelope
from devote.boards.experiment import Experiment, ExperimentState
from devote.boards.history import History
from devote.protocol import Message, from_json, to_json
from devote.protocol.messages import kind_of
from devote.protocol.scheme import Tally

ENROLMENT, MESSAGE, REVOCATION, BARRIER = "e", "m", "r", "b"

_PLAIN = re.compile("[^A-Za-z0-9_-]")


def token(text: str) -> str:
    """A text as one part of a subject.

    >>> token("a.b:c")
    'a=2eb=3ac'
    """
    return _PLAIN.sub(lambda found: f"={ord(found[0]):02x}", text)


def enrolment_subject(voter: str) -> str:
    """The subject under which a voter is enrolled."""
    return f"{ENROLMENT}.{voter}"


def revocation_subject(voter: str) -> str:
    """The subject under which a voter is revoked."""
    return f"{REVOCATION}.{voter}"


def message_subject(message: Message) -> str:
    """The subject of a message: its voter and what it is about."""
    kind = kind_of(message)
    numbers = (str(getattr(message, name)) for name in kind.question)
    return ".".join((MESSAGE, message.voter, token(kind.name), *numbers))


def entry(envelope: Envelope) -> bytes:
    """The content of a message's entry: its one JSON spelling, a line's end, its signature."""
    return f"{to_json(envelope.message)}\n{envelope.signature}".encode()


class Fold:
    """The board of one experiment as its log tells it: the ledger that admission asks.

    ``enrolled`` are the voters, in order of their keys, who may post unless they are ``revoked``.
    ``refused`` has the subjects of entries that were refused, with the reasons. ``standing`` is
    what the catalogue says of the experiment.
    """

    def __init__(
        self,
        experiment: Experiment,
        standing: Callable[[], tuple[ExperimentState, float]] = lambda: (ExperimentState(), 0.0),
    ) -> None:
        self._experiment = experiment
        self.standing = standing
        self.history = History(experiment.spec)
        self.enrolled: list[str] = []
        self.refused: dict[str, str] = {}
        self._members: set[str] = set()
        self.revoked: set[str] = set()
        self._entries: list[bytes] = []
        self._numbers: dict[str, int] = {}
        self._said: dict[str, list[int]] = {}

    @property
    def experiment(self) -> Experiment:
        """The experiment, with how many are enrolled."""
        if self._experiment.enrolled != len(self.enrolled):
            self._experiment = replace(self._experiment, enrolled=len(self.enrolled))
        return self._experiment

    @property
    def tally(self) -> Tally:
        """The tally of the messages."""
        return self.history.tally

    @property
    def number(self) -> int:
        """The number of the last message on the board."""
        return len(self._entries)

    def is_enrolled(self, voter: str) -> bool:
        """Whether a voter may post."""
        return voter in self._members

    def is_revoked(self, voter: str) -> bool:
        """Whether the operator has revoked a voter."""
        return voter in self.revoked

    def number_of(self, message: Message) -> int | None:
        """The number of a message that is on the board, or None."""
        number = self._numbers.get(message_subject(message))
        if number is None or self._row(number)[1] != to_json(message):
            return None
        return number

    def is_taken(self, subject: str) -> bool:
        """Whether the log has an entry under a subject."""
        what, _, rest = subject.partition(".")
        if what == REVOCATION:
            return rest in self.revoked
        there = rest in self._members if what == ENROLMENT else subject in self._numbers
        return there or subject in self.refused

    def count_of(self, voter: str) -> int:
        """How many messages of a voter are on the board."""
        return len(self._said.get(voter, ()))

    def said(self, voter: str) -> list[tuple[int, str, str]]:
        """Number, JSON text and signature of a voter's messages."""
        return [self._row(number) for number in self._said.get(voter, ())]

    def rows(self, after: int, limit: int | None = None) -> list[tuple[int, str, str]]:
        """Number, JSON text and signature of the messages above a number."""
        last = self.number if limit is None else min(self.number, after + limit)
        return [self._row(number) for number in range(max(after, 0) + 1, last + 1)]

    def voters(self, after: str, limit: int | None) -> list[str]:
        """The enrolled voters above a key."""
        first = bisect_right(self.enrolled, after)
        return self.enrolled[first : None if limit is None else first + limit]

    def take(self, subject: str, content: bytes) -> None:
        """Take in the next entry of the log."""
        what, _, rest = subject.partition(".")
        if what == ENROLMENT:
            self._enrol(subject, rest)
        elif what == MESSAGE:
            self._post(subject, content)
        elif what == REVOCATION:
            self.revoked.add(rest)

    def _enrol(self, subject: str, voter: str) -> None:
        if receipt := no_place(self._bounded()):
            self.refused[subject] = receipt.reason
        else:
            self._members.add(voter)
            insort(self.enrolled, voter)

    def _bounded(self) -> Experiment:
        """The experiment, counted only if that matters: a log may have millions of enrolments."""
        return self._experiment if self._experiment.players is None else self.experiment

    def _post(self, subject: str, content: bytes) -> None:
        text, _, signature = content.decode().partition("\n")
        message = from_json(text, self._experiment.spec.n_arms)
        if message.voter not in self._members:
            self.refused[subject] = NOT_ENROLLED.reason
            return
        if reason := self.tally.refusal(message):
            self.refused[subject] = reason
            return
        number = self.number + 1
        self.history.add(number, text, signature, message)
        self._entries.append(content)
        self._numbers[subject] = number
        self._said.setdefault(message.voter, []).append(number)

    def _row(self, number: int) -> tuple[int, str, str]:
        text, _, signature = self._entries[number - 1].decode().partition("\n")
        return number, text, signature
