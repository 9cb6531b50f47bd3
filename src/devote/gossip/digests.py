"""Comparing two sets by a few hundred bytes.

Each item has an id, 16 bytes of a hash. Ids are sorted into buckets by their first bits. A root
stands for the whole set and a digest for each bucket: whoever has another root is sent all
digests, and only the ids in buckets that differ are ever sent.
"""

import hashlib
from collections.abc import Collection, Iterable

ID = 16
DIGEST = 8
FEWEST, MOST = 32, 4_096
"""Buckets; there are about eight ids in each."""


def item_id(line: bytes) -> bytes:
    """The id of an item, from the line that was signed."""
    return hashlib.sha256(line).digest()[:ID]


def root(ids: Iterable[bytes]) -> str:
    """What stands for a whole set.

    >>> root([b"b" * 16, b"a" * 16]) == root([b"a" * 16, b"b" * 16])
    True
    """
    return hashlib.sha256(b"".join(sorted(ids))).hexdigest()[:32]


def bucket_count(size: int) -> int:
    """How many buckets suit so many ids: a power of two.

    >>> [bucket_count(size) for size in (0, 300, 100_000)]
    [32, 64, 4096]
    """
    count = FEWEST
    while count < MOST and 8 * count < size:
        count *= 2
    return count


def bucket_of(item: bytes, count: int) -> int:
    """The bucket of an id: its first 16 bits, scaled."""
    return int.from_bytes(item[:2], "big") * count >> 16


def fill(ids: Iterable[bytes], count: int) -> dict[int, list[bytes]]:
    """The ids in each bucket that has any, sorted."""
    buckets: dict[int, list[bytes]] = {}
    for item in sorted(ids):
        buckets.setdefault(bucket_of(item, count), []).append(item)
    return buckets


def summarize(ids: Iterable[bytes], count: int) -> bytes:
    """The digests of all buckets, one after the other; zeros for an empty one."""
    joined = bytearray(DIGEST * count)
    for place, held in fill(ids, count).items():
        digest = hashlib.sha256(b"".join(held)).digest()[:DIGEST]
        joined[DIGEST * place : DIGEST * (place + 1)] = digest
    return bytes(joined)


def differing(mine: bytes, theirs: bytes) -> list[int]:
    """The buckets whose digests differ.

    >>> differing(bytes(16), bytes(8) + b"12345678")
    [1]
    """
    starts = range(0, len(mine), DIGEST)
    return [a // DIGEST for a in starts if mine[a : a + DIGEST] != theirs[a : a + DIGEST]]


def split(joined: bytes) -> set[bytes]:
    """The ids in a run of them; ValueError if it is none."""
    if len(joined) % ID:
        raise ValueError("half an id")
    return {joined[at : at + ID] for at in range(0, len(joined), ID)}


def within(ids: Collection[bytes], places: Iterable[int], count: int) -> set[bytes]:
    """The ids in some of the buckets."""
    wanted = set(places)
    return {item for item in ids if bucket_of(item, count) in wanted}
