"""A store whose process dies when told, and whose disk forgets what was not synced.

It also keeps the log of every step that was committed, as the witness against which the device
is checked: what a device may remember is exactly what its log says.
"""

import random
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from devote.fleet.bookmark import Bookmark
from devote.fleet.store import Store
from devote.protocol import Ballot, ExperimentSpec, Player, Seat


class Crash(BaseException):
    """The process dies here."""


class Disk:
    """What is left of a device when its process or its power goes.

    ``states`` are the file after each commit since the last synced one, each with the length
    the log had; a kill keeps the last, a power cut keeps any of them.
    """

    def __init__(self) -> None:
        self.log: list[tuple[Any, ...]] = []
        self.states: list[tuple[bytes, int]] = []

    def committed(self, connection: sqlite3.Connection, durable: bool, entry: Any) -> None:
        if entry is not None:
            self.log.append(entry)
        if durable:
            self.states.clear()
        self.states.append((connection.serialize(), len(self.log)))

    def lose_power(self, rng: random.Random) -> None:
        keep = rng.randrange(len(self.states))
        del self.states[keep + 1 :]
        del self.log[self.states[keep][1] :]
        # What was found on the disk at boot is on the disk.
        del self.states[:keep]


class CrashingStore(Store):
    """A store in memory over a ``Disk``; ``crash_at`` is before, after or None."""

    def __init__(self, disk: Disk) -> None:
        connection = sqlite3.connect(":memory:", isolation_level=None)
        if disk.states:
            connection.deserialize(disk.states[-1][0])
        super().__init__(connection, ":memory:")
        self.disk = disk
        self.doing: tuple[Any, ...] = ()
        self.crash_at: str | None = None
        self._entry: Any = None

    def save_step(self, player: Any, pending_at: float | None, plays: Any, votes: Any = ()) -> None:
        verb, value, expired = self.doing
        if pending_at is not None:
            self._entry = ("activate", value)
        else:
            self._entry = ("reward", value) if verb == "reward" else expired
        self._entry += (tuple(envelope.message for envelope in votes),)
        super().save_step(player, pending_at, plays, votes)

    def save_heard(self, heard: Any, bookmark: Bookmark) -> None:
        self._entry = ("heard", tuple(e.message for e in heard), bookmark.complete)
        super().save_heard(heard, bookmark)

    def rewind(self) -> None:
        self._entry = ("rewind", ())
        super().rewind()

    @contextmanager
    def transaction(self, *, durable: bool = False) -> Iterator[sqlite3.Connection]:
        entry, self._entry = self._entry, None
        crash_at, self.crash_at = self.crash_at, None
        with super().transaction(durable=durable) as connection:
            yield connection
            if crash_at == "before":
                raise Crash
        self.disk.committed(self._connection, durable, entry)
        if crash_at == "after":
            raise Crash


def replay(log: list[tuple[Any, ...]], spec: ExperimentSpec, voter: str) -> Player:
    """The player that a log describes: each entry once, in order, and nothing else."""
    player = Player(spec, voter)
    untold: list[Any] = []
    for kind, *rest in log:
        if kind == "activate":
            player.activate(rest[0])
        elif kind == "reward":
            sent = player.reward(rest[0])
            # A claim that still lies in the outbox is not put there again.
            assert tuple(m for m in sent if m in rest[1] or not isinstance(m, Seat)) == rest[1]
        elif kind == "abandon":
            player.abandon()
        elif kind == "rewind":
            untold = [message for message in untold if not isinstance(message, Seat)]
            player.ballot = Ballot.from_dict({**player.ballot.to_dict(), "claims": []})
        else:
            untold += rest[0]
            if rest[1]:
                for message in untold:
                    player.receive(message)
                untold = []
    return player


def produced(log: list[tuple[Any, ...]]) -> list[Any]:
    """Every message the device has put into its outbox."""
    return [message for entry in log if entry[0] != "heard" for message in entry[-1]]
