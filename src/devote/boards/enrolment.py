"""Who is enrolled, and the invites that let a device enrol: what bounds the number of voters.

One person with a thousand keys is the attack that breaks any vote; a single-use invite makes
each further key cost one more invite. Each function works within its caller's transaction.
"""

import hashlib
import secrets
import sqlite3

from devote.boards.admission import Receipt, refused
from devote.boards.board import Outcome
from devote.boards.experiment import Experiment


def is_enrolled(db: sqlite3.Connection, experiment: str, voter: str) -> bool:
    """Whether a voter may post."""
    row = db.execute(
        "SELECT 1 FROM enrolled WHERE experiment = ? AND voter = ?", (experiment, voter)
    )
    return row.fetchone() is not None


def enrol(
    db: sqlite3.Connection,
    experiment: Experiment,
    *,
    voter: str,
    invite: str | None,
    most: int | None,
) -> Receipt:
    """Let a voter post; an invite is used up only if one was needed and the voter enrolled."""
    name = experiment.name
    if is_enrolled(db, name, voter):
        return Receipt(Outcome.DUPLICATE)
    bounds = [bound for bound in (experiment.players, most) if bound is not None]
    (count,) = db.execute("SELECT count(*) FROM enrolled WHERE experiment = ?", (name,)).fetchone()
    if bounds and count >= min(bounds):
        return refused(
            f"This experiment has all of its {min(bounds)} devices.",
            "Take part in another experiment.",
        )
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
            return refused(fault, "Ask the operator for one; each is good for one device.")
    db.execute("INSERT INTO enrolled VALUES (?, ?)", (name, voter))
    return Receipt(Outcome.ACCEPTED)


def make_invites(db: sqlite3.Connection, experiment: str, count: int) -> list[str]:
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
