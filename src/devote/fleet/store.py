"""All that a device must not forget, in one SQLite file.

Every transition is one transaction, committed before anything is sent or returned, so a process
killed at any instant finds on restart either all of a step or none of it. A reward goes in
together with the player that has learned it and the votes that follow from it: no reward counts
twice and no vote is lost. Posting is idempotent, so a vote that is sent again has no effect.

A power cut is harsher than a kill. Steps that only this device knows of (a pull, a reward, what
was read) are committed without waiting for the disk (``synchronous=NORMAL`` in WAL mode: the
file stays whole, but the last such steps may be gone). A step that puts something into the
outbox waits (``FULL``), and with it all steps before it. So a power cut may cost at most the
last rewards, never a vote that was sent, nor the memory of having sent it.

The file is locked for as long as it is open (``locking_mode=EXCLUSIVE``), which the system
undoes when the process dies: two processes never share a store.

Votes read from the board have their own table, and the player's copy of them is left out of its
row, so that a step costs the same however many votes there are.
"""

import json
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from devote.boards.board import Envelope
from devote.fleet import schema
from devote.fleet.bookmark import Bookmark
from devote.fleet.errors import StoreError, StoreReadOnly
from devote.fleet.plays import Fate
from devote.protocol import ExperimentSpec, from_json, to_json

Delivery: TypeAlias = Literal["waiting", "sent", "denied"]


@dataclass(frozen=True, slots=True)
class Setup:
    """What is known of an experiment before the first pull."""

    address: str
    spec: ExperimentSpec
    players: int | None
    secret: bytes
    player: dict[str, Any]

    def __repr__(self) -> str:
        return f"Setup({self.address!r}, {self.spec.name!r})"


@dataclass(frozen=True, slots=True)
class Saved:
    """The device's row as it stands."""

    address: str
    spec: ExperimentSpec
    players: int | None
    secret: bytes
    seated: bool
    player: dict[str, Any]
    pending_at: float | None
    plays: dict[str, Fate]
    bookmark: Bookmark

    def __repr__(self) -> str:
        return f"Saved({self.address!r}, {self.spec.name!r})"


