"""What a stranger could use up, and what bounds it: rates, bodies, connections, other sites' pages.

Buckets are kept per experiment and per voter, not per address. Addresses are personal data that
this server neither stores nor needs, a whole company may share one, and behind a proxy they
are all the proxy's; a proxy is the place to limit by address. A bucket of posts is charged only
once the signature holds, so that nobody can use up another's by junk.

Uvicorn bounds the size of a request's head, the idle time of a connection and how many there are
(``serve``). It does not end a connection whose peer sends half a request or does not read its
answer: ``Connections.sweep`` does, which uvicorn calls every second.

A device that listens to its peers uses this module too, without the web framework.
"""

import asyncio
import math
import resource
import time
from collections import Counter
from collections.abc import AsyncIterable, Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from devote.boards.board import is_address
from devote.errors import DevoteError


class ServerError(DevoteError, ValueError):
    """A setting, an address or a certificate that cannot be used."""


class Refused(DevoteError):
    """A request that is answered with an error: a status, what is wrong, and what to do.

    ``facts`` are further fields of the answer.
    """

    def __init__(
        self, status: int, text: str, headers: Mapping[str, str] | None = None, **facts: str | None
    ) -> None:
        super().__init__(text)
        self.status = status
        self.headers = dict(headers or {})
        self.facts = {name: value for name, value in facts.items() if value is not None}


