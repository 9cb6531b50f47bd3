"""The operator's token: in a file of its own, which running servers read again when it changes.

So a token is replaced without a restart, by whoever may write the file, and by no call: a stolen
token cannot lock the operator out.
"""

import hmac
import os
import secrets
import threading
from pathlib import Path

from devote.server.settings import LEAST_TOKEN, Settings


class OperatorToken:
    """What the operator's calls must bear: the token in the settings' file, or in the settings.

    While the file is missing, cannot be read, or holds a token that can be guessed, no call is
    let through.
    """

    def __init__(self, settings: Settings) -> None:
        self._file = settings.token_file
        self._lock = threading.Lock()
        self._seen: tuple[int, int, int] | None = None
        self._token = settings.token

    def matches(self, given: str) -> bool:
        """Whether this is the token; it takes as long for a near miss as for any other."""
        with self._lock:
            token = self._current()
        return len(token) >= LEAST_TOKEN and hmac.compare_digest(given.encode(), token.encode())

    def _current(self) -> str:
        if self._file is None:
            return self._token
        try:
            found = self._file.stat()
            seen = (found.st_ino, found.st_mtime_ns, found.st_size)
            if seen != self._seen:
                self._token = self._file.read_text().strip()
                self._seen = seen
        except (OSError, UnicodeDecodeError):
            self._seen = None
            return ""
        return self._token


def write_token(path: Path, token: str | None = None) -> None:
    """Put a token, or a fresh one, into a file that only its owner can read, all of it or nothing.

    A file that is replaced keeps its owner: a server that may read the old one may read the new.
    """
    path = path.resolve()  # of a link, the file that it leads to
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    handle = os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(handle, "w") as file:
            file.write((token or secrets.token_urlsafe(32)) + "\n")
            file.flush()
            os.fsync(file.fileno())
            if path.exists() and os.geteuid() == 0:
                os.fchown(file.fileno(), path.stat().st_uid, path.stat().st_gid)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
