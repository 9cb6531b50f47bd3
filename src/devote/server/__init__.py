"""The server: experiments and their boards over HTTP, on top of one SQLite store."""

from typing import TYPE_CHECKING

from devote.lazy import lazy_names

if TYPE_CHECKING:
    from devote.server.app import create_app
    from devote.server.serve import run_server
    from devote.server.settings import Settings

__all__ = ["Settings", "create_app", "run_server"]

# A device without a server uses a module of this package, and starts without the web framework.
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "devote.server.settings": ["Settings"],
        "devote.server.app": ["create_app"],
        "devote.server.serve": ["run_server"],
    },
)