class RateLimit:
    """A bucket of ``burst`` tokens per key, refilled at ``rate`` per second.

    Of a bucket it is kept when it will be full again. At most ``most`` are remembered, those
    charged last; a forgotten one is full.

    >>> limit = RateLimit(rate=1.0, burst=2.0, clock=lambda: 0.0)
    >>> [limit.wait("a") for _ in range(3)], limit.wait("b")
    ([0.0, 0.0, 1.0], 0.0)
    """

    def __init__(
        self,
        *,
        rate: float,
        burst: float,
        most: int = 100_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rate = rate
        self._burst = burst
        self._most = most
        self._clock = clock
        self._full_at: dict[str, float] = {}

    def wait(self, key: str, cost: float = 1.0) -> float:
        """Take tokens: 0 if there were as many, else the seconds until there are."""
        cost, now = min(cost, self._burst), self._clock()
        until_full = max(0.0, self._full_at.get(key, now) - now)
        wait = until_full - (self._burst - cost) / self._rate
        if wait > 0.0:
            return wait
        self.charge(key, cost)
        return 0.0

    def charge(self, key: str, cost: float) -> None:
        """Take tokens for what has been done already, more than there are if need be."""
        now = self._clock()
        self._full_at[key] = max(now, self._full_at.pop(key, now)) + cost / self._rate
        if len(self._full_at) > self._most:
            del self._full_at[next(iter(self._full_at))]

    def check(self, key: str, what: str, cost: float = 1.0) -> None:
        """Take tokens, or refuse a request that came too soon."""
        if seconds := self.wait(key, cost):
            wait = str(math.ceil(seconds))
            text = f"Too many requests {what}.\nTry again in {wait} s."
            raise Refused(429, text, {"Retry-After": wait})


class Bodies:
    """Receives bodies, within their size and time, and only so many at once.

    Of more than that the one that has been arriving for the longest is given up: whole bodies
    take no time, so it is one that never ends.
    """

    def __init__(self, patience: float, at_once: int) -> None:
        self._patience = patience
        self._at_once = at_once
        self._arriving: list[asyncio.Timeout] = []

    async def read(self, length: str, chunks: AsyncIterable[bytes], most: int) -> bytes:
        """A body of at most so many bytes, whose Content-Length is ``length``."""
        too_large = Refused(413, f"The body is larger than {most} bytes.\nSend less.")
        if not length.isdecimal() or int(length[:20]) > most:
            raise too_large
        body = bytearray()
        try:
            async with asyncio.timeout(self._patience) as limit:
                self._arriving.append(limit)
                if len(self._arriving) > self._at_once:
                    self._arriving.pop(0).reschedule(0.0)
                try:
                    async for chunk in chunks:
                        body += chunk
                        if len(body) > most:
                            raise too_large
                finally:
                    if limit in self._arriving:
                        self._arriving.remove(limit)
        except TimeoutError:
            text = f"The body took more than {self._patience} s, or others were waiting."
            raise Refused(408, f"{text}\nSend it again.", {"Connection": "close"}) from None
        return bytes(body)


RESERVED = 64
"""Files that are not connections: the store, its log, sockets that listen, libraries."""

MOST_FILES = 1_048_576
ACCEPTED = 2_048
"""At most so many connections are accepted at once."""


def raise_file_limit() -> int:
    """Allow this process as many files as the system lets it have; how many that is."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return MOST_FILES if soft == resource.RLIM_INFINITY else soft


def room(files: int) -> tuple[int, int]:
    """How many connections a server with so many files may have, and accept in one go.

    >>> room(1_024)
    (704, 256)
    """
    at_once = max(1, min(ACCEPTED, files // 4))
    return max(8, files - RESERVED - at_once), at_once


class _Seen(NamedTuple):
    """What a connection is doing, and since when it has been doing just that."""

    cycle: Any
    is_busy: bool
    unread: int
    since: float


class Connections:
    """The open connections of a server, of which there may be ``most``.

    ``server`` is the ``uvicorn.Server`` that lists them, ``streams`` how many of them may be
    streams. A peer may stall for ``patience`` seconds. ``of`` says whose a connection is, if one
    peer may not have more than half of them all.
    """

    def __init__(
        self,
        most: int,
        patience: float,
        *,
        count_dropped: Callable[[str], None] = lambda why: None,
        of: Callable[[Any], str] | None = None,
    ) -> None:
        self.most = most
        self.streams = most // 2
        self.server: Any = None
        self._patience = patience
        self._count_dropped = count_dropped
        self._of = of
        self._seen: dict[Any, _Seen] = {}

    def __len__(self) -> int:
        return len(self.server.server_state.connections)

    @property
    def is_stopping(self) -> bool:
        """Whether the server has been told to stop."""
        return bool(self.server.should_exit)

    async def sweep(self) -> None:
        """Close connections that have stalled for too long, and what is too many.

        Idle ones go while more than three quarters of all places are taken, the longest idle first;
        and those of one peer beyond half of all places.
        """
        now = asyncio.get_running_loop().time()
        self._seen = {one: self._look(one, now) for one in self.server.server_state.connections}
        for one, seen in list(self._seen.items()):
            if now - seen.since >= self._patience and (seen.unread or not seen.is_busy):
                self._drop(one, "unread" if seen.unread else "unasked")
        idle = [one for one, seen in self._seen.items() if not seen.is_busy]
        idle.sort(key=lambda one: self._seen[one].since)
        for one in idle[: max(0, len(self._seen) - self.most * 3 // 4)]:
            self._drop(one, "idle")
        held: Counter[Any] = Counter()
        for one in list(self._seen):
            who = one if self._of is None else self._of(one)
            held[who] += 1
            if held[who] > max(1, self.most // 2):
                self._drop(one, "share")

    def _look(self, one: Any, now: float) -> _Seen:
        """What a connection is doing: a peer that reads nothing while more is sent stalls too."""
        cycle, unread = one.cycle, one.transport.get_write_buffer_size()
        seen = _Seen(cycle, cycle is not None and not cycle.response_complete, unread, now)
        before = self._seen.get(one, seen)
        is_same = before.cycle is cycle and before.is_busy == seen.is_busy
        stalls = unread >= before.unread if before.unread else unread == 0
        return seen._replace(since=before.since) if is_same and stalls else seen

    def _drop(self, one: Any, why: str) -> None:
        self._count_dropped(why)
        del self._seen[one]
        one.transport.abort()  # closing would wait for a peer who does not read


def check_origin(origin: str) -> str:
    """An origin as browsers write it, or ServerError.

    >>> check_origin("https://shop.example")
    'https://shop.example'
    """
    parts = urlsplit(origin) if is_address(origin) else None
    if parts is None or f"{parts.scheme}://{parts.netloc}" != origin or set("@*") & set(origin):
        fault = "is not the origin of a page"
    elif origin != origin.lower() or not origin.isascii():
        fault = "is not written as browsers write it"
    elif parts.port == {"http": 80, "https": 443}[parts.scheme]:
        fault = "names the port that browsers leave out"
    else:
        return origin
    raise ServerError(
        f"{origin!r} {fault}.\nGive each origin on its own, like https://shop.example or "
        "http://127.0.0.1:8000: no path, no *, lower case."
    )
