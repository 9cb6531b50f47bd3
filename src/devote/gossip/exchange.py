"""What two peers send each other: first a root, then digests, then what the other lacks.

``Answers`` is the side that is asked and ``meet`` the side that asks; neither knows of sockets. A
peer is believed nothing: what it sends is checked item by item, the first bad one ends the
exchange, and a peer whose set is always another but that never has anything new is left alone for
longer and longer.
"""

import asyncio
import json
import random
import secrets
import time
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from devote.boards.database import StoreError
from devote.boards.identity import Identity, verify_fields
from devote.errors import DevoteError
from devote.gossip import digests
from devote.gossip.credentials import Certificate
from devote.gossip.peers import Peer, PeerBook, sign_address
from devote.gossip.settings import GossipSettings
from devote.gossip.votes import Item, VoteSet
from devote.protocol.messages import parse_json

MOST_ITEMS = 200
"""Items in one body; a longer backlog takes several."""

MOST_IDS = 8_000
"""Ids and buckets in one body: less than it may weigh."""

IN_VAIN = 3
"""Meetings in a row, or offers of one item to one peer, that may come to nothing."""

TURNS = 64
"""Trades in one meeting at most."""

Call: TypeAlias = Callable[[str, str, bytes], Awaitable[bytes]]
"""Send a body to a path at an address; returns the answer's body or raises Unreachable."""


class Unreachable(DevoteError):
    """A peer does not answer, or not now."""


class PeerLied(DevoteError):
    """A peer answers what no honest peer of this experiment, and of this version, would."""


class Answers:
    """What a device answers to peers; ``address`` is where it listens, none if empty."""

    def __init__(self, votes: VoteSet, peers: PeerBook, settings: GossipSettings) -> None:
        self.votes = votes
        self.peers = peers
        self.settings = settings
        self.identity: Identity | None = None
        self.record: dict[str, Any] | None = None
        self.on_new: Callable[[list[Item]], None] = lambda items: None
        self.met = 0
        """How many exchanges have worked, in either direction."""

    def introduce(self, identity: Identity, address: str, sequence: int) -> None:
        """Announce from now on where this device listens."""
        self.identity = identity
        self.peers.me = identity.voter
        certificate = self.votes.certificates.get(identity.voter)
        if address and certificate is not None:
            self.record = sign_address(
                identity, certificate, self.votes, address=address, sequence=sequence
            )

    def answer(self, path: str, body: bytes) -> tuple[int, dict[str, Any]]:
        """The status and the answer to one request."""
        try:
            asked = parse_json(body.decode())
            if asked["fingerprint"] != self.votes.spec.fingerprint:
                fault = "This peer takes part in another experiment or specification."
                return 409, {"error": f"{fault}\nCompare the specifications of both."}
            return 200, _PATHS[path](self, asked)
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
            return 422, {"error": "This is not what a peer asks.\nSee docs/wire.md."}
        except StoreError:  # why, is this device's own business
            return 503, {"error": "This peer cannot use its store now.\nTry again later."}

    def _compare(self, asked: Any) -> dict[str, Any]:
        theirs, nonce = asked["root"], asked.get("who")
        if not isinstance(theirs, str):
            raise ValueError("another form")
        if asked.get("me") is not None:
            self.peers.learn(asked["me"])
        answer: dict[str, Any] = {"same": theirs == self.votes.root}
        if not answer["same"]:
            count = digests.bucket_count(len(self.votes.items))
            answer["buckets"] = _pack(self.votes.summary(count))
        elif self.record is None or asked.get("me") != self.record:  # itself is no company
            self.met += 1
        if nonce is not None and self.identity is not None and self.record is not None:
            if not isinstance(nonce, str) or len(nonce) != 32:
                raise ValueError("another form")
            fields = {"nonce": int(nonce, 16), "voter": self.identity.voter}
            proof = self.identity.sign_fields("peer", fields, self.votes.scope)
            answer["who"] = {"me": self.record, "proof": proof}
        if asked.get("peers"):
            answer["peers"] = self.peers.hand_out()
        return answer

    def _trade(self, asked: Any) -> dict[str, Any]:
        count, held = asked["count"], asked["held"]
        if not isinstance(count, int) or not digests.FEWEST <= count <= digests.MOST:
            raise ValueError("another number of buckets")
        theirs: set[bytes] = set()
        for ids in held.values():
            theirs |= digests.split(_unpack(ids))
        mine = digests.within(self.votes.ids(), map(int, held), count)
        items = self.votes.pick(mine - theirs, MOST_ITEMS)
        lacking = sorted(theirs - self.votes.ids())[:MOST_ITEMS]
        self.met += 1
        return {"items": items, "want": _pack(b"".join(lacking))}

    def _push(self, asked: Any) -> dict[str, Any]:
        items = asked["items"]
        if not isinstance(items, list) or len(items) > MOST_ITEMS:
            raise ValueError("too many")
        taken = self.votes.take(items)
        if taken.new:
            self.on_new(taken.new)
        if taken.bad:
            raise ValueError("not valid")
        self.met += 1
        return {"new": len(taken.new)}


