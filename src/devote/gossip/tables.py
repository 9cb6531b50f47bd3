"""What a device keeps beside its votes: certificates, revocations, early messages and peers."""

from devote.boards.database import Layout

TABLES = """
CREATE TABLE me (
    id INTEGER PRIMARY KEY CHECK (id = 1), spec TEXT NOT NULL, certificate TEXT,
    sequence INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE certificates (
    voter TEXT PRIMARY KEY, number INTEGER NOT NULL, signature TEXT NOT NULL
) STRICT;
CREATE TABLE revocations (number INTEGER PRIMARY KEY, signature TEXT NOT NULL) STRICT;
CREATE TABLE early (
    message TEXT PRIMARY KEY, voter TEXT NOT NULL, signature TEXT NOT NULL
) STRICT;
CREATE TABLE peers (
    address TEXT PRIMARY KEY, given INTEGER NOT NULL, voter TEXT NOT NULL,
    sequence INTEGER NOT NULL, record TEXT NOT NULL
) STRICT
"""
"""``early`` are messages that wait for others (``Tally.is_early``). ``given`` marks addresses that
an operator gave; ``record`` is what a member signed of itself. ``sequence`` counts the starts of
this device: a later word about an address goes before an earlier one, and no clock is asked.
"""

LAYOUT = Layout(what="gossip store", application=0x64766770, version=1, tables=TABLES)
