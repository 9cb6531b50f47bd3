"""Run the server until it is told to stop, and let its streams end well."""

import signal
import socket
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, TypedDict, Unpack

import uvicorn
from fastapi import FastAPI

from devote.boards.stores import BoardStore, open_store
from devote.server.app import create_app
from devote.server.settings import ServerError, Settings

# No access log, and no warning about a request, carries an address.
_OPTIONS: dict[str, Any] = {
    "access_log": False,
    "server_header": False,
    "proxy_headers": False,
    "log_level": "warning",
    "timeout_graceful_shutdown": 5,
    "timeout_keep_alive": 30,
    "backlog": 4096,
}


class Server(uvicorn.Server):
    """Uvicorn, but open streams end at shutdown: by itself it would wait for them."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, then everything else."""
        app = self.config.app
        assert isinstance(app, FastAPI)
        app.state.service.boards.close()
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop at a signal, and at once at a second SIGINT; uvicorn would also raise it again."""
        self.force_exit |= self.should_exit and sig == signal.SIGINT
        self.should_exit = True


def check_address(host: str, port: int) -> None:
    """Refuse an address that cannot be listened on, before anything is opened or written."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        raise ServerError(
            f"{host}:{port} cannot be listened on: {error.strerror}.\n"
            "End what listens there, or give another host or port."
        ) from None


def check_tls(certificate: str | Path | None, key: str | Path | None) -> None:
    """Refuse half of what TLS needs, and files that are not there."""
    if (certificate is None) != (key is None):
        raise ServerError(
            "TLS needs both a certificate and its key, and one is missing.\n"
            "Give both PEM files, or neither."
        )
    for file in (certificate, key):
        if file is not None and not Path(file).is_file():
            raise ServerError(f"{file} is not a file.\nGive the path of a PEM file.")


class Listening(TypedDict, total=False):
    """Where to listen; ``certificate`` and ``key`` are PEM files and turn on TLS."""

    host: str
    port: int
    certificate: str | Path | None
    key: str | Path | None


def make_server(app: FastAPI, **listening: Unpack[Listening]) -> Server:
    """A server for an application; without a host and a port it is at 127.0.0.1:8600."""
    certificate, key = listening.get("certificate"), listening.get("key")
    check_tls(certificate, key)
    host, port = listening.get("host", "127.0.0.1"), listening.get("port", 8600)
    return Server(
        uvicorn.Config(app, host, port, ssl_certfile=certificate, ssl_keyfile=key, **_OPTIONS)
    )


def run_server(
    store: BoardStore | str | Path,
    *,
    settings: Settings | None = None,
    extend: Callable[[FastAPI], None] | None = None,
    **listening: Unpack[Listening],
) -> None:
    """Serve a store until SIGINT or SIGTERM, then end the streams, close the store and return.

    ``store`` is a store, the path of one, or its address on NATS; ``settings.token`` is the
    operator's token. ``extend`` may add routes of its own, such as the page, before the server
    starts.
    """
    if isinstance(store, str | Path):
        store = open_store(store)
    try:
        app = create_app(store, settings)
        if extend is not None:
            extend(app)
        make_server(app, **listening).run()
    finally:
        store.close()
