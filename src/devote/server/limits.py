"""What a stranger could use up, and what bounds it: rates, bodies, connections, other sites' pages.

Buckets are kept per experiment and per voter, not per address. Addresses are personal data that
this server neither stores nor needs, a whole company may share one, and behind a proxy they
are all the proxy's; a proxy is the place to limit by address. A bucket of posts is charged only
once the signature holds, so that nobody can use up another's by junk.

Uvicorn bounds the size of a request's head, the idle time of a connection and how many there are
(``serve``). It does not end a connection whose peer sends half a request or does not read its
answer: ``Connections.sweep`` does, which uvicorn calls every second. It looks at the connections
that uvicorn lists and ends those that have not moved for too long, and the ones that have idled the
longest when there are many.
"""

import asyncio
import math
import re
import resource
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from devote.boards.board import VERSION_HEADER, is_address
from devote.errors import DevoteError
from devote.protocol.wire import VERSION

if TYPE_CHECKING:  # a device that listens to its peers starts without the web framework
    from starlette.datastructures import Headers


class ServerError(DevoteError, ValueError):
    """A setting, an address or a certificate that cannot be used."""


class Refused(DevoteError):
    """A request that is answered with an error: a status, what is wrong, and what to do.

    ``cause`` is that of a receipt; ``is_outcome`` marks the board's own refusal.
    """

    def __init__(
        self,
        status: int,
        text: str,
        *,
        cause: str | None = None,
        is_outcome: bool = False,
        **headers: str,
    ) -> None:
        super().__init__(text)
        self.status = status
        self.cause = cause
        self.is_outcome = is_outcome
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


