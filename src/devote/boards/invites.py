"""Invites: each lets one device enrol, once, until it expires or is revoked.

The text of an invite is 128 random bits, so that nobody finds one by trying, and the file holds
only its hash.
"""

import hashlib
import secrets
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class InviteCounts:
    """How many invites can still be used, were used, and have expired unused."""

    open: int
    used: int
    expired: int


def make_invites(
    db: sqlite3.Connection, experiment: str, count: int, expires: int | None
) -> list[str]:
    """New invites; this is the only time that their texts can be read."""
    texts = [secrets.token_urlsafe(16) for _ in range(count)]
    db.executemany(
        "INSERT INTO invites (experiment, hash, expires) VALUES (?, ?, ?)",
        [(experiment, hash_of(text), expires) for text in texts],
    )
    return texts


def use_invite(db: sqlite3.Connection, experiment: str, text: str, now: float) -> bool:
    """Use an invite up; False if there is none of this text that can be used."""
    used = db.execute(
        "UPDATE invites SET used = 1 WHERE experiment = ? AND hash = ? AND used = 0 "
        "AND (expires IS NULL OR expires > ?)",
        (experiment, hash_of(text), now),
    )
    return used.rowcount == 1


def revoke_invites(db: sqlite3.Connection, experiment: str, texts: Iterable[str] | None) -> int:
    """Take back invites that nobody has used, all of them without texts; returns how many."""
    unused = "DELETE FROM invites WHERE experiment = ? AND used = 0"
    if texts is None:
        return db.execute(unused, (experiment,)).rowcount
    rows = [(experiment, hash_of(text)) for text in texts]
    return db.executemany(f"{unused} AND hash = ?", rows).rowcount if rows else 0


def count_invites(db: sqlite3.Connection, experiment: str, now: float) -> InviteCounts:
    """How many there are of each kind."""
    made, used, expired = db.execute(
        "SELECT count(*), coalesce(sum(used), 0), "
        "coalesce(sum(used = 0 AND expires IS NOT NULL AND expires <= ?), 0) "
        "FROM invites WHERE experiment = ?",
        (now, experiment),
    ).fetchone()
    return InviteCounts(made - used - expired, used, expired)


def hash_of(text: str) -> str:
    """All that is kept of an invite: it is 128 random bits, so that a plain hash does."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
