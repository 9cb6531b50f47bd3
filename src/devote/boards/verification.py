"""Checks the whole log of an experiment message by message, and counts it again.

Anybody can do this: all that is read is public. A server cannot alter a message (its signature
breaks), count one twice, take one that the scheme's rules refuse, or publish a count that does not
follow from its log, without being found out here. It can leave messages out, or put them in
another order, and number them anew: that shows only to somebody who remembers, a device whose
message was accepted, or a reader who kept an earlier copy of the log, or its head.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from devote.boards.board import Envelope, Experiment
from devote.boards.identity import begin_chain, extend_chain, verify, verify_snapshot
from devote.boards.logs import (
    Finding,
    Form,
    Log,
    Remembered,
    SignedStatement,
    Statement,
)
from devote.boards.store import History
from devote.protocol import Bound, Message, ProtocolError, to_json
from devote.protocol.messages import OPERATOR, Withdrawal, digest, entry, from_dict
from devote.protocol.scheme import Status

Draw: TypeAlias = Callable[[Experiment, History], Mapping[str, Any]]
"""What the page shows of an experiment by its log."""

LONGEST_VALUE = 120
"""So many characters of a value of a statement are shown."""

CHECKS = {
    "numbers": "messages, numbered from 1, none missing",
    "form": "messages that can be read",
    "signatures": "messages signed by their voters, exactly as they are",
    "doubles": "messages posted once",
    "enrolment": "voters who are enrolled",
    "rules": "messages that the scheme allows in this order",
    "count": "statements on the messages that follow from them",
    "shown": "places that show the same, and are as new as the log",
    "memory": "messages remembered elsewhere that are there",
}
"""Each check, and what it counts, where all is well."""

LISTED = 20
"""So many findings of each check are kept; the others are only counted."""


@dataclass(frozen=True)
class Report:
    """What a verification has found; ``ok`` if nothing is wrong.

    ``messages`` were read, the last with ``number``, up to which the ``head`` reaches; it is None
    if a message could not be read. ``checked`` and ``wrong`` count by check.
    ``status`` and ``answer`` are what the good messages come to, and ``bounds`` how likely it is to
    be wrong; ``segments`` has the status and the leader of each segment, where there are any;
    ``withdrawn`` are the arms that the operator has withdrawn, ``mismatch`` is why nothing is
    proved, if the messages show that. ``unchecked`` are sentences on what this
    verification cannot tell.
    """

    experiment: Experiment
    messages: int
    number: int
    voters: int
    enrolled: int
    head: str | None
    status: Status
    answer: tuple[int, ...]
    segments: tuple[tuple[Status, int], ...]
    bounds: tuple[Bound, ...]
    withdrawn: tuple[int, ...]
    mismatch: str | None
    checked: Mapping[str, int]
    wrong: Mapping[str, int]
    findings: tuple[Finding, ...]
    unchecked: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings


def unchecked(enrolled: int, *, remembered: bool) -> tuple[str, ...]:
    """What a verification cannot tell, and what would."""
    rows = [
        "Whether each key is a device of its own: who runs the server can enrol keys. Compare "
        f"the {enrolled:,} enrolled keys with the devices you know of.",
        "Whether others are shown the same log: compare your head with theirs.",
        "Whether devices tell the truth.",
        "Whether messages are taken by the state that is shown, and whether the pace suits.",
        "What is streamed, and what a device is answered that joins or asks for its own messages: "
        "--store checks what one was shown.",
        "Whether the page's own files, which draw it, are devote's, and what it says of time: "
        "days, the rate, the time left and a warning of the end.",
        "Whether players and enrolment were others before: --against compares them.",
    ]
    if not remembered:
        rows.insert(
            0,
            "Whether messages were left out or put in another order, and numbered anew: give "
            "--store, a device's own memory, or --against, an earlier copy of the log.",
        )
    return tuple(rows)


def verify_log(
    log: Log,
    *,
    statements: Iterable[Statement] = (),
    remembered: Iterable[Remembered] = (),
    draws: Mapping[str, Draw] | None = None,
    progress: Callable[[int, int, str], None] = lambda done, total, label: None,
) -> Report:
    """Verify a log from its beginning to its end.

    ``draws`` are what makes the page and its entry in the list, without which neither is checked.
    """
    memories = list(remembered)
    earlier = [statement for memory in memories for statement in memory.statements]
    voters = log.voters  # which also sets how many the server says are enrolled
    found = [*log.statements, *statements, *earlier]
    verification = Verification(log.experiment, voters, found, draws or {})
    for place, item in enumerate(log.items(), start=1):
        verification.take(item)
        if place % 256 == 0:
            progress(place, log.number, "messages")
    verification.note(log.findings, log.compared)
    return verification.report(memories)


class Verification:
    """One pass over a log; ``take`` its messages in order, then ask for the ``report``.

    ``voters`` are those who are listed as enrolled, ``statements`` what is to follow from the log.
    """

    def __init__(
        self,
        experiment: Experiment,
        voters: Collection[str],
        statements: Iterable[Statement] = (),
        draws: Mapping[str, Draw] | None = None,
    ) -> None:
        self.experiment = experiment
        self.voters = voters
        self._checked: Counter[str] = Counter()
        self._wrong: Counter[str] = Counter()
        self._findings: list[Finding] = []
        self._history = History(experiment.spec, experiment.scope)
        self._tally = self._history.tally
        self._draws = {} if draws is None else draws
        self._head: bytes | None = begin_chain(experiment.scope)
        self._last = 0
        self._read = 0
        self._numbers: dict[bytes, int] = {}
        self._senders: set[str] = set()
        found = list(statements)
        signed = self._check_signed([one for one in found if isinstance(one, SignedStatement)])
        found = [one for one in found if not isinstance(one, SignedStatement)]
        self._to_compare = sorted([*found, *signed], key=lambda statement: statement.number)
        self._check_enrolled()

    def note(self, findings: Iterable[Finding], compared: int) -> None:
        """Add what was found wrong while the log was read, and how much was compared."""
        self._checked["shown"] += compared
        for finding in findings:
            self._find(finding.check, finding.number, finding.text)

    def _find(self, check: str, number: int | None, text: str) -> None:
        """Note what is wrong."""
        self._wrong[check] += 1
        if self._wrong[check] <= LISTED:
            self._findings.append(Finding(check, number, text))

    def take(self, item: Any) -> None:
        """Check the next message of the log, given as JSON values, and count it if it is good."""
        self._read += 1
        fields = item if isinstance(item, dict) else {}
        number, signature = fields.get("number"), fields.get("signature")
        if not isinstance(number, int) or isinstance(number, bool):
            self._head = None
            self._find("form", None, f"what follows message {self._last:,} has no number")
            return
        while self._to_compare and self._to_compare[0].number < number:
            self._compare(self._to_compare.pop(0))
        self._check_order(number)
        self._checked["form"] += 1
        try:
            if not isinstance(signature, str):
                raise ProtocolError("It has no signature.")
            message = from_dict(fields.get("message"), self.experiment.spec.n_arms)
        except ProtocolError as error:
            self._head = None
            self._find("form", number, _first_line(error))
            return
        envelope = Envelope(message, signature)
        if self._head is not None:
            self._head = extend_chain(self._head, envelope, self.experiment.scope)
        if self._is_good(number, envelope):
            self._history.add(number, to_json(message), signature, message)

    def report(self, remembered: Iterable[Remembered] = ()) -> Report:
        """What was found, once the whole log has been taken."""
        for statement in self._to_compare:
            self._compare(statement)
        memories = list(remembered)
        for memory in memories:
            self._compare_memory(memory)
        order, spec, players = list(CHECKS), self.experiment.spec, self.experiment.players
        return Report(
            experiment=self.experiment,
            messages=self._read,
            number=self._last,
            voters=len(self._senders),
            enrolled=len(self.voters),
            head=self._written_head(),
            status=self._tally.status(players),
            answer=self._tally.answer,
            segments=self._segments(),
            bounds=spec.scheme.guarantees(self._tally.case(players)).bounds,
            withdrawn=tuple(self._tally.withdrawn),
            mismatch=self._tally.mismatch,
            checked={check: self._checked[check] for check in CHECKS},
            wrong={check: self._wrong[check] for check in CHECKS},
            findings=tuple(sorted(self._findings, key=lambda found: order.index(found.check))),
            unchecked=unchecked(len(self.voters), remembered=bool(memories)),
        )

    def _segments(self) -> tuple[tuple[Status, int], ...]:
        rows = self._tally.public(self.experiment.players).get("segments", ())
        return tuple((row["status"], row["leader"]) for row in rows)

    def _check_enrolled(self) -> None:
        """As many are listed as the server says are enrolled, and no more than may take part."""
        listed, players = len(self.voters), self.experiment.players
        if listed < self.experiment.enrolled:
            claimed = f"{self.experiment.enrolled:,} voters are said to be enrolled"
            self._find("enrolment", None, f"{claimed}, but {listed:,} are listed")
        if players is not None and listed > players:
            most = f"at most {players:,} may be"
            self._find("enrolment", None, f"{listed:,} voters are enrolled, but {most}")

    def _check_signed(self, statements: list[SignedStatement]) -> list[SignedStatement]:
        """Those of these snapshots that servers have signed; a later one counts no less."""
        good: list[SignedStatement] = []
        last: SignedStatement | None = None
        for one in sorted(statements, key=lambda each: (each.signed.at, each.number)):
            if one.scope != self.experiment.scope or not verify_snapshot(
                one.signed, one.scope, self.experiment.signer
            ):
                fault = "is not signed with this experiment's key: it proves nothing"
                self._find("shown", None, f"a snapshot at {one.number:,} in {one.source} {fault}")
                continue
            self._checked["shown"] += 1
            if last is not None and one.number < last.number and one.signed.at > last.signed.at:
                older = f"{last.source} has one of {last.number:,} that was signed before it"
                newer = f"{one.source} has a snapshot of {one.number:,} messages"
                self._find("shown", None, f"{newer}, and {older}: its tally was frozen")
            good.append(one)
            last = one if last is None or one.number >= last.number else last
        return good

    def _check_order(self, number: int) -> None:
        expected = self._last + 1
        if number > expected + 1:
            missing = f"messages {expected:,} to {number - 1:,} are missing"
            self._find("numbers", expected, missing)
        elif number > expected:
            self._find("numbers", expected, "it is missing")
        elif number < expected:
            self._find("numbers", number, f"it comes after message {self._last:,}")
        self._checked["numbers"] += 1
        self._last = max(self._last, number)

    def _is_good(self, number: int, envelope: Envelope) -> bool:
        """Whether the board should have taken a message; if not, the first reason is noted."""
        message, checked = envelope.message, self._checked
        checked["signatures"] += 1
        # Of the operator only a withdrawal is: all else would be an answer that nobody has signed.
        is_entry = isinstance(message, Withdrawal) and message.voter == OPERATOR
        scope = self.experiment.scope
        is_entered = is_entry and envelope.signature == entry(message, scope)
        if not is_entered and not verify(envelope, scope):
            fault = "the signature is not its voter's over this message, board and specification"
            self._find("signatures", number, fault)
            return False
        checked["doubles"] += 1
        key = _key(message)
        if key in self._numbers:
            self._find("doubles", number, f"it is message {self._numbers[key]:,} again")
            return False
        self._numbers[key] = number
        if not is_entry:
            checked["enrolment"] += message.voter not in self._senders
            self._senders.add(message.voter)
            if message.voter not in self.voters:
                self._find("enrolment", number, f"its voter {_name(message)} is not enrolled")
                return False
        checked["rules"] += 1
        if reason := self._tally.refusal(message):
            fault = f"it should have been refused: {_first_line(reason)}"
            self._find("rules", number, fault)
            return False
        return True

    def _compare(self, statement: Statement) -> None:
        """Compare a statement with what the good messages so far come to."""
        if statement.form in ("page", "list") and statement.form not in self._draws:
            return
        self._checked["count"] += 1
        form, number, source = statement.form, statement.number, statement.source
        if number != self._last:
            fault = f"{source} refers to message {number:,}, the log has"
            self._find("count", None, f"{fault} {self._last:,} as the last up to there")
            return
        # As JSON: a scheme may give a tuple, which is a list on the other side.
        values, given = (json.loads(json.dumps(v)) for v in (self._values(form), statement.values))
        for name in sorted({*values, *given} - {"enrolled"}):
            value, shown = values.get(name), given.get(name)
            if shown != value and not (statement.partial and name not in given):
                what = name if name == form else f"{form}'s {name}"
                fault = f"{source} gives as {what} {_short(shown)} of {number:,} messages"
                self._find("count", None, f"{fault}, the log gives {_short(value)}")

    def _values(self, form: Form) -> dict[str, Any]:
        """What a statement should give of the messages so far."""
        tally, players = self._tally, self.experiment.players
        if form == "head":
            return {"head": self._written_head()}
        if form == "snapshot":
            return {"head": self._written_head(), "tally": digest(tally.public(players))}
        if form == "tally":
            return {**asdict(self.experiment.scope), **tally.public(players)}
        return {**self._draws[form](self.experiment, self._history), "number": self._last}

    def _written_head(self) -> str | None:
        return None if self._head is None else self._head.hex()

    def _compare_memory(self, memory: Remembered) -> None:
        """Note what a device's store or an earlier copy of the log holds and this log does not.

        A message must be there, at the number that is remembered, if one is.
        """
        source = memory.source
        if memory.scope != self.experiment.scope:
            what = "board" if memory.scope.board != self.experiment.board else "specification"
            fault = f"{source} has another {what} under this name"
            self._find("memory", None, fault)
            return
        for name, value in memory.facts.items():
            if value != self.experiment.facts[name]:
                given = f"the experiment has {self.experiment.facts[name]!r}"
                self._find("memory", None, f"{source} has as {name} {value!r}, {given}")
        moved: list[tuple[int, int]] = []
        for number, message in memory.messages:
            self._checked["memory"] += 1
            now = self._numbers.get(_key(message))
            if now is None:
                fault = f"{source} has a message of {_name(message)}, the log has not"
                self._find("memory", number, fault)
            elif number is not None and number != now:
                moved.append((number, now))
        if moved:
            was, now = moved[0]
            fault = f"in {source}; it is {now:,} now, and {len(moved) - 1:,} others moved too"
            self._find("memory", was, fault)
        for voter in memory.voters:
            if voter not in self.voters:
                fault = f"{source} has voter {voter[:12]}... as enrolled, the list has not"
                self._find("memory", None, fault)


def _key(message: Message) -> bytes:
    return hashlib.blake2b(to_json(message).encode(), digest_size=16).digest()


def _name(message: Message) -> str:
    return f"{message.voter[:12]}..."


def _first_line(reason: object) -> str:
    return str(reason).partition("\n")[0][:200]


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}..."
