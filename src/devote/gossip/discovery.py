"""Finding peers on a LAN by multicast DNS (``zeroconf``), for whoever wants it.

What is announced is the signed record of where a member listens, so an address that is found this
way is one that a member has announced: it is checked like any other.
"""

import asyncio
import json
import socket
from contextlib import suppress
from typing import Any

from zeroconf import ServiceInfo, ServiceStateChange
from zeroconf.asyncio import AsyncServiceBrowser, AsyncServiceInfo, AsyncZeroconf

from devote.gossip.exchange import Answers
from devote.gossip.settings import parse_address

SERVICE = "_devote._tcp.local."
PATIENCE_MS = 3_000


async def discover(answers: Answers) -> None:
    """Announce this device and take in what others announce, until cancelled."""
    fingerprint = answers.votes.spec.fingerprint
    looking: set[asyncio.Task[None]] = set()
    zeroconf = AsyncZeroconf()

    async def look(name: str) -> None:
        info = AsyncServiceInfo(SERVICE, name)
        if await info.async_request(zeroconf.zeroconf, PATIENCE_MS):
            record = read_announced(info.properties, fingerprint)
            if record is not None:
                answers.peers.learn(record)

    def found(zeroconf: Any, service_type: str, name: str, state_change: Any) -> None:
        if state_change is not ServiceStateChange.Removed and len(looking) < 32:
            task = asyncio.ensure_future(look(name))
            looking.add(task)
            task.add_done_callback(looking.discard)

    try:
        if answers.record is not None:
            await zeroconf.async_register_service(announced(answers.record, fingerprint))
        AsyncServiceBrowser(zeroconf.zeroconf, SERVICE, handlers=[found])
        await asyncio.Event().wait()
    finally:
        for task in looking:
            task.cancel()
        await zeroconf.async_close()


def announced(record: dict[str, Any], fingerprint: str) -> Any:
    """What a member announces: its record, cut so that each part fits."""
    host, port = parse_address(record["address"])
    name = f"{record['voter'][:16]}.{SERVICE}"
    text = json.dumps(record, separators=(",", ":"))
    parts = {f"r{n}": text[at : at + 200] for n, at in enumerate(range(0, len(text), 200))}
    packed = [socket.inet_pton(socket.AF_INET6 if ":" in host else socket.AF_INET, host)]
    return ServiceInfo(
        SERVICE, name, port, addresses=packed, properties={"f": fingerprint[:32], **parts}
    )


def read_announced(properties: dict[Any, Any], fingerprint: str) -> Any:
    """The record in what was announced, None if it is for another experiment or is none."""
    with suppress(ValueError, AttributeError, TypeError):
        parts = {key.decode(): (value or b"").decode() for key, value in properties.items()}
        if parts.get("f") == fingerprint[:32] and len(parts) <= 8:
            return json.loads("".join(parts[name] for name in sorted(parts) if name != "f"))
    return None
