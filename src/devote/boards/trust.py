"""Whose certificates are trusted: one TLS context for all connections of a process.

To read the list of authorities takes longer than all else that it takes to open a board.
"""

import os
import ssl
from functools import cache

import httpx


def trusted() -> ssl.SSLContext:
    """The context with which ``httpx`` would check a server, made once.

    ``SSL_CERT_FILE`` and ``SSL_CERT_DIR`` count as they stand now.
    """
    return _context(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@cache
def _context(file: str | None, folder: str | None) -> ssl.SSLContext:
    return httpx.create_ssl_context()
