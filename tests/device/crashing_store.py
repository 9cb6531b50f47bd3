"""A store whose process dies at a chosen commit, and whose disk forgets what was not synced.

It also keeps the log of every step that was committed, as the witness against which the device
is checked: what a device may remember is exactly what its log says.
"""

import random
import sqlite3
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from tests.device.reopened import ReopenedDatabase, content_of, empty

from devote.device.steps import Change, Record
from devote.device.store import Store
from devote.protocol import ExperimentSpec, Player


class Crash(BaseException):
    """The process dies here."""


class Disk:
    """What is left of a device when its process or its power goes.

    ``states`` are the file after each commit since the last synced one, each with the length
    the log had; a kill keeps the last, a power cut keeps any of them. Once ``healed``, neither
    will happen any more, and the log alone is kept.
    """

    def __init__(self) -> None:
        self.log: list[tuple[Any, ...]] = []
        self.states: list[tuple[bytes, int]] = []
        self.healed = False

    def committed(self, content: bytes, durable: bool, entry: Any) -> None:
        if entry is not None:
            self.log.append(entry)
        if self.healed:
            return
        if durable:
            self.states.clear()
        self.states.append((content, len(self.log)))

    def lose_power(self, rng: random.Random) -> None:
        keep = rng.randrange(len(self.states))
        del self.states[keep + 1 :]
        del self.log[self.states[keep][1] :]
        # What was found on the disk at boot is on the disk.
        del self.states[:keep]


class CrashingDatabase(ReopenedDatabase):
    """A database in memory over a ``Disk``; ``crash_at`` is before, after or None."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        super().__init__(disk.states[-1][0] if disk.states else empty())
        self.entry: Any = None
        self.crash_at: str | None = None

    def write(self, *, durable: bool = True) -> "CrashingTransaction":
        return CrashingTransaction(self, super().write(durable=durable), durable)

    def write_one(self, statement: str, values: Sequence[object]) -> None:
        entry, self.entry = self.entry, None
        crash_at, self.crash_at = self.crash_at, None
        if crash_at == "before":
            raise Crash
        super().write_one(statement, values)
        self.disk.committed(content_of(self), False, entry)
        if crash_at == "after":
            raise Crash


class CrashingTransaction:
    """A transaction after which, or at the end of which, the process may die."""

    def __init__(
        self,
        database: CrashingDatabase,
        within: AbstractContextManager[sqlite3.Connection],
        durable: bool,
    ) -> None:
        self.database = database
        self.within = within
        self.durable = durable

    def __enter__(self) -> sqlite3.Connection:
        database = self.database
        self.entry, database.entry = database.entry, None
        self.crash_at, database.crash_at = database.crash_at, None
        return self.within.__enter__()

    def __exit__(self, kind: Any, failure: Any, trace: Any) -> None:
        if failure is None and self.crash_at == "before":
            kind, failure = Crash, Crash()
        self.within.__exit__(kind, failure, trace)
        if failure is not None:
            raise failure
        self.database.disk.committed(content_of(self.database), self.durable, self.entry)
        if self.crash_at == "after":
            raise Crash


class CrashingStore(Store):
    """A store over a ``CrashingDatabase``; ``doing`` is what the test is about to do."""

    database: CrashingDatabase

    def __init__(self, disk: Disk) -> None:
        super().__init__(CrashingDatabase(disk))
        self.doing: tuple[Any, ...] = ()

    def crash_at(self, when: str | None) -> None:
        self.database.crash_at = when

    def save(self, record: Record, change: Change) -> None:
        self.database.entry = self._entry(record, change)
        super().save(record, change)

    def _entry(self, record: Record, change: Change) -> tuple[Any, ...] | None:
        """What has happened, by what is new in the record."""
        now = (record.plays, record.player.activations, record.bookmark)
        (plays, activations, bookmark), self.known = self.known, now
        sent = tuple(entry.envelope.message for entry in change.outbox)
        if change.rewind is not None:
            return ("rewind", ())
        if record.bookmark != bookmark:
            messages = tuple(posted.envelope.message for posted in change.read)
            return ("read", messages, record.bookmark.complete)
        if record.plays != plays:
            verb, value, expired = self.doing
            if record.pending_at is not None:
                return ("activate", value, sent)
            return (*(("reward", value) if verb == "reward" else expired), sent)
        if record.player.activations != activations:
            return ("wake", self.doing[1][1], sent)
        return None

    def load(self) -> Record:
        record = super().load()
        self.known = (record.plays, record.player.activations, record.bookmark)
        return record


def replay(log: list[tuple[Any, ...]], spec: ExperimentSpec, voter: str) -> Player:
    """The player that a log describes: each entry once, in order, and nothing else."""
    player = spec.scheme.player(spec, voter)
    uncounted: list[Any] = []
    sent: list[Any] = []
    for kind, *rest in log:
        if kind == "read":
            uncounted += rest[0]
            if rest[1]:
                for message in uncounted:
                    player.receive(message)
                uncounted = []
            continue
        if kind == "rewind":
            if spec.scheme.about.needs_order:
                uncounted = []
                player.tally = spec.scheme.tally(spec)
            continue
        if kind == "activate":
            player.activate(*rest[0])
        elif kind == "wake":
            player.wake(rest[0])
        elif kind == "abandon":
            player.abandon()
        fresh = player.reward(rest[0]) if kind == "reward" else player.outgoing()
        if fresh or rest[-1]:
            assert tuple(message for message in fresh if message not in sent) == rest[-1]
            sent += rest[-1]
    return player


def produced(log: list[tuple[Any, ...]]) -> list[Any]:
    """Every message the device has put into its outbox."""
    return [message for entry in log if entry[0] != "read" for message in entry[-1]]
