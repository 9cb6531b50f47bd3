"""Run the server until it is told to stop, and let its streams end well."""

import asyncio
import gc
import logging
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, TypedDict, Unpack

import uvicorn
from fastapi import FastAPI

from devote.boards.stores import BoardStore, open_store
from devote.server.alone import only_server
from devote.server.app import create_app
from devote.server.connections import Connections, guarded, raise_file_limit
from devote.server.repeats import count_repeats
from devote.server.service import Service
from devote.server.settings import ServerError, Settings

# No access log, and no warning about a request, carries an address.
_OPTIONS: dict[str, Any] = {
    "access_log": False,
    "server_header": False,
    "proxy_headers": False,
    "log_level": "warning",
    "timeout_graceful_shutdown": 5,
    "timeout_keep_alive": 30,
    "ws": "none",
}
SWEEP = 10
"""Tenths of a second between two looks at who stalls."""


class Server(uvicorn.Server):
    """Uvicorn, but open streams end at shutdown: by itself it would wait for them."""

    guard: Connections

    async def on_tick(self, counter: int) -> bool:
        """Drop who stalls, every now and then."""
        if counter % SWEEP == 0:
            self.guard.sweep(asyncio.get_running_loop().time())
        return await super().on_tick(counter)

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
    """Where to listen; ``certificate`` and ``key`` are PEM files and turn on TLS.

    With an ``admin_port`` metrics and the operator's calls are there, and only there.
    """

    host: str
    port: int
    admin_port: int | None
    certificate: str | Path | None
    key: str | Path | None


def make_server(app: FastAPI, **listening: Unpack[Listening]) -> Server:
    """A server for an application; without a host and a port it is at 127.0.0.1:8600."""
    certificate, key = listening.get("certificate"), listening.get("key")
    check_tls(certificate, key)
    host, port = listening.get("host", "127.0.0.1"), listening.get("port", 8600)
    service: Service = app.state.service
    service.admin_port = listening.get("admin_port")
    guard = Connections(raise_file_limit(), service.settings.patience, service.metrics)
    service.connections = guard
    config = uvicorn.Config(
        app,
        host,
        port,
        ssl_certfile=certificate,
        ssl_keyfile=key,
        http=guarded(guard),
        backlog=guard.at_once,
        **_OPTIONS,
    )
    count_repeats()
    if guard.streams < service.settings.streams:
        logging.getLogger("uvicorn.error").warning(
            "This process may open few files: at most %d connections, %d of them streams.",
            guard.most,
            guard.streams,
        )
    server = Server(config)
    server.guard = guard
    return server


def listeners(**listening: Unpack[Listening]) -> list[socket.socket]:
    """The sockets to listen on: one, and one for the operator if that has a port of its own."""
    host, admin = listening.get("host", "127.0.0.1"), listening.get("admin_port")
    ports = [listening.get("port", 8600), *([] if admin is None else [admin])]
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return [socket.create_server((host, port), family=family) for port in ports]


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
        with only_server(store):
            run_server(open_store(store), settings=settings, extend=extend, **listening)
        return
    try:
        app = create_app(store, settings)
        if extend is not None:
            extend(app)
        server = make_server(app, **listening)
        # What is there by now stays: the collector need not look at it again and again.
        gc.collect()
        gc.freeze()
        server.run(listeners(**listening))
    finally:
        store.close()
