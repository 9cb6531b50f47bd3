"""Asking a peer over HTTP, with a bound on everything that it could make long."""

import asyncio
import json
from typing import Protocol

import httpx

from devote.boards.experiment import VERSION_HEADER
from devote.gossip.exchange import MOST_ITEMS, NotThisExperiment, PeerLied, Unreachable
from devote.gossip.items import Item
from devote.gossip.settings import GossipSettings
from devote.protocol.wire import VERSION

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
        self.requests = self.sent = self.received = 0

    async def __call__(self, address: str, path: str, body: bytes) -> bytes:
        """One request."""
        url = f"{self._settings.scheme}://{address}{path}"
        self.requests += 1
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
            raise NotThisExperiment(
                f"{address} speaks {what}, this end version {VERSION}.\n"
                "Check the address, or upgrade the older of the two."
            )
        if status == 409:
            raise NotThisExperiment(
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
