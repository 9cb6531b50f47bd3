"""The enrolled voters in a store's file, whose bytes tell who is enrolled and not in which order.

A key's first bits choose its block. A block has a fixed size, holds its keys sorted, and is
overwritten in its place. When one is full, all are written anew in twice as many: so how many
blocks there are depends on the keys alone too. The count is kept beside the experiment.
"""

import sqlite3
from bisect import bisect_right, insort
from collections.abc import Iterable

KEY = 32
FULL = 62
"""Keys in a block: two blocks fill a page of the file."""


def is_enrolled(db: sqlite3.Connection, experiment: str, voter: str) -> bool:
    """Whether a voter is enrolled."""
    try:
        key = bytes.fromhex(voter)
    except ValueError:
        return False
    return key.hex() == voter and key in _block(db, experiment, key)[1]


def voters_above(
    db: sqlite3.Connection, experiment: str, after: str = "", limit: int | None = None
) -> list[str]:
    """The voters above a key, in order; at most ``limit``."""
    found: list[str] = []
    first = int((after + "0" * 8)[:8], 16) * _count(db, experiment) >> 32
    query = "SELECT keys FROM voters WHERE experiment = ? AND block >= ? ORDER BY block"
    for (block,) in db.execute(query, (experiment, first)):
        found += (key.hex() for key in _unpacked(block))
        if limit is not None and bisect_right(found, after) + limit <= len(found):
            break
    start = bisect_right(found, after)
    return found[start : None if limit is None else start + limit]


def add_voters(db: sqlite3.Connection, experiment: str, voters: Iterable[str]) -> None:
    """Enrol voters; those who are enrolled stay so."""
    added = 0
    for voter in voters:
        key = bytes.fromhex(voter)
        place, keys = _block(db, experiment, key)
        if key in keys:
            continue
        insort(keys, key)
        added += 1
        if len(keys) > FULL or (len(keys) == 1 and not _count(db, experiment)):
            _write_all(db, experiment, keys)
        else:
            query = "UPDATE voters SET keys = ? WHERE experiment = ? AND block = ?"
            db.execute(query, (_packed(keys), experiment, place))
    query = "UPDATE experiments SET enrolled = enrolled + ? WHERE name = ?"
    db.execute(query, (added, experiment))


def _write_all(db: sqlite3.Connection, experiment: str, more: list[bytes]) -> None:
    """Write the keys that are there and more, into as many blocks as it takes, a power of two."""
    there = db.execute("SELECT keys FROM voters WHERE experiment = ?", (experiment,)).fetchall()
    keys = sorted({*more, *(key for (block,) in there for key in _unpacked(block))})
    count = 1
    while True:
        blocks: list[list[bytes]] = [[] for _ in range(count)]
        for key in keys:
            blocks[_place(key, count)].append(key)
        if max(map(len, blocks)) <= FULL:
            break
        count *= 2
    db.execute("DELETE FROM voters WHERE experiment = ?", (experiment,))
    rows = ((experiment, place, _packed(block)) for place, block in enumerate(blocks))
    db.executemany("INSERT INTO voters VALUES (?, ?, ?)", rows)


def _count(db: sqlite3.Connection, experiment: str) -> int:
    query = "SELECT coalesce(max(block) + 1, 0) FROM voters WHERE experiment = ?"
    return int(db.execute(query, (experiment,)).fetchone()[0])


def _block(db: sqlite3.Connection, experiment: str, key: bytes) -> tuple[int, list[bytes]]:
    """The place of a key's block, and the keys in it."""
    place = _place(key, _count(db, experiment))
    query = "SELECT keys FROM voters WHERE experiment = ? AND block = ?"
    row = db.execute(query, (experiment, place)).fetchone()
    return place, [] if row is None else _unpacked(row[0])


def _place(key: bytes, count: int) -> int:
    return int.from_bytes(key[:4], "big") * count >> 32


def _packed(keys: list[bytes]) -> bytes:
    return (bytes([len(keys)]) + b"".join(keys)).ljust(1 + KEY * FULL, b"\0")


def _unpacked(block: bytes) -> list[bytes]:
    return [block[at : at + KEY] for at in range(1, 1 + KEY * block[0], KEY)]
