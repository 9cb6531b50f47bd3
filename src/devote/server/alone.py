"""One server to a store: a second one would not hear what the first has accepted."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from devote.boards.stores import is_nats
from devote.server.settings import ServerError

try:
    import fcntl
except ImportError:  # where there is no such lock, nothing is checked
    fcntl = None  # type: ignore[assignment]


@contextmanager
def only_server(store: str | Path) -> Iterator[None]:
    """Hold the lock of a store; ServerError if another server does. It goes with the process."""
    lock = Path(f"{store}.lock")
    shared = str(store) == ":memory:" or is_nats(store)  # a log on NATS has any number of servers
    file = None if fcntl is None or shared else _locked(lock)
    try:
        yield
    finally:
        if file is not None:
            with suppress(OSError):
                lock.unlink()  # while it is held: whoever opens it from now on makes another
            file.close()


def _locked(lock: Path) -> IO[str] | None:
    """The lock's file, locked; None if it cannot be made: opening the store tells why."""
    while True:
        try:
            file = os.fdopen(os.open(lock, os.O_CREAT | os.O_RDWR, 0o600), "w")
        except OSError:
            return None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if lock.stat().st_ino == os.fstat(file.fileno()).st_ino:
                return file
        except FileNotFoundError:
            pass  # the one who had it has just let it go
        except OSError:
            file.close()
            raise ServerError(
                f"Another server has the store {str(lock.with_suffix(''))!r} open.\n"
                "Stop that one, or give this one a store of its own."
            ) from None
        file.close()