class Store:
    """One device's state on disk; ``open`` it, ``set_up`` it once, and close it."""

    def __init__(self, connection: sqlite3.Connection, path: str) -> None:
        self.path = path
        self._connection = connection
        self._lock = threading.RLock()
        self._n_arms = 0
        self._durable: bool | None = None

    @classmethod
    def open(cls, path: str | Path) -> "Store":
        """Open a store for this process alone, making an empty one if there is none."""
        name = str(path)
        _make_private(name)
        with schema.translated(name):
            connection = sqlite3.connect(
                name, isolation_level=None, check_same_thread=False, timeout=0.0
            )
        try:
            with schema.translated(name):
                connection.execute("PRAGMA locking_mode = EXCLUSIVE")
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("COMMIT")
                if not schema.is_empty(connection):
                    schema.check(connection, name)
        except BaseException:
            connection.close()
            raise
        return cls(connection, name)

    @property
    def is_set_up(self) -> bool:
        """Whether an experiment has been stored here."""
        with self._lock, schema.translated(self.path):
            return not schema.is_empty(self._connection)

    def set_up(self, setup: Setup) -> None:
        """Store a new device, before anybody is told of it."""
        with self.transaction(durable=True) as connection:
            schema.lay_out(connection)
            connection.execute(
                "INSERT INTO device (id, address, spec, fingerprint, players, secret, player)"
                " VALUES (1, ?, ?, ?, ?, ?, ?)",
                (
                    setup.address,
                    setup.spec.to_json(),
                    setup.spec.fingerprint,
                    setup.players,
                    setup.secret,
                    json.dumps(setup.player),
                ),
            )

    def load(self) -> Saved:
        """The device's row."""
        with self._lock, schema.translated(self.path):
            row = self._connection.execute(
                "SELECT address, spec, players, secret, seated, player, pending_at, cursor,"
                " anchor, complete, fingerprint, plays FROM device"
            ).fetchone()
        with _readable(self.path):
            spec = ExperimentSpec.from_json(row[1])
            if spec.fingerprint != row[10]:
                raise ValueError
            self._n_arms = spec.n_arms
            return Saved(
                address=row[0],
                spec=spec,
                players=row[2],
                secret=row[3],
                seated=bool(row[4]),
                player=json.loads(row[5]),
                pending_at=row[6],
                plays=json.loads(row[11]),
                bookmark=Bookmark(row[7], tuple(row[8].split()), bool(row[9])),
            )

    def save_seat(self, address: str, players: int | None) -> None:
        """Note that the board has given this device a seat, and where it is."""
        with self.transaction(durable=True) as connection:
            connection.execute(
                "UPDATE device SET seated = 1, address = ?, players = ?", (address, players)
            )

    def save_players(self, players: int | None) -> None:
        """Note how many may vote."""
        with self.transaction() as connection:
            connection.execute("UPDATE device SET players = ?", (players,))

    def save_step(
        self,
        player: dict[str, Any],
        pending_at: float | None,
        plays: dict[str, Fate],
        votes: Iterable[Envelope] = (),
    ) -> None:
        """Store the player and the plays after a step, and the votes it gave rise to, together."""
        outgoing = [(to_json(e.message), e.signature) for e in votes]
        with self.transaction(durable=bool(outgoing)) as connection:
            connection.execute(
                "UPDATE device SET player = ?, pending_at = ?, plays = ?",
                (json.dumps(player), pending_at, json.dumps(plays)),
            )
            connection.executemany(
                "INSERT INTO outbox (message, signature) VALUES (?, ?)", outgoing
            )

    def save_heard(self, heard: Iterable[Envelope], bookmark: Bookmark) -> None:
        """Store what was read of the board, and how far that was, together."""
        with self.transaction() as connection:
            connection.executemany(
                "INSERT OR IGNORE INTO heard (message, signature) VALUES (?, ?)",
                [(to_json(e.message), e.signature) for e in heard],
            )
            connection.execute(
                "UPDATE device SET cursor = ?, anchor = ?, complete = ?",
                (bookmark.number, " ".join(bookmark.anchor), bookmark.complete),
            )

    def rewind(self) -> None:
        """Read the board from its beginning again, and offer it all own messages again.

        That they were once read back from the board says nothing about the board there is now.
        Nor do seats in the jury, which another may have there: a vote is a vote, but a seat is
        its voter's only because the board says so.
        """
        with self.transaction() as connection:
            connection.execute(
                "DELETE FROM heard WHERE message IN (SELECT message FROM outbox)"
                " OR json_extract(message, '$.type') = 'seat'"
            )
            connection.execute("UPDATE device SET cursor = 0, anchor = ''")
            connection.execute("UPDATE outbox SET state = 'waiting'")

    def save_delivery(self, envelope: Envelope, state: Delivery) -> None:
        """Store what became of a message that was posted."""
        with self.transaction() as connection:
            connection.execute(
                "UPDATE outbox SET state = ? WHERE message = ?", (state, to_json(envelope.message))
            )

    def drop(self, envelope: Envelope) -> None:
        """Take a message out of the outbox for good."""
        with self.transaction() as connection:
            connection.execute("DELETE FROM outbox WHERE message = ?", (to_json(envelope.message),))

    def heard(self) -> list[Envelope]:
        """Everything read of the board."""
        return [e for e, _ in self._envelopes("SELECT message, signature, '' FROM heard")]

    def outbox(self) -> list[tuple[Envelope, Delivery]]:
        """Every message this device has produced, oldest first, and what became of it."""
        return self._envelopes("SELECT message, signature, state FROM outbox ORDER BY seq")

    def _envelopes(self, query: str) -> list[tuple[Envelope, Any]]:
        with self._lock, schema.translated(self.path):
            rows = self._connection.execute(query).fetchall()
        with _readable(self.path):
            return [(Envelope(from_json(row[0], self._n_arms), row[1]), row[2]) for row in rows]

    @contextmanager
    def transaction(self, *, durable: bool = False) -> Iterator[sqlite3.Connection]:
        """All or nothing; ``durable`` returns only once it would survive a power cut."""
        connection = self._connection
        with self._lock, schema.translated(self.path):
            if durable is not self._durable:
                connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
                self._durable = durable
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._connection.close()

    def remove(self) -> None:
        """Let go of the file and remove it."""
        self.close()
        for suffix in ("", "-wal", "-shm"):
            Path(self.path + suffix).unlink(missing_ok=True)


def _make_private(path: str) -> None:
    """Make the file, which will hold a private key, for its owner only; refuse one not writable."""
    if path == ":memory:":
        return
    try:
        # An existing file is not opened: closing it would undo the lock of whoever has it open.
        if not os.path.exists(path):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        writable = all(os.access(p, os.W_OK) for p in (path, os.path.dirname(path) or "."))
    except OSError:
        writable = False
    if not writable:
        raise StoreReadOnly(
            f"The device store {path!r} cannot be written.\n"
            "See that it and its folder exist and are writable for this user."
        )


@contextmanager
def _readable(path: str) -> Iterator[None]:
    try:
        yield
    except StoreError:
        raise
    except Exception:
        # The cause is not chained: it may quote the player, whose rewards are private.
        raise schema.unreadable(path) from None
