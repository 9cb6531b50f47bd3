"""What somebody makes of a stolen board store: the files as they lie on the disk, byte by byte.

A thief knows how SQLite fills a page: each new cell is put before the older ones, so that the
places of cells tell the order in which they were written. He takes all keys and all used invites in
that order, from the file, from its log and from what is left in unused space, and says that the
first of one came with the first of the other. ``links`` is how many he gets right.
"""

from collections.abc import Mapping
from pathlib import Path


def stolen(path: Path) -> dict[str, bytes]:
    """The files of a store."""
    files = {suffix: Path(f"{path}{suffix}") for suffix in ("", "-wal", "-shm", "-journal")}
    return {suffix: file.read_bytes() for suffix, file in files.items() if file.exists()}


def places(content: bytes, texts: set[str]) -> dict[str, list[int]]:
    """Where each of these texts stands in a file."""
    found = {}
    for text in texts:
        found[text] = []
        for form in (text.encode(), bytes.fromhex(text)):
            at = content.find(form)
            while at >= 0:
                found[text].append(at)
                at = content.find(form, at + 1)
    return found


def in_order_of_writing(content: bytes, texts: set[str], page: int) -> list[str]:
    """The texts in the order in which their cells were written, as far as pages tell."""
    first = {text: at[0] for text, at in places(content, texts).items() if at}
    return sorted(first, key=lambda text: (first[text] // page, -first[text]))


def links(path: Path, came_with: Mapping[str, str]) -> int:
    """How many pairs of a key and an invite's hash are found, of those that came together.

    ``came_with`` has the hash of the invite by key. The thief tries every way of pairing that the
    files offer, and is credited with the best of them.
    """
    files, hashes = stolen(path), set(came_with.values())
    page = int.from_bytes(files[""][16:18], "big")
    best = 0
    for content in files.values():
        keys = in_order_of_writing(content, set(came_with), page)
        invites = in_order_of_writing(content, hashes, page)
        for one in (keys, keys[::-1]):
            best = max(best, sum(came_with[a] == b for a, b in zip(one, invites, strict=False)))
    at = places(files.get("-wal", b""), {*came_with, *hashes})
    near = 0  # a transaction in the log holds what came together
    for key, hash_ in came_with.items():
        near += any(abs(a - b) < 3 * page for a in at[key] for b in at[hash_])
    return max(best, near)
