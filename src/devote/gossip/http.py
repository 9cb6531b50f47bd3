"""Gossip over HTTP: asking a peer, and answering peers inside the device's process.

Everything that a peer could make long or large is bounded, in both directions. Who is asked gets
one request and has ``patience`` seconds for an answer of bounded size, which is not compressed. Who
asks is bounded by the second and by the address it comes from; bodies and how long they take are,
and connections, also those that never finish a request: one address has at most half of them
(``server.limits.Connections``). What is too much is refused before it is read.
"""

import asyncio
import ipaddress
import json
import socket
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Protocol

import httpx
import uvicorn

from devote.boards.board import VERSION_HEADER
from devote.gossip.exchange import (
    MOST_ITEMS,
    PATHS,
    Answers,
    PeerLied,
    Unreachable,
)
from devote.gossip.settings import GossipError, GossipSettings, parse_address
from devote.gossip.votes import Item
from devote.protocol.messages import VERSION
from devote.server.limits import Connections, RateLimit

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
App = Callable[[Any, Receive, Send], Awaitable[None]]

COST_OF_BAD = 20
"""A request that is not valid uses up as much as so many others."""

FAREWELL = 3.0
"""Seconds in which answers may be finished before connections are cut."""

IDLE = 10.0
"""Seconds for which a peer may keep a connection without asking, or without reading the answer."""

HEADERS = {
    "Content-Type": "application/json",
    "User-Agent": "devote",
    "Accept-Encoding": "identity",
    VERSION_HEADER: str(VERSION),
}


class Dials(Protocol):
    """What takes a body to a path at an address, and gives the answer's body."""

    async def __call__(self, address: str, path: str, body: bytes) -> bytes:
        """Unreachable or PeerLied if there is no answer, or none that counts."""
        ...

    async def aclose(self) -> None:
        """Close what was opened."""
        ...


class Dialler:
    """HTTP to peers; no cookie, no redirect, no proxy, and an answer within ``settings.patience``.

    ``sent`` and ``received`` count the bytes of bodies. ``source`` is the address to dial from; by
    default the system chooses, as it knows the way to each peer.
    """

    def __init__(self, settings: GossipSettings, *, source: str | None = None) -> None:
        self._settings = settings
        limits = httpx.Limits(
            max_connections=settings.connections,
            max_keepalive_connections=8,
            keepalive_expiry=2.5 * settings.period,
        )
        transport = httpx.AsyncHTTPTransport(
            verify=settings.client_context(), limits=limits, local_address=source, trust_env=False
        )
        self._client = httpx.AsyncClient(
            transport=transport,
            headers=HEADERS,
            trust_env=False,
            timeout=httpx.Timeout(settings.patience, connect=settings.patience / 2),
        )
        self.sent = self.received = 0

    async def __call__(self, address: str, path: str, body: bytes) -> bytes:
        """One request."""
        url = f"{self._settings.scheme}://{address}{path}"
        self.sent += len(body)
        self._client.cookies.clear()
        try:
            async with (
                asyncio.timeout(self._settings.patience),
                self._client.stream("POST", url, content=body) as response,
            ):
                return await self._read(address, response)
        except (TimeoutError, httpx.HTTPError, OSError, httpx.InvalidURL) as error:
            why = f" over TLS: {error}" if "SSL" in str(error) else ""
            raise Unreachable(
                f"{address} does not answer{why}.\nIt is asked again later."
            ) from None

    async def _read(self, address: str, response: httpx.Response) -> bytes:
        body = bytearray()
        async for part in response.aiter_raw():
            body += part
            self.received += len(part)
            if len(body) > self._settings.body:
                raise PeerLied(f"{address} answers without end.\nIt is left alone.")
        version, status = response.headers.get(VERSION_HEADER), response.status_code
        if status in (429, 503):
            raise Unreachable(f"{address} has too much to do.\nIt is asked again later.")
        if version != str(VERSION):
            what = "no version of devote" if version is None else f"version {version[:20]!r}"
            raise PeerLied(
                f"{address} has {what}, this end version {VERSION}.\n"
                "Check the address, or upgrade the older of the two."
            )
        if status == 409:
            raise PeerLied(
                f"{address} takes part in another experiment or specification.\n"
                "Give the address of a peer of this one."
            )
        if status != 200:
            raise PeerLied(f"{address} answered {status}.\nIt is left alone for a while.")
        return bytes(body)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.aclose()


async def hand_over(
    settings: GossipSettings, fingerprint: str, address: str, items: list[Item]
) -> None:
    """Hand items to a device that listens somewhere, without being one."""
    call = Dialler(settings)
    try:
        for first in range(0, len(items), MOST_ITEMS):
            some = items[first : first + MOST_ITEMS]
            body = json.dumps({"fingerprint": fingerprint, "items": some}).encode()
            await call(address, "/gossip/push", body)
    finally:
        await call.aclose()


class GossipApp:
    """The routes for peers; ``page`` takes whatever else is asked for, if somebody shows one."""

    def __init__(self, answers: Answers, settings: GossipSettings, page: App | None = None) -> None:
        self._answers = answers
        self._settings = settings
        self._page = page
        self._limit = RateLimit(rate=settings.rate, burst=settings.burst, most=1_024)
        self.refused = self.received = self.sent = 0

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            return
        path, method = scope["path"], scope["method"]
        host = sender((scope.get("client") or ("",))[0])
        if self._limit.wait(host):
            status, answer = 429, {"error": "Too many requests.\nTry again later."}
        elif path in PATHS and method == "POST":
            body = await self._read(scope, receive)
            if body is None:
                status, answer = 413, {"error": "The body is too large or too slow.\nSend less."}
            else:
                status, answer = await asyncio.to_thread(self._answers.answer, path, body)
        elif path in PATHS:
            status, answer = 405, {"error": "Peers ask by POST.\nSee docs/wire.md."}
        elif self._page is not None and method in ("GET", "HEAD"):
            await self._page(scope, receive, send)
            return
        else:
            status, answer = 404, {"error": "There is nothing here.\nSee docs/wire.md."}
        self.refused += status in (405, 413, 422, 429)
        if status in (413, 422):
            self._limit.charge(host, COST_OF_BAD)
        await self._reply(send, status, answer)

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

    async def _reply(self, send: Send, status: int, answer: dict[str, Any]) -> None:
        body = json.dumps(answer, separators=(",", ":")).encode()
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
        self._server = uvicorn.Server(config)
        guard.server = self._server
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
