"""Run the server until it is told to stop, and let its streams end well."""

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from devote.boards.store import SqliteStore
from devote.server.app import create_app
from devote.server.errors import ServerError
from devote.server.settings import Settings


class Server(uvicorn.Server):
    """Uvicorn, but open streams end at shutdown: by itself it would wait for them."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, then everything else."""
        app = self.config.app
        assert isinstance(app, FastAPI)
        app.state.service.boards.close()
        await super().shutdown(sockets)


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


def make_server(
    app: FastAPI,
    *,
    host: str = "127.0.0.1",
    port: int = 8600,
    certificate: str | Path | None = None,
    key: str | Path | None = None,
) -> Server:
    """A server for an application; ``certificate`` and ``key`` are PEM files and turn on TLS.

    No access log, and no warning about a request, carries an address.
    """
    check_tls(certificate, key)
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        ssl_certfile=certificate,
        ssl_keyfile=key,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        log_level="warning",
        timeout_graceful_shutdown=5,
        timeout_keep_alive=30,
        backlog=4096,
    )
    return Server(config)


def run_server(
    store: SqliteStore | str | Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8600,
    certificate: str | Path | None = None,
    key: str | Path | None = None,
    settings: Settings | None = None,
    extend: Callable[[FastAPI], None] | None = None,
) -> None:
    """Serve a store until SIGINT or SIGTERM, then end the streams, close the store and return.

    ``store`` is a store or the path of one; ``settings.token`` is the operator's token.
    ``extend`` may add routes of its own, such as the page, before the server starts.
    """
    if not isinstance(store, SqliteStore):
        store = SqliteStore(store)
    try:
        app = create_app(store, settings)
        if extend is not None:
            extend(app)
        server = make_server(app, host=host, port=port, certificate=certificate, key=key)
        with _stopping(server):
            server.run()
    finally:
        store.close()


@contextmanager
def _stopping(server: Server) -> Iterator[None]:
    """Let a signal stop the server and nothing else: uvicorn raises it once more at its end."""

    def stop(*_: object) -> None:
        server.should_exit = True

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
