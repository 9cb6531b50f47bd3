"""Answering peers over HTTP, inside the device's process: uvicorn, and bounds on everything.

Whoever connects is bounded: requests by the second and by the address they come from, bodies and
how long they take, connections, also those that never finish a request. What is too much is
refused before it is read.
"""

import asyncio
import ipaddress
import json
import socket
import ssl
import weakref
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from devote.boards.experiment import VERSION_HEADER
from devote.gossip.exchange import PATHS, Answers
from devote.gossip.settings import GossipError, GossipSettings, parse_address
from devote.protocol.wire import VERSION
from devote.server.limits import RateLimit

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
App = Callable[[Any, Receive, Send], Awaitable[None]]

COST_OF_BAD = 20
"""A request that is not valid uses up as much as so many others."""


class GossipApp:
    """The routes for peers; ``page`` takes whatever else is asked for, if somebody shows one."""

    def __init__(self, answers: Answers, settings: GossipSettings, page: App | None = None) -> None:
        self._answers = answers
        self._settings = settings
        self._page = page
        self._limit = RateLimit(rate=settings.rate, burst=settings.burst, most=1_024)
        self.requests = self.refused = self.received = self.sent = 0

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            return
        path, method = scope["path"], scope["method"]
        self.requests += 1
        host = sender((scope.get("client") or ("",))[0])
        if self._limit.wait(host):
            self.refused += 1
            await self._reply(send, 429, {"error": "Too many requests.\nTry again later."})
            return
        if path not in PATHS:
            if self._page is not None and method in ("GET", "HEAD"):
                await self._page(scope, receive, send)
            else:
                await self._reply(send, 404, {"error": "There is nothing here.\nSee docs/wire.md."})
            return
        if method != "POST":
            self.refused += 1
            await self._reply(send, 405, {"error": "Peers ask by POST.\nSee docs/wire.md."})
            return
        body = await self._read(scope, receive)
        if body is None:
            status, told = 413, {"error": "The body is too large or too slow.\nSend less."}
        else:
            status, told = await asyncio.to_thread(self._answers.answer, path, body)
        if status in (413, 422):
            self.refused += 1
            for _ in range(COST_OF_BAD):
                self._limit.wait(host)
        await self._reply(send, status, told)

    async def _read(self, scope: Any, receive: Receive) -> bytes | None:
        length = dict(scope["headers"]).get(b"content-length", b"0")
        if not length.isdigit() or int(length[:20]) > self._settings.body:
            return None
        body = bytearray()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._settings.patience):
                while len(body) <= self._settings.body:
                    message = await receive()
                    if message["type"] != "http.request":
                        return None
                    body += message.get("body", b"")
                    if not message.get("more_body"):
                        self.received += len(body)
                        return bytes(body)
        return None

    async def _reply(self, send: Send, status: int, told: dict[str, Any]) -> None:
        body = json.dumps(told, separators=(",", ":")).encode()
        self.sent += len(body)
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (VERSION_HEADER.lower().encode(), str(VERSION).encode()),
        ]
        if status == 413:
            headers.append((b"connection", b"close"))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def sender(host: str) -> str:
    """Whose requests count together: an address, or all of one IPv6 network of 64 bits.

    >>> sender("10.0.0.7"), sender("fd00::1:7")
    ('10.0.0.7', 'fd00::/64')
    """
    if ":" not in host:
        return host
    return str(ipaddress.IPv6Network((host.partition("%")[0], 64), strict=False))


FAREWELL = 3.0
"""Seconds in which answers may be finished before connections are cut."""


class _Door(socket.socket):
    """A listening socket that lets in so many at a time, and half as many of one sender.

    Uvicorn counts requests, and a connection on which none is made only costs whoever accepts it.
    """

    most = 128

    def __init__(self, bound: socket.socket) -> None:
        super().__init__(fileno=bound.detach())
        self._inside: weakref.WeakKeyDictionary[socket.socket, str] = weakref.WeakKeyDictionary()

    def accept(self) -> tuple[socket.socket, Any]:
        """The next connection; one too many is closed at once."""
        let_in, address = super().accept()
        who = sender(address[0])
        inside = Counter(host for one, host in self._inside.items() if one.fileno() != -1)
        if inside.total() >= self.most or inside[who] >= max(1, self.most // 2):
            let_in.close()
            raise ConnectionAbortedError
        self._inside[let_in] = who
        return let_in, address


class _Impatient(H11Protocol):
    """Closes a connection on which no request was finished, or no answer read, for too long.

    A page may go on answering for as long as somebody looks at it.
    """

    patience = 10.0
    _watch: asyncio.TimerHandle | None = None
    _seen: object = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to watch."""
        super().connection_made(transport)
        self._watch = self.loop.call_later(self.patience, self._look)

    def _look(self) -> None:
        is_old, cycle = self.cycle is self._seen, self.cycle
        is_done = cycle is None or cycle.response_complete
        if self.transport.is_closing() or (is_old and not is_done and cycle.scope["path"] in PATHS):
            self.transport.abort()  # to close would wait until what was written is read
            return
        if is_old and is_done:
            self.transport.close()
        self._seen = cycle
        self._watch = self.loop.call_later(self.patience, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop watching."""
        if self._watch is not None:
            self._watch.cancel()
        super().connection_lost(exc)


class _Quiet(uvicorn.Server):
    """Uvicorn, but the program's signals stay the program's."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


class Listener:
    """A socket on which peers are answered; ``address`` is where it is bound."""

    def __init__(self, settings: GossipSettings) -> None:
        host, port = parse_address(settings.listen)
        try:
            bound = socket.create_server((host, port), family=_family(host), backlog=256)
        except OSError as error:
            raise GossipError(
                f"{settings.listen} cannot be listened on: {error.strerror}.\n"
                "End what listens there, or listen on another address or port."
            ) from None
        self._socket = _Door(bound)
        self._socket.most = 4 * settings.connections
        host, port = self._socket.getsockname()[:2]
        self.address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._settings = settings
        self._task: asyncio.Task[None] | None = None

    async def start(self, app: App) -> None:
        """Answer until ``aclose``."""
        settings = self._settings
        tls: dict[str, Any] = {}
        if settings.certificate is not None:
            tls = {
                "ssl_certfile": settings.certificate,
                "ssl_keyfile": settings.key,
                "ssl_ca_certs": settings.authority,
                "ssl_cert_reqs": ssl.CERT_REQUIRED if settings.mutual else ssl.CERT_NONE,
            }
        config = uvicorn.Config(
            app,
            http=_Impatient,
            ws="none",
            lifespan="off",
            access_log=False,
            log_config=None,
            log_level="critical",
            server_header=False,
            date_header=False,
            proxy_headers=False,
            limit_concurrency=4 * settings.connections + 1,  # the door is narrower
            timeout_keep_alive=int(4 * settings.period) + 1,
            timeout_graceful_shutdown=1,
            backlog=256,
            **tls,
        )
        self._server = _Quiet(config)
        self._task = asyncio.create_task(self._server.serve(sockets=[self._socket]))
        while not self._server.started and not self._task.done():
            await asyncio.sleep(0.005)
        if self._task.done():
            raise GossipError(
                f"{settings.listen} cannot be served ({self._task.exception()!r}).\n"
                "Check the address and the TLS files."
            )

    async def aclose(self) -> None:
        """Stop answering."""
        if self._task is not None:
            self._server.should_exit = True
            await asyncio.wait({self._task}, timeout=FAREWELL)
            self._task.cancel()
            for left in list(self._server.server_state.connections):
                left.transport.abort()
            await asyncio.sleep(0)  # then they are closed
        self._socket.close()


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
