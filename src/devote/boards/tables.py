"""What the file of a board store holds.

Nothing else is stored: no address, no time of a message, no link from an invite to a voter, and
of an invite only its hash and when it expires. A message is kept in its one JSON spelling, which
holds who says what, and nothing else; a UNIQUE constraint on that text keeps it from being counted
twice, whatever its kind.

Voters and invites are kept in the order of their keys and hashes, without row numbers, which would
tell in which order they came. A used invite differs from another by one bit that is changed in its
place. ``pulse`` is what a look at the server's health writes.
"""

from devote.boards.database import Layout

TABLES = """
CREATE TABLE experiments (
    name TEXT PRIMARY KEY, spec TEXT NOT NULL, fingerprint TEXT NOT NULL,
    enrolment TEXT NOT NULL, players INTEGER, created INTEGER NOT NULL, board TEXT NOT NULL
) STRICT;
CREATE TABLE enrolled (
    experiment TEXT NOT NULL, voter TEXT NOT NULL, PRIMARY KEY (experiment, voter)
) STRICT, WITHOUT ROWID;
CREATE TABLE invites (
    experiment TEXT NOT NULL, hash TEXT NOT NULL, used INTEGER NOT NULL DEFAULT 0,
    expires INTEGER, PRIMARY KEY (experiment, hash)
) STRICT, WITHOUT ROWID;
CREATE TABLE pulse (beat BLOB NOT NULL) STRICT;
CREATE TABLE messages (
    experiment TEXT NOT NULL, number INTEGER NOT NULL, voter TEXT NOT NULL,
    message TEXT NOT NULL, signature TEXT NOT NULL,
    PRIMARY KEY (experiment, number), UNIQUE (experiment, message)
) STRICT;
CREATE INDEX messages_of_voter ON messages (experiment, voter);
"""

STANDINGS = """
CREATE TABLE standings (experiment TEXT PRIMARY KEY, state TEXT NOT NULL, ends INTEGER) STRICT;
CREATE TABLE revoked (
    experiment TEXT NOT NULL, voter TEXT NOT NULL, PRIMARY KEY (experiment, voter)
) STRICT, WITHOUT ROWID;
CREATE TABLE deleted (name TEXT PRIMARY KEY) STRICT
"""
"""How experiments stand that are not simply open, whom the operator revoked, and which names were
deleted. An experiment without a row is open and has no end.
"""


LAYOUT = Layout(
    what="board store",
    application=0x64767465,
    version=1,
    tables=TABLES + STANDINGS,
)
