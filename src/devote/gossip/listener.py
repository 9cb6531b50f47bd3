"""Answering peers over HTTP, inside the device's process: uvicorn, and bounds on everything.

Whoever connects is bounded: requests by the second and by the address they come from, bodies and
how long they take, connections, also those that never finish a request: one address has at most
half of them (``server.limits.Connections``). What is too much is refused before it is read.
"""

import asyncio
import ipaddress
import json
import socket
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import uvicorn

from devote.boards.experiment import VERSION_HEADER
from devote.gossip.exchange import PATHS, Answers
from devote.gossip.settings import GossipError, GossipSettings, parse_address
from devote.protocol.wire import VERSION
from devote.server.limits import Connections, RateLimit

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


IDLE = 10.0
"""Seconds for which a peer may keep a connection without asking, or without reading the answer."""


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
        self._socket = bound
        bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
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
        guard = Connections(4 * settings.connections, IDLE, of=lambda one: sender(one.client[0]))
        config = uvicorn.Config(
            app,
            http="h11",
            ws="none",
            lifespan="off",
            access_log=False,
            log_config=None,
            log_level="critical",
            server_header=False,
            date_header=False,
            proxy_headers=False,
            limit_concurrency=guard.most + 1,
            callback_notify=guard.sweep,
            timeout_notify=0,
            timeout_keep_alive=int(4 * settings.period) + 1,
            timeout_graceful_shutdown=1,
            backlog=256,
            **tls,
        )
        self._server = server = uvicorn.Server(config)
        guard.listed = lambda: server.server_state.connections
        self._task = asyncio.create_task(self._run(config))
        while not self._server.started and not self._task.done():
            await asyncio.sleep(0.005)
        if self._task.done():
            raise GossipError(
                f"{settings.listen} cannot be served ({self._task.exception()!r}).\n"
                "Check the address and the TLS files."
            )

    async def _run(self, config: uvicorn.Config) -> None:
        """Serve as ``uvicorn.Server.serve`` does; but the program's signals stay the program's."""
        config.load()
        self._server.lifespan = config.lifespan_class(config)
        await self._server.startup([self._socket])
        await self._server.main_loop()
        await self._server.shutdown([self._socket])

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
