"""Asking each known peer once: who answers there, and does it hold the same votes?"""

import asyncio
import time
from dataclasses import dataclass

from devote.gossip.dialler import Dials
from devote.gossip.exchange import Answers, PeerLied, Unreachable, compare_once
from devote.gossip.peers import Peer


@dataclass(frozen=True)
class PeerHealth:
    """How one peer stands: ``state`` is same, differs, silent or wrong; ``member`` its number."""

    address: str
    given: bool
    state: str
    member: int | None
    seconds: float | None
    detail: str = ""


async def check_peers(own: Answers, call: Dials) -> list[PeerHealth]:
    """Ask all known peers at once; nothing is exchanged but digests."""
    try:
        return list(await asyncio.gather(*(_ask(own, p, call) for p in own.peers.known.values())))
    finally:
        await call.aclose()


async def _ask(own: Answers, peer: Peer, call: Dials) -> PeerHealth:
    began = time.perf_counter()
    try:
        told = await compare_once(own, peer, call)
    except Unreachable as error:
        return PeerHealth(peer.address, peer.given, "silent", None, None, _line(error))
    except PeerLied as error:
        return PeerHealth(peer.address, peer.given, "wrong", None, None, _line(error))
    state = "same" if told["same"] else "differs"
    member = told["who"]["me"]["number"] if told.get("who") else None
    return PeerHealth(peer.address, peer.given, state, member, time.perf_counter() - began)


def _line(error: Exception) -> str:
    return str(error).partition("\n")[0]
