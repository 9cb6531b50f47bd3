"""A copy of a board store while its server runs, and a copy put back.

The copy is one file, as of one moment: all that was acknowledged before it was begun is in it. It
is written afresh, without anything that was deleted from the store.
"""

import os
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

from devote.boards.database import Database, StoreBusy, StoreCorrupt, StoreError
from devote.boards.store import LAYOUT

SET_ASIDE = ".replaced"
"""What the name of a store ends in that a copy has taken the place of."""


def back_up(store: Path, target: Path) -> int:
    """Copy a store to a new file that only its owner can read; returns its size in bytes."""
    if not store.is_file():
        raise StoreError(f"There is no store {str(store)!r}.\nName the file that the server uses.")
    with closing(_open(store)) as db:
        return copy_whole(db.copy_to, target)


def copy_whole(copy: Callable[[Path], object], target: Path) -> int:
    """Have a store copied to a new file, which appears once it is whole; returns its size."""
    if target.exists():
        raise StoreError(f"{str(target)!r} is there already.\nName a new file for the copy.")
    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
    os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        copy(partial)
        _open(partial).close()
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        try:
            os.link(partial, target)  # unlike a rename, it never replaces a file
        except FileExistsError:
            raise StoreError(f"{str(target)!r} is there already.\nName a new file.") from None
        return target.stat().st_size
    finally:
        partial.unlink(missing_ok=True)


def put_back(copy: Path, store: Path) -> Path | None:
    """Put a copy in the place of a store that no server uses; the copy stays.

    Returns where the store that was there is now, or None if there was none.
    """
    if not copy.is_file():
        raise StoreError(f"There is no copy {str(copy)!r}.\nName a file that a backup has made.")
    _open(copy).close()
    aside = store.with_name(store.name + SET_ASIDE)
    if aside.exists():
        raise StoreError(
            f"{str(aside)!r} is there already, from an earlier restore.\nMove it away first."
        )
    if store.exists():
        try:
            Database(store, LAYOUT, alone=True).close()  # which leaves no log beside the file
        except StoreBusy:
            raise StoreBusy(
                f"The board store {str(store)!r} is in use.\nStop its server first."
            ) from None
        except StoreCorrupt:
            pass  # the reason to put a copy in its place
    fresh = store.with_name(f"{store.name}.{os.getpid()}.partial")
    try:
        back_up(copy, fresh)
        was_there = store.exists()
        if was_there:
            store.rename(aside)
        for suffix in ("-wal", "-shm"):
            with suppress(FileNotFoundError):
                store.with_name(store.name + suffix).rename(aside.with_name(aside.name + suffix))
        fresh.rename(store)
    finally:
        fresh.unlink(missing_ok=True)
    return aside if was_there else None


def _open(path: Path) -> Database:
    """A whole board store, to be read; StoreError if the file is none, or is damaged."""
    database = Database(path, LAYOUT, reads_only=True)
    with database.read() as db:
        is_whole = db.execute("PRAGMA integrity_check(1)").fetchone() == ("ok",)
    if not is_whole:
        database.close()
        raise StoreCorrupt(f"The board store {str(path)!r} is damaged.\nUse another copy.")
    return database
