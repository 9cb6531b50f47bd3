"""The lines of a results file: JSON with a checksum, and a block of trials as the values of one.

A column is a list of numbers; a long one is the bytes of its numbers in base 64, under the name of
their kind, such as ``{"<i2": "AQACAA=="}``: whole numbers of as few bytes as will do, the lowest
byte first.
"""

import json
import zlib
from base64 import b64decode, b64encode
from typing import Any

import numpy as np
from numpy.typing import NDArray

from devote.simulator.block import COUNTS, JUDGEMENTS, Block
from devote.simulator.trial import NEVER, Point, Record
from devote.simulator.votes import Votes

LONG = 1000
"""Numbers of a column from which on it is written as bytes."""

KINDS = ("<i1", "<i2", "<i4", "<i8")
VOTES = ("counts", "who", "when")


def to_line(values: dict[str, Any]) -> bytes:
    """A whole line; values that are bytes are JSON already."""
    parts: list[bytes] = []
    sign = b"{"
    for name, value in values.items():
        parts += (sign, _to_json(name), b":", _to_json(value))
        sign = b","
    crc = 0
    for part in (*parts, b"}"):
        crc = zlib.crc32(part, crc)
    return b"".join((*parts, b',"crc":%d}\n' % crc))


def _to_json(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    return json.dumps(value, separators=(",", ":")).encode()


def from_line(line: bytes) -> dict[str, Any] | None:
    """The values of a whole line, None for anything else."""
    text, mark, crc = line.rpartition(b',"crc":')
    if not mark or crc != b"%d}" % zlib.crc32(b"}", zlib.crc32(text)):
        return None
    values: dict[str, Any] = json.loads(text + b"}")
    return values


def pack(column: NDArray[Any]) -> bytes:
    """A column of whole numbers or of truth values as JSON.

    >>> pack(np.array([3, -1, 4])), pack(np.full(1000, 7))[:16]
    (b'[3,-1,4]', b'{"<i1":"BwcHBwcH')
    """
    if column.size < LONG:
        return _to_json(column.ravel().astype(np.int64).tolist())
    low, high = int(column.min()), int(column.max())
    for kind in KINDS:
        room = np.iinfo(kind)
        if room.min <= low and high <= room.max:
            break
    return b'{"%b":"%b"}' % (kind.encode(), b64encode(column.astype(kind).tobytes()))


def unpack(values: Any, kind: Any) -> NDArray[Any]:
    """The column that ``pack`` was given, of this kind, in one row, from the values of its JSON."""
    if isinstance(values, list):
        return np.array(values, dtype=kind)
    [(found, text)] = values.items()
    return np.frombuffer(b64decode(text), dtype=found).astype(kind)


def block_to_dict(block: Block) -> dict[str, Any]:
    """A block as values for ``to_line``; traces are left out."""
    # Most trials leave one arm: of the arms left no more are written than some trial has.
    most = int((block.left != NEVER).sum(axis=1).max())
    values = {
        **{name: pack(getattr(block, name)) for name in (*COUNTS, *JUDGEMENTS, "ending")},
        "left": pack(block.left[:, :most]),
        "votes": b"[%b,%b,%b]" % tuple(pack(getattr(block.votes, name)) for name in VOTES),
    }
    return values if block.records is None else {**values, "records": block.records}


def block_from_dict(values: dict[str, Any], n_arms: int, n_players: int) -> Block:
    """The block of a line."""
    columns: dict[str, Any] = {name: unpack(values[name], np.int64) for name in COUNTS}
    columns |= {name: unpack(values[name], np.bool_) for name in JUDGEMENTS}
    n = len(columns["samples"])
    some = unpack(values["left"], np.int32).reshape(n, -1)
    left = np.full((n, n_arms), NEVER, dtype=np.int32)
    left[:, : some.shape[1]] = some
    votes = Votes(n_players, *(unpack(part, np.int32) for part in values["votes"]))
    records = None
    if "records" in values:
        records = tuple(None if one is None else _record(one) for one in values["records"])
    return Block(
        **columns,
        ending=unpack(values["ending"], np.int8),
        left=left,
        votes=votes,
        records=records,
    )


def _record(values: Any) -> Record:
    points, arms, players = values
    return Record(tuple(Point(*point) for point in points), tuple(arms), tuple(players))
