"""Run the server until it is told to stop: one to a store, and its streams end well."""

import asyncio
import fcntl
import gc
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypedDict, Unpack

import uvicorn
from starlette.applications import Starlette

from devote.boards.database import StoreError
from devote.boards.store import SqliteStore, is_nats, open_store
from devote.errors import DevoteError
from devote.server.app import create_app
from devote.server.limits import Connections, ServerError, raise_file_limit, room
from devote.server.log import cause_of
from devote.server.service import Service
from devote.server.settings import Settings

# No access log, and no warning about a request, carries an address.
_OPTIONS: dict[str, Any] = {
    "http": "h11",
    "access_log": False,
    "server_header": False,
    "proxy_headers": False,
    "log_config": None,
    "timeout_graceful_shutdown": 5,
    "timeout_keep_alive": 30,
    "timeout_notify": 0,
    "h11_max_incomplete_event_size": 32_768,
    "ws": "none",
}


@contextmanager
def only_server(store: str | Path) -> Iterator[None]:
    """Hold the lock of a store; ServerError if another server does. It goes with the process.

    A second server would not notice what the first has accepted. A log on NATS has any number.
    """
    path = Path(f"{store}.lock")
    if str(store) == ":memory:" or is_nats(store) or not path.parent.is_dir():
        yield  # opening the store tells what is wrong with it
        return
    with open(path, "w", opener=partial(os.open, mode=0o600)) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_taken = not os.path.samestat(os.fstat(lock.fileno()), path.stat())
        except OSError:
            is_taken = True
        if is_taken:
            raise ServerError(
                f"Another server has the store {str(store)!r} open.\n"
                "Stop that one, or give this one a store of its own."
            )
        try:
            yield
        finally:
            path.unlink(missing_ok=True)  # while it is held: whoever opens it now makes another


class Listening(TypedDict, total=False):
    """Where to listen; ``certificate`` and ``key`` are PEM files and turn on TLS.

    With an ``admin_port`` metrics and the operator's calls are there, and only there.
    """

    host: str
    port: int
    admin_port: int | None
    certificate: str | Path | None
    key: str | Path | None


def listeners(**listening: Unpack[Listening]) -> list[socket.socket]:
    """The sockets to listen on: one, and one for the operator if that has a port of its own.

    Their connections send the second half of an answer without waiting for the peer to confirm the
    first, which would take 40 ms at each request.
    """
    host, admin = listening.get("host", "127.0.0.1"), listening.get("admin_port")
    bound: list[socket.socket] = []
    for port in [listening.get("port", 8600), *([] if admin is None else [admin])]:
        try:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            bound.append(socket.create_server((host, port), family=family))
        except OSError as error:
            raise ServerError(
                f"{host}:{port} cannot be listened on: {error.strerror}.\n"
                "End what listens there, or give another host or port."
            ) from None
        bound[-1].setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return bound


def check_address(host: str, port: int) -> None:
    """Refuse an address that cannot be listened on, before anything is opened or written."""
    for each in listeners(host=host, port=port):
        each.close()


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


def make_server(app: Starlette, **listening: Unpack[Listening]) -> uvicorn.Server:
    """A server for an application; without a host and a port it is at 127.0.0.1:8600."""
    certificate, key = listening.get("certificate"), listening.get("key")
    check_tls(certificate, key)
    service: Service = app.state.service
    most, at_once = room(raise_file_limit())
    dropped = service.metrics.dropped
    guard = Connections(
        most, service.settings.patience, count_dropped=lambda why: dropped.labels(why).inc()
    )

    async def each_second() -> None:
        """Close connections that have been idle too long; once a minute, delete what is due."""
        await guard.sweep()
        try:
            await service.each_minute()
        except StoreError as problem:
            service.note_store(cause_of(problem))
        except DevoteError as problem:  # the server goes on whatever is wrong with an experiment
            service.log.write("warning", text=str(problem).partition("\n")[0])

    config = uvicorn.Config(
        app,
        listening.get("host", "127.0.0.1"),
        listening.get("port", 8600),
        ssl_certfile=certificate,
        ssl_keyfile=key,
        backlog=at_once,
        limit_concurrency=guard.most,
        callback_notify=each_second,
        **_OPTIONS,
    )
    server = guard.server = uvicorn.Server(config)
    service.connections, service.admin_port = guard, listening.get("admin_port")
    service.log.take_warnings()
    if guard.streams < service.settings.streams:
        service.log.write("few_files", connections=guard.most, streams=guard.streams)
    return server


def run_server(
    store: SqliteStore | str | Path,
    *,
    settings: Settings | None = None,
    extend: Callable[[Starlette], None] | None = None,
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
        log = app.state.service.log
        log.write("start", experiments=len(store.experiments()))
        if threading.current_thread() is threading.main_thread():
            # Uvicorn raises a signal again once it has stopped; it is no more than Ctrl+C.
            signal.signal(signal.SIGTERM, signal.default_int_handler)
        with suppress(KeyboardInterrupt):
            asyncio.run(server.serve(listeners(**listening)))
        log.write("stop")
    finally:
        store.close()
