"""All that a device must not forget, in one SQLite file.

Every transition is one transaction, committed before anything is sent or returned, so a process
killed at any instant finds on restart either all of a step or none of it. A reward goes in
together with the player that has learned it and the messages that follow from it: no reward
counts twice and no message is lost. Posting is idempotent, so a message that is sent again has
no effect.

A power cut is harsher than a kill. Steps that only this device knows of (a pull, a reward, what
was read) are committed without waiting for the disk: the file stays whole, but the last such
steps may be gone. A step that puts something into the outbox waits, and with it all steps before
it. So a power cut may cost at most the last rewards, never a message that was sent, nor the
memory of having sent it.

The file is locked for as long as it is open: two processes never share a store. Messages read
from the board have their own table, so a step costs the same however many there are.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, TypeAlias

from devote.boards.board import Envelope, Posted
from devote.boards.database import Database, StoreError, StoreMismatch
from devote.boards.experiment import Experiment
from devote.boards.identity import Identity
from devote.fleet.bookmark import Bookmark
from devote.fleet.saved import COLUMNS, Saved
from devote.fleet.tables import LAYOUT
from devote.protocol import (
    LocalProtocolError,
    Message,
    Player,
    from_json,
    restore_player,
    to_json,
)

Delivery: TypeAlias = Literal["waiting", "sent", "refused"]


class Store:
    """One device's state on disk; ``open`` it, ``set_up`` it once, and close it.

    ``is_new``: it was set up since it was opened, so it cannot be an older copy of itself.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._n_arms = 0
        self.is_new = False

    @classmethod
    def open(cls, path: str | Path) -> "Store":
        """Open a store for this process alone, making an empty one if there is none."""
        return cls(Database(path, LAYOUT, alone=True))

    @property
    def path(self) -> str:
        """The file."""
        return self._database.path

    @property
    def is_set_up(self) -> bool:
        """Whether an experiment has been stored here."""
        with self._database.read() as db:
            return db.execute("SELECT 1 FROM device").fetchone() is not None

    def set_up(self, address: str, experiment: Experiment, identity: Identity) -> None:
        """Store a new device that has not played yet, before anybody is told of it."""
        spec = experiment.spec
        player = spec.scheme.player(spec, identity.voter).to_json()
        secret = identity.to_private_bytes()
        with self._database.write() as db:
            db.execute(
                "INSERT INTO device"
                " (id, address, board, spec, fingerprint, players, secret, player)"
                " VALUES (1, ?, ?, ?, ?, ?, ?, ?)",
                (
                    address,
                    experiment.board,
                    spec.to_json(),
                    spec.fingerprint,
                    experiment.players,
                    secret,
                    player,
                ),
            )
        self.is_new = True

    def load(self) -> Saved:
        """The device's row."""
        with self._database.read() as db:
            row = db.execute(f"SELECT {COLUMNS} FROM device").fetchone()
        with self._database.decoding():
            saved = Saved.read(row)
        self._n_arms = saved.spec.n_arms
        return saved

    def player(self, saved: Saved, messages: Iterable[Message]) -> Player:
        """The player in the row, who is told these messages."""
        with self._database.decoding():
            try:
                return restore_player(saved.spec, saved.player, messages)
            except LocalProtocolError as error:
                raise StoreMismatch(
                    f"The device store {self.path!r} cannot be used: {error}"
                ) from None

    def save_enrolment(self, address: str, players: int | None) -> None:
        """Note that the board has enrolled this device, and where the board is."""
        with self._database.write() as db:
            db.execute(
                "UPDATE device SET enrolled = 1, address = ?, players = ?", (address, players)
            )

    def save_step(
        self,
        player: str,
        pending_at: float | None,
        plays: str,
        said: Sequence[Envelope] = (),
        reply_at: float | None = None,
    ) -> None:
        """Store the player and the plays (as JSON) and what the player has said, after a step.

        ``reply_at`` is when what is said leaves, or the answer to the new question. Of what an
        answer was made nothing is left in the file once it is made.
        """
        step = "UPDATE device SET player = ?, pending_at = ?, reply_at = ?, plays = ?"
        values = (player, pending_at, None if said else reply_at, plays)
        if not said:  # as at most pulls
            self._database.write_one(step, values)
            return
        with self._database.write() as db:
            db.execute(step, values)
            db.executemany(
                "INSERT INTO outbox (message, signature, reply_at) VALUES (?, ?, ?)",
                [(to_json(e.message), e.signature, reply_at) for e in said],
            )
        if reply_at is not None:
            with suppress(StoreError):  # the step is stored; the next one forgets
                self._database.forget()

    def save_wake(self, player: str, said: Sequence[Envelope]) -> None:
        """Store the player and what it has said; the pending play stays what it is."""
        step, values = "UPDATE device SET player = ?", (player,)
        if not said:
            self._database.write_one(step, values)
            return
        outgoing = [(to_json(e.message), e.signature) for e in said]
        with self._database.write() as db:
            db.execute(step, values)
            db.executemany("INSERT INTO outbox (message, signature) VALUES (?, ?)", outgoing)

    def save_told(self, player: str, number: int, *, lost: bool) -> None:
        """Store a player who has read the board's tally up to a number.

        If the board has ``lost`` what it held, all that it has acknowledged waits again.
        """
        with self._database.write(durable=False) as db:
            db.execute(
                "UPDATE device SET player = ?, cursor = ?, complete = 1",
                (player, number),
            )
            if lost:
                db.execute("UPDATE outbox SET state = 'waiting' WHERE state = 'sent'")

    def save_recalled(
        self, player: str, said: Iterable[Envelope], false: Iterable[Envelope]
    ) -> None:
        """Store what the board shows this device to have said before, and take back the rest."""
        with self._database.write() as db:
            db.execute("UPDATE device SET player = ?", (player,))
            db.executemany(
                "DELETE FROM outbox WHERE message = ?", [(to_json(e.message),) for e in false]
            )
            db.executemany(
                "INSERT INTO outbox (message, signature, state) VALUES (?, ?, 'sent')"
                " ON CONFLICT (message) DO UPDATE SET state = 'sent'",
                [(to_json(e.message), e.signature) for e in said],
            )
        self._database.forget()

    def save_moments(self, pending_at: float, reply_at: float) -> None:
        """Store other moments for the pending play: the clock was set back since it was chosen."""
        moments = "UPDATE device SET pending_at = ?, reply_at = ?"
        self._database.write_one(moments, (pending_at, reply_at))

    def save_reply_at(self, envelope: Envelope, reply_at: float) -> None:
        """Store when a message is to leave."""
        self._database.write_one(
            "UPDATE outbox SET reply_at = ? WHERE message = ?",
            (reply_at, to_json(envelope.message)),
        )

    def save_heard(self, heard: Iterable[Posted], bookmark: Bookmark) -> None:
        """Store what was read of the board, and how far that was, together."""
        with self._database.write(durable=False) as db:
            db.executemany(
                "INSERT INTO heard VALUES (?, ?, ?) ON CONFLICT (message) DO UPDATE"
                " SET number = excluded.number WHERE heard.number IS NULL",
                [(p.number, to_json(p.envelope.message), p.envelope.signature) for p in heard],
            )
            db.execute(
                "UPDATE device SET cursor = ?, anchor = ?, complete = ?",
                (bookmark.number, " ".join(bookmark.anchor), bookmark.complete),
            )

    def rewind(self, *, forget: bool) -> None:
        """Read the board from its beginning again, and offer it all own messages again.

        That they were once read back from the board says nothing about the board there is now.
        With ``forget`` the same goes for the messages of others; otherwise those are kept.
        """
        with self._database.write(durable=False) as db:
            db.execute(
                "DELETE FROM heard"
                + ("" if forget else " WHERE message IN (SELECT message FROM outbox)")
            )
            db.execute("UPDATE heard SET number = NULL")
            db.execute(
                "UPDATE device SET cursor = 0, anchor = '', complete = complete AND ?",
                (not forget,),
            )
            db.execute("UPDATE outbox SET state = 'waiting'")

    def save_delivery(self, envelope: Envelope, state: Delivery) -> None:
        """Store what became of a message that was posted."""
        self._database.write_one(
            "UPDATE outbox SET state = ? WHERE message = ?", (state, to_json(envelope.message))
        )

    def heard(self) -> list[tuple[Envelope, int | None]]:
        """Everything heard, in the board's order, with its number on the board there is now."""
        return self._envelopes(
            "SELECT message, signature, number FROM heard"
            " ORDER BY number IS NOT NULL, number, rowid"
        )

    def outbox(self) -> list[tuple[Envelope, Delivery]]:
        """Every message this device has produced, oldest first, and what became of it."""
        return self._envelopes("SELECT message, signature, state FROM outbox ORDER BY seq")

    def held(self) -> list[tuple[Envelope, float]]:
        """What waits and may have to be held back, and until when, by the wall clock."""
        return self._envelopes(
            "SELECT message, signature, reply_at FROM outbox"
            " WHERE state = 'waiting' AND reply_at IS NOT NULL ORDER BY seq"
        )

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def remove(self) -> None:
        """Close the file and delete it."""
        self._database.remove()

    def _envelopes(self, query: str) -> list[tuple[Envelope, Any]]:
        with self._database.read() as db:
            rows = db.execute(query).fetchall()
        with self._database.decoding():
            return [(Envelope(from_json(row[0], self._n_arms), row[1]), row[2]) for row in rows]