_PATHS: dict[str, Callable[[Answers, Any], dict[str, Any]]] = {
    "/gossip/compare": Answers._compare,
    "/gossip/trade": Answers._trade,
    "/gossip/push": Answers._push,
}
PATHS = frozenset(_PATHS)


async def meet(own: Answers, peer: Peer, call: Call) -> None:
    """Exchange sets with a peer.

    Unreachable and PeerLied say what went wrong; what was taken before that is kept.
    """
    moved = False
    for turn in range(TURNS):
        answer = await compare_once(own, peer, call, first=turn == 0)
        if answer["same"]:
            moved = True
            break
        if not await _trade(own, peer, call, _unpack(answer["buckets"])):
            break
        moved = True
    peer.in_vain = 0 if moved else peer.in_vain + 1
    if peer.in_vain >= IN_VAIN:
        peer.in_vain = 0
        raise Unreachable(
            f"{peer.address} differs again and again, and has nothing new.\nIt is left alone."
        )
    own.met += 1


async def compare_once(own: Answers, peer: Peer, call: Call, *, first: bool = True) -> Any:
    """Compare roots with a peer; the first time it says who it is."""
    asking: dict[str, Any] = {"root": own.votes.root}
    nonce = secrets.token_hex(16)
    if first:
        if not peer.proven:
            asking |= {"who": nonce, "me": own.record}
        if own.peers.wants_more():
            asking["peers"] = True
    answer = await _ask(own, peer, call, "/gossip/compare", asking)
    try:
        if not isinstance(answer["same"], bool):
            raise TypeError
        if "who" in asking:
            _recognize(own, peer, answer.get("who"), nonce)
        if "peers" in asking:
            for record in answer["peers"][:8]:
                own.peers.learn(record)
        if not answer["same"]:
            size, rest = divmod(len(_unpack(answer["buckets"])), digests.DIGEST)
            if rest or size & (size - 1) or not digests.FEWEST <= size <= digests.MOST:
                raise ValueError
    except (KeyError, TypeError, ValueError):
        raise PeerLied(f"{peer.address} answers what no peer does.\nIt is left alone.") from None
    return answer


def _recognize(own: Answers, peer: Peer, who: Any, nonce: str) -> None:
    """Check who answers at a peer's address, and keep it as proved.

    It must sign our nonce with a key that is certified for this experiment. An announced address
    must be answered by the member who announced it; one that was given by hand may be any
    member's, or not say who it is as long as it has not before. ValueError: what no peer answers.
    """
    if who is None and peer.given and not peer.voter:
        return
    record = who["me"]
    fields = {"nonce": int(nonce, 16), "voter": record["voter"]}
    proven = verify_fields(record["voter"], "peer", fields, own.votes.scope, who["proof"])
    if not proven or (peer.voter and not peer.given and record["voter"] != peer.voter):
        raise ValueError
    certified = {"number": record["number"], "signature": record["certificate"]}
    certificate = Certificate.read({"voter": record["voter"], **certified})
    if certificate.fault(own.votes.spec):
        raise ValueError
    if certificate.number in own.votes.revoked:
        raise PeerLied(
            f"{peer.address} is member {certificate.number}, who was revoked.\nIt is left alone."
        )
    if certificate.voter == own.peers.me:
        raise Unreachable(f"{peer.address} is this device itself.\nGive the address of another.")
    own.peers.prove(peer, record)


