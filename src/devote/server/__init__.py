"""The server: experiments and their boards over HTTP, on top of one SQLite store."""

from devote.server.app import create_app
from devote.server.serve import run_server
from devote.server.settings import Settings

__all__ = ["Settings", "create_app", "run_server"]
