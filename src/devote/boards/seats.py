"""Seats and the invites that open them: what bounds the number of voters.

One person with a thousand keys is the attack that breaks any vote; a single-use invite makes
each further key cost one more invite. Each function works within its caller's transaction.
"""

import hashlib
import secrets
import sqlite3

from devote.boards.admission import Receipt, denied
from devote.boards.board import Outcome
from devote.boards.experiment import Experiment


def is_taken(db: sqlite3.Connection, experiment: str, voter: str) -> bool:
    """Whether a voter has a seat."""
    seat = db.execute("SELECT 1 FROM seats WHERE experiment = ? AND voter = ?", (experiment, voter))
    return seat.fetchone() is not None


def take(
    db: sqlite3.Connection,
    experiment: Experiment,
    *,
    voter: str,
    invite: str | None,
    most: int | None,
) -> Receipt:
    """Give a voter a seat; an invite is used up only if one was needed and a seat was given."""
    name = experiment.name
    if is_taken(db, name, voter):
        return Receipt(Outcome.DUPLICATE)
    bounds = [bound for bound in (experiment.players, most) if bound is not None]
    (taken,) = db.execute("SELECT count(*) FROM seats WHERE experiment = ?", (name,)).fetchone()
    if bounds and taken >= min(bounds):
        return denied(f"All {min(bounds)} seats are taken.", "Take part in another experiment.")
    if experiment.enrolment == "invite":
        used = db.execute(
            "UPDATE invites SET used = 1 WHERE experiment = ? AND hash = ? AND used = 0",
            (name, _hash(invite or "")),
        )
        if used.rowcount != 1:
            fault = (
                "This experiment needs an invite, and none was given."
                if invite is None
                else "This invite is used already or unknown."
            )
            return denied(fault, "Ask the operator for one; each is good for one device.")
    db.execute("INSERT INTO seats VALUES (?, ?)", (name, voter))
    return Receipt(Outcome.ACCEPTED)


def invite(db: sqlite3.Connection, experiment: str, count: int) -> list[str]:
    """Make invites; only their hashes are kept."""
    invites = [secrets.token_urlsafe(16) for _ in range(count)]
    db.executemany(
        "INSERT INTO invites (experiment, hash) VALUES (?, ?)",
        [(experiment, _hash(text)) for text in invites],
    )
    return invites


def _hash(text: str) -> str:
    # Invites are 128 random bits, so that a plain hash cannot be searched.
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