class RateLimit:
    """A bucket of ``burst`` tokens per key, refilled at ``rate`` per second.

    At most ``most`` keys are remembered, the latest; a forgotten one starts full.

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
        self.rate = rate
        self.burst = burst
        self._most = most
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, key: str, cost: float = 1.0) -> float:
        """Take tokens: 0 if there were as many, else the seconds until there are."""
        if math.isinf(self.rate):
            return 0.0
        tokens = self._tokens(key)
        cost = min(cost, self.burst)
        wait = 0.0 if tokens >= cost else (cost - tokens) / self.rate
        self._keep(key, tokens if wait else tokens - cost)
        return wait

    def charge(self, key: str, cost: float) -> None:
        """Take tokens for what has been done already, more than there are if need be."""
        if cost > 0 and not math.isinf(self.rate):
            self._keep(key, self._tokens(key) - cost)

    def _tokens(self, key: str) -> float:
        now = self._clock()
        tokens, then = self._buckets.pop(key, (self.burst, now))
        return min(self.burst, tokens + max(0.0, now - then) * self.rate)

    def _keep(self, key: str, tokens: float) -> None:
        self._buckets[key] = (tokens, self._clock())
        if len(self._buckets) > self._most:
            self._buckets.popitem(last=False)


def too_many(seconds: float, what: str) -> Refused:
    """The refusal of a request that came too soon."""
    wait = str(math.ceil(seconds))
    return Refused(429, f"Too many requests {what}.\nTry again in {wait} s.", Retry_After=wait)


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


@dataclass
class _Seen:
    """What a connection was doing at a sweep, and since when it has been doing just that."""

    cycle: Any
    is_busy: bool
    unread: int
    since: float


class Connections:
    """The open connections of a server, of which there may be ``most``.

    ``streams`` is how many of them may be streams. ``patience`` is for how many seconds a peer may
    stall, ``of`` says whose a connection is if one peer may not have more than half of them all.
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
        self.streams = self.most // 2
        self.listed: Callable[[], Iterable[Any]] = lambda: ()
        """The connections that are open, once uvicorn has begun to list them."""
        self._patience = patience
        self._count_dropped = count_dropped
        self._of = of
        self._seen: dict[Any, _Seen] = {}

    def __len__(self) -> int:
        return len(list(self.listed()))

    async def sweep(self) -> None:
        """End those who have stalled for too long, and idle ones if there are many."""
        now = asyncio.get_running_loop().time()
        there = list(self.listed())
        self._seen = {one: self._looked_at(one, now) for one in there}
        for one in there:
            if why := self._stalled(self._seen[one], now):
                self._drop(one, why)
        idle = [one for one, seen in self._seen.items() if not seen.is_busy]
        idle.sort(key=lambda one: self._seen[one].since)
        for one in idle[: max(0, len(self._seen) - self.most * 3 // 4)]:
            self._drop(one, "idle")
        if self._of is not None:
            self._share(self._of)

    def _share(self, of: Callable[[Any], str]) -> None:
        whose = {one: of(one) for one in self._seen}
        held = Counter(whose.values())
        for one, who in whose.items():
            if held[who] > max(1, self.most // 2):
                held[who] -= 1
                self._drop(one, "share")

    def _looked_at(self, one: Any, now: float) -> _Seen:
        cycle = one.cycle
        is_busy = cycle is not None and not cycle.response_complete
        unread = one.transport.get_write_buffer_size()
        before = self._seen.get(one)
        moved = (
            before is None
            or before.cycle is not cycle
            or before.is_busy != is_busy
            or unread < before.unread
            or (unread > 0 and before.unread == 0)
        )
        return _Seen(cycle, is_busy, unread, now if moved or before is None else before.since)

    def _stalled(self, seen: _Seen, now: float) -> str:
        if now - seen.since < self._patience:
            return ""
        return "unread" if seen.unread else "" if seen.is_busy else "unasked"

    def _drop(self, one: Any, why: str) -> None:
        self._count_dropped(why)
        del self._seen[one]
        one.transport.abort()  # closing would wait for a peer who does not read


DEVICES = {
    "": ("GET",),
    "/join": ("POST",),
    "/enrolments": ("POST",),
    "/messages": ("GET", "POST"),
    "/tally": ("GET",),
}
"""What a device asks of ``/experiments/{name}``, and how."""

_DEVICE_ROUTE = re.compile(r"/experiments/[^/]+(/join|/enrolments|/messages|/tally|)")
_REMEMBERED = "7200"
"""Seconds for which a browser need not ask again; none remembers it for longer."""


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


class Origins:
    """Pages of other sites: which of them a browser lets talk to the routes of devices.

    None, unless the operator names them. A page of a named origin may use what a device needs and
    no more: not the operator's calls, and not the list of experiments. No answer allows cookies or
    other credentials. A page of another origin gets the answers that anybody gets, which its
    browser hides from it, and cannot post: a body of JSON is asked about first, and a request to
    join, which is not, is refused.
    """

    def __init__(self, allowed: Collection[str]) -> None:
        self._allowed = frozenset(check_origin(origin) for origin in allowed)

    def methods(self, path: str) -> tuple[str, ...]:
        """What a page of another site may do at a path, if it is of a named origin."""
        found = _DEVICE_ROUTE.fullmatch(path)
        return () if found is None else DEVICES[found[1]]

    def grants(self, path: str, method: str, headers: "Headers") -> dict[str, str]:
        """The headers with which an answer lets a page read it."""
        if not self._allowed or not (methods := self.methods(path)):
            return {}
        granted = {"Vary": "Origin"}
        if method in methods and headers.get("origin") in self._allowed:
            granted["Access-Control-Allow-Origin"] = headers["origin"]
            granted["Access-Control-Expose-Headers"] = f"{VERSION_HEADER}, Retry-After"
        return granted

    def preflight(self, path: str, headers: "Headers") -> dict[str, str] | None:
        """The answer to what a browser asks before it posts JSON from another site; None if no.

        KeyError if this is no such question, or pages may ask nothing here.
        """
        asked = headers["access-control-request-method"]
        methods = self.methods(path)
        if not self._allowed or not methods:
            raise KeyError(path)
        if headers.get("origin") not in self._allowed or asked not in methods:
            return None
        return {
            "Access-Control-Allow-Origin": headers["origin"],
            "Access-Control-Allow-Methods": ", ".join(methods),
            "Access-Control-Allow-Headers": "Content-Type",
            "Access-Control-Max-Age": _REMEMBERED,
            VERSION_HEADER: str(VERSION),
        }

    def check_simple(self, headers: "Headers") -> None:
        """Refuse what a browser sends without a preflight for a page of an unnamed origin."""
        origin = headers.get("origin")
        if origin is None or origin in self._allowed:
            return
        if urlsplit(origin).netloc != headers.get("host"):
            raise Refused(
                403, "Pages of this origin may not do this.\nThe operator allows origins by name."
            )