async def _trade(own: Answers, peer: Peer, call: Call, theirs: bytes) -> bool:
    count = len(theirs) // digests.DIGEST
    votes = own.votes
    places = digests.differing(votes.summary(count), theirs)
    filled = digests.fill(votes.ids(), count)
    held: dict[str, str] = {}
    left = MOST_IDS
    for place in random.sample(places, len(places)):  # what does not fit has its turn later
        ids = filled.get(place, [])
        left -= len(ids) + 1
        if held and left < 0:
            break
        held[str(place)] = _pack(b"".join(ids))
    answer = await _ask(own, peer, call, "/gossip/trade", {"count": count, "held": held})
    try:
        items, wanted = answer["items"], digests.split(_unpack(answer["want"]))
        if not isinstance(items, list) or len(items) > MOST_ITEMS or len(wanted) > MOST_ITEMS:
            raise ValueError
    except (KeyError, TypeError, ValueError):
        raise PeerLied(f"{peer.address} answers what no peer does.\nIt is left alone.") from None
    taken = await asyncio.to_thread(votes.take, items)
    if taken.new:
        own.on_new(taken.new)
    if taken.bad:
        raise PeerLied(f"{peer.address} sent what is not valid.\nIt is left alone.")
    wanted &= votes.ids()
    if any(peer.pushed[item] >= IN_VAIN for item in wanted):
        peer.pushed.clear()  # it may have lost its store: after a rest it gets all again
        raise PeerLied(f"{peer.address} wants the same again and again.\nIt is left alone.")
    if wanted:
        reply = await push(own, peer, call, votes.pick(wanted, MOST_ITEMS))
        peer.pushed.update(wanted)
        return bool(taken.new) or reply > 0
    return bool(taken.new)


async def push(own: Answers, peer: Peer, call: Call, items: list[Item]) -> int:
    """Hand items to a peer; returns how many were new to it."""
    answer = await _ask(own, peer, call, "/gossip/push", {"items": items})
    new = answer.get("new") if isinstance(answer, dict) else None
    if not isinstance(new, int):
        raise PeerLied(f"{peer.address} answers what no peer does.\nIt is left alone.")
    return new


async def _ask(own: Answers, peer: Peer, call: Call, path: str, asking: dict[str, Any]) -> Any:
    body = {"fingerprint": own.votes.spec.fingerprint, **asking}
    answer = await call(peer.address, path, json.dumps(body, separators=(",", ":")).encode())
    try:
        return parse_json(answer.decode())
    except (ValueError, RecursionError):
        raise PeerLied(f"{peer.address} answers no JSON.\nIt is left alone.") from None


def _pack(data: bytes) -> str:
    return b64encode(data).decode()


def _unpack(text: Any) -> bytes:
    if not isinstance(text, str):
        raise TypeError("another type")
    return b64decode(text, validate=True)


@dataclass(frozen=True)
class PeerHealth:
    """How one peer stands: ``state`` is same, differs, silent or wrong; ``member`` its number."""

    address: str
    given: bool
    state: str
    member: int | None
    seconds: float | None
    detail: str = ""


async def check_peers(own: Answers, call: Call) -> list[PeerHealth]:
    """Ask all known peers at once: who is there, and does it hold the same votes?

    Nothing is exchanged but digests.
    """
    return list(await asyncio.gather(*(_check(own, p, call) for p in own.peers.known.values())))


async def _check(own: Answers, peer: Peer, call: Call) -> PeerHealth:
    began = time.perf_counter()
    try:
        answer = await compare_once(own, peer, call)
    except Unreachable as error:
        return PeerHealth(peer.address, peer.given, "silent", None, None, _line(error))
    except PeerLied as error:
        return PeerHealth(peer.address, peer.given, "wrong", None, None, _line(error))
    state = "same" if answer["same"] else "differs"
    member = answer["who"]["me"]["number"] if answer.get("who") else None
    return PeerHealth(peer.address, peer.given, state, member, time.perf_counter() - began)


def _line(error: Exception) -> str:
    return str(error).partition("\n")[0]
