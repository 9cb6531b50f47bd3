"""What the file of a device store holds."""

from devote.boards.database import Layout

TABLES = """
CREATE TABLE device (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    address TEXT NOT NULL,
    board TEXT NOT NULL,
    spec TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    players INTEGER,
    secret BLOB NOT NULL,
    enrolled INTEGER NOT NULL DEFAULT 0,
    player TEXT NOT NULL,
    pending_at REAL,
    reply_at REAL,
    plays TEXT NOT NULL DEFAULT '{}',
    cursor INTEGER NOT NULL DEFAULT 0,
    anchor TEXT NOT NULL DEFAULT '',
    complete INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE heard (number INTEGER, message TEXT NOT NULL UNIQUE, signature TEXT NOT NULL);
CREATE TABLE outbox (
    seq INTEGER PRIMARY KEY,
    message TEXT NOT NULL UNIQUE,
    signature TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'sent', 'refused')),
    reply_at REAL
)
"""
"""``board`` and ``fingerprint`` are those of the first join; what is signed for others is refused.
``pending_at`` is when the pending arm was chosen, ``reply_at`` when its answer, or a message in
the outbox, is to leave at the earliest; both in seconds since 1970. ``heard`` is what the board
has shown, by its numbers; one without a number was on the board before it was put back to a
backup, and has not been seen there since.
"""


LAYOUT = Layout(
    what="device store",
    application=0x64766F74,  # dvot
    version=1,
    tables=TABLES,
)
