"""What a verification checks, what it has found, and what it cannot tell."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from devote.boards.experiment import Experiment
from devote.protocol.scheme import Status

CHECKS = {
    "numbers": "messages, numbered from 1, none missing",
    "form": "messages that can be read",
    "signatures": "messages signed by their voters, exactly as they are",
    "doubles": "messages posted once",
    "enrolment": "voters who are enrolled",
    "rules": "messages that the scheme allows in this order",
    "count": "accounts of the messages that follow from them",
    "memory": "messages remembered elsewhere that are there",
}
"""Each check, and what it counts, where all is well."""

LISTED = 20
"""So many findings of each check are kept; the others are only counted."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong, by which check, and at which number of the log."""

    check: str
    number: int | None
    text: str


class Findings:
    """How often each check was made, and what was wrong."""

    def __init__(self) -> None:
        self.checked: Counter[str] = Counter()
        self.wrong: Counter[str] = Counter()
        self._kept: list[Finding] = []

    def add(self, check: str, number: int | None, text: str) -> None:
        """Note what is wrong."""
        self.wrong[check] += 1
        if self.wrong[check] <= LISTED:
            self._kept.append(Finding(check, number, text))

    def kept(self) -> tuple[Finding, ...]:
        """What was found, in the order of the checks."""
        order = list(CHECKS)
        return tuple(sorted(self._kept, key=lambda found: order.index(found.check)))


@dataclass(frozen=True)
class Report:
    """What a verification has found; ``ok`` if nothing is wrong.

    ``messages`` were read, the last with ``number``, up to which the ``head`` reaches; it is None
    if a message could not be read. ``checked`` and ``wrong`` count by check.
    ``status`` and ``answer`` are what the good messages come to. ``unchecked`` are sentences on
    what this verification cannot tell.
    """

    experiment: Experiment
    messages: int
    number: int
    voters: int
    enrolled: int
    head: str | None
    status: Status
    answer: tuple[int, ...]
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
    ]
    if not remembered:
        rows.insert(
            0,
            "Whether messages were left out or put in another order, and numbered anew: give "
            "--store, a device's own memory, or --against, an earlier copy of the log.",
        )
    return tuple(rows)
