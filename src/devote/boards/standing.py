"""What a board denies because of what it holds: a taken seat, a term too far ahead.

A claim to a place in the jury counts once it is on the board, so the board is its arbiter: each
place is had by one voter, each voter has one place, for good. And a term follows the one before
it: the highest term wins, and one message that opened the last one there is would end the
experiment. A device always finds its next term open, as it goes on from a term that it has read
of the board, or has posted itself.
"""

import sqlite3
from dataclasses import dataclass, field

from devote.protocol import Message, Seat


def objection(message: Message, *, holder: str | None, has: int | None, term: int) -> str | None:
    """Why a board may not take a message that is not on it yet, or None if it may.

    ``holder`` is who has the place that the message claims, ``has`` the place that its voter
    has, ``term`` the highest term on the board.
    """
    if isinstance(message, Seat):
        if has is not None:
            return f"This voter has seat {has} in the jury.\nClaim no other."
        if holder is not None:
            return f"seat={message.seat} in the jury is taken.\nClaim the next that is free."
    elif message.term > term + 1:
        return (
            f"term={message.term} was given, but the board is in term {term}.\n"
            f"Open term {term + 1} first."
        )
    return None


@dataclass
class Standing:
    """The jury and the term of a board in memory.

    >>> standing = Standing()
    >>> standing.admit(Seat("demo", 1, "a")), standing.admit(Seat("demo", 1, "b"))
    (True, False)
    """

    term: int = 0
    holders: dict[int, str] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)

    def admit(self, message: Message) -> bool:
        """Take in a message that is not on the board yet, or say that it may not be."""
        seat = message.seat if isinstance(message, Seat) else 0
        holder, has = self.holders.get(seat), self.places.get(message.voter)
        if objection(message, holder=holder, has=has, term=self.term) is not None:
            return False
        if isinstance(message, Seat):
            self.holders[seat] = message.voter
            self.places[message.voter] = seat
        else:
            self.term = max(self.term, message.term)
        return True


TABLES = """
CREATE TABLE jury (
    experiment TEXT NOT NULL, seat INTEGER NOT NULL, voter TEXT NOT NULL,
    UNIQUE (experiment, seat), UNIQUE (experiment, voter)
) STRICT;
CREATE TABLE terms (experiment TEXT PRIMARY KEY, term INTEGER NOT NULL) STRICT;
"""
"""The same for a board on disk."""


def admit(db: sqlite3.Connection, message: Message) -> str | None:
    """Take in a message, within the caller's transaction; returns why not, or None."""
    name = message.experiment
    if isinstance(message, Seat):
        found = db.execute(
            "SELECT seat, voter FROM jury WHERE experiment = ? AND (seat = ? OR voter = ?)",
            (name, message.seat, message.voter),
        ).fetchall()
        holder = next((voter for seat, voter in found if seat == message.seat), None)
        has = next((seat for seat, voter in found if voter == message.voter), None)
        reason = objection(message, holder=holder, has=has, term=0)
        if reason is None:
            db.execute("INSERT INTO jury VALUES (?, ?, ?)", (name, message.seat, message.voter))
        return reason
    if message.term == 0:
        return None
    row = db.execute("SELECT term FROM terms WHERE experiment = ?", (name,)).fetchone()
    term = row[0] if row else 0
    reason = objection(message, holder=None, has=None, term=term)
    if reason is None and message.term > term:
        db.execute("INSERT OR REPLACE INTO terms VALUES (?, ?)", (name, message.term))
    return reason
