"""How many connections there may be, and for how long a peer may keep one without using it.

Each connection takes a file, and files are few. Before they run out the connection that has idled
the longest is ended to make room, and when all are in use a new one is told so. A peer that sends
half a request, or does not read its answer, is dropped when its time is over, however little it
costs the peer to wait.
"""

import asyncio
import resource
import socket
from collections import OrderedDict
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from devote.server.metrics import Metrics

RESERVED = 64
"""Files that are not connections: the store, its log, sockets that listen, libraries."""

MOST_FILES = 1_048_576
ACCEPTED = 2_048
"""At most so many connections are accepted at once."""

_FULL = (
    b'{"error": "The server has no room for one more connection.\\nTry again in a minute."}',
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 60\r\n"
    b"Connection: close\r\nDevote-Version: 2\r\nContent-Length: %d\r\n\r\n",
)


def raise_file_limit() -> int:
    """Allow this process as many files as the system lets it have; how many that is."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return MOST_FILES if soft == resource.RLIM_INFINITY else soft


def answer_at_once(transport: asyncio.BaseTransport) -> None:
    """Send the second half of an answer without waiting for the peer to confirm the first.

    That would take 40 ms at each request; asyncio sees to it only for sockets that it makes itself.
    """
    opened = transport.get_extra_info("socket")
    if opened is not None and opened.family in (socket.AF_INET, socket.AF_INET6):
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


class Connections:
    """The open connections of a server that may have so many ``files``.

    ``most`` is how many there may be, ``at_once`` how many are accepted in one go, ``streams`` how
    many of them may be streams. ``patience`` is for how many seconds a peer may stall.
    """

    def __init__(self, files: int, patience: float, metrics: Metrics) -> None:
        self.at_once = max(1, min(ACCEPTED, files // 4))
        self.most = max(8, files - RESERVED - self.at_once)
        self.streams = self.most // 2
        self.metrics = metrics
        self._patience = patience
        self._open: set[GuardedProtocol] = set()
        self._idle: OrderedDict[GuardedProtocol, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open)

    def add(self, connection: "GuardedProtocol") -> bool:
        """Take in a new connection; False if there is no room for it."""
        if len(self._open) >= self.most:
            if not self._idle:
                self.metrics.count_dropped("full")
                return False
            self._drop(next(iter(self._idle)), "idle")
        self._open.add(connection)
        self._idle[connection] = None
        return True

    def remove(self, connection: "GuardedProtocol") -> None:
        """Forget a connection that has ended."""
        self._open.discard(connection)
        self._idle.pop(connection, None)

    def mark(self, connection: "GuardedProtocol", *, is_idle: bool) -> None:
        """Note that a connection waits for a request, or has one."""
        self._idle.pop(connection, None)
        if is_idle and connection in self._open:
            self._idle[connection] = None

    def sweep(self, now: float) -> None:
        """Drop who has stalled for too long; called every now and then."""
        for connection in list(self._open):
            if why := connection.stalled(now, self._patience):
                self._drop(connection, why)

    def _drop(self, connection: "GuardedProtocol", why: str) -> None:
        self.metrics.count_dropped(why)
        self.remove(connection)
        connection.transport.abort()  # closing would wait for a peer who does not read


class GuardedProtocol(H11Protocol):
    """HTTP on one connection, which says since when its peer has been stalling."""

    guard: Connections

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, if there is room."""
        super().connection_made(transport)
        answer_at_once(transport)
        self._since = self.loop.time()
        self._unread = 0
        self._unread_since = self._since
        if not self.guard.add(self):
            body, head = _FULL
            transport.write(head % len(body) + body)
            transport.close()

    def data_received(self, data: bytes) -> None:
        """Take in what was sent."""
        super().data_received(data)
        if self._is_busy:
            self.guard.mark(self, is_idle=False)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self._since = self.loop.time()
        self.guard.mark(self, is_idle=True)
        super().on_response_complete()
        if self._is_busy:  # by a request that came before its turn
            self.guard.mark(self, is_idle=False)

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self.guard.remove(self)
        super().connection_lost(exc)

    @property
    def _is_busy(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def stalled(self, now: float, patience: float) -> str:
        """Why to drop this connection, or nothing: its peer does not send, or does not read."""
        unread = self.transport.get_write_buffer_size()
        if unread == 0 or unread < self._unread:
            self._unread_since = now
        self._unread = unread
        if unread and now - self._unread_since >= patience:
            return "unread"
        if not self._is_busy and not unread and now - self._since >= patience:
            return "unasked"
        return ""


def guarded(connections: Connections) -> type[GuardedProtocol]:
    """The protocol of a server with these connections."""
    members: dict[str, Any] = {"guard": connections}
    return type("Guarded", (GuardedProtocol,), members)
