"""Whom a device knows: addresses that an operator gave, and addresses that members announced.

A member signs where it listens itself, so the only addresses that are ever dialled come from an
operator or from somebody the issuer has certified, and each member can name one. An announced
address is an IP in an allowed network. The first time it is dialled, whoever answers must prove to
be that very member; an address that does not is tried a few times, ever more rarely, and forgotten.
All of a member's addresses together are tried ``IN_VAIN`` times. So a member who names somebody
else's address costs that one a handful of small requests, and takes it from nobody who answers
there.

Rounds count, not seconds: no clock is asked.
"""

import json
import random
import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from devote.boards.identity import Identity, verify_fields
from devote.gossip.credentials import Certificate
from devote.gossip.settings import GossipError, GossipSettings, parse_address
from devote.gossip.votes import VoteSet

RECORD_FIELDS = {"voter", "number", "certificate", "address", "sequence", "signature"}
HANDED = 8
"""At most so many addresses are handed out at a time."""

LONGEST_WAIT, LONGEST_WAIT_UNPROVEN = 8, 64
FORGOTTEN_AFTER = 6
"""Rounds without a peer that failed, and failures after which an announced address is forgotten."""

RARELY = 64
"""Rounds between two questions for addresses while nothing new comes."""

IN_VAIN = 18
"""So often a member's addresses may be dialled in vain; then none is taken from it until a restart.
"""

GIVEN_SHARE = 0.25
"""How often a peer is picked among those that an operator gave, whoever else is known."""


@dataclass
class Peer:
    """One address: who answers there, if a member announced it, and how it went."""

    address: str
    given: bool
    voter: str = ""
    sequence: int = -1
    record: str = field(default="", repr=False)
    proven: bool = False
    fails: int = 0
    waits_until: int = 0
    answered: int = 0
    """How often it has answered since the start."""

    in_vain: int = 0
    pushed: Counter[bytes] = field(default_factory=Counter, repr=False)
    """Meetings in a row that came to nothing, and how often each item was handed to it."""


class PeerBook:
    """The addresses of one device, in its store; at most ``settings.peers`` besides the given."""

    def __init__(self, votes: VoteSet, settings: GossipSettings, dice: random.Random) -> None:
        self._votes = votes
        self._settings = settings
        self._dice = dice
        self._lock = threading.RLock()
        self.me = ""
        self.round = 0
        self.known: dict[str, Peer] = {}
        self._in_vain: Counter[str] = Counter()
        self._rest, self._asks_at = 1, 0
        self.reload()

    def reload(self) -> None:
        """Read addresses that were added to the store meanwhile."""
        with self._lock, self._votes.file.read() as db:
            for row in db.execute("SELECT address, given, voter, sequence, record FROM peers"):
                peer = self.known.setdefault(row[0], Peer(row[0], bool(row[1]), *row[2:]))
                peer.given = peer.given or bool(row[1])

    def give(self, address: str) -> None:
        """Add an address that an operator gave; it is never forgotten by itself."""
        parse_address(address, port_0=False)
        with self._lock:
            peer = self.known.get(address) or Peer(address, given=True)
            peer.given = True
            self._keep(peer)

    def forget(self, address: str) -> None:
        """Remove an address."""
        with self._lock:
            self.known.pop(address, None)
            with self._votes.file.write(durable=False) as db:
                db.execute("DELETE FROM peers WHERE address = ?", (address,))

    def learn(self, record: Any) -> bool:
        """Take the address that a member announces; False if it may not be dialled."""
        try:
            voter, sequence = self._check(record)
        except (GossipError, KeyError, TypeError, ValueError):
            return False
        address: str = record["address"]
        with self._lock:
            before = next((p for p in self.known.values() if p.voter == voter), None)
            if voter == self.me or (before is not None and before.sequence >= sequence):
                return True
            if self._in_vain[voter] >= IN_VAIN:
                return False
            peer = self.known.get(address)
            if peer is not None and peer.voter not in ("", voter):
                if peer.proven or not peer.fails:
                    return False  # it is another member's, who has not failed there
                self._in_vain[peer.voter] += 0 if peer.given else peer.fails
                peer.fails = 0
            if before is not None and before.address != address:
                self._withdraw(before)
            if peer is None and not self._make_room():
                return True
            peer = peer or Peer(address, given=False)
            peer.voter, peer.sequence, peer.proven = voter, sequence, False
            peer.record = json.dumps(record, separators=(",", ":"))
            if address not in self.known and len(self.known) < self._settings.peers:
                # There is room, and there may be more where this came from.
                self._rest, self._asks_at = 1, self.round
            self._keep(peer)
        return True

    def _check(self, record: Any) -> tuple[str, int]:
        voter, sequence, address = record["voter"], record["sequence"], record["address"]
        fits = set(record) == RECORD_FIELDS and isinstance(sequence, int)
        if not fits or not 0 <= sequence < 2**53 or not isinstance(address, str):
            raise ValueError("another form")
        fields = {"voter": voter, "number": record["number"], "signature": record["certificate"]}
        certificate = Certificate.read(fields)
        if certificate.number in self._votes.revoked or not self._settings.may_dial(address):
            raise ValueError("not allowed")
        if certificate.fault(self._votes.spec):
            raise ValueError("not certified")
        signed = {"address": address, "sequence": sequence, "voter": voter}
        if not verify_fields(voter, "address", signed, self._votes.scope, record["signature"]):
            raise ValueError("not signed")
        return voter, sequence

    def prove(self, peer: Peer, record: Any) -> None:
        """The member of a record has proved to answer at the address of a peer."""
        with self._lock:
            if peer.voter not in ("", record["voter"]):
                self._withdraw(peer)
            self.learn(record)
            peer.proven = True

    def _withdraw(self, peer: Peer) -> None:
        """A member has moved: its old address is no longer its own."""
        if peer.given:
            peer.voter, peer.sequence, peer.record, peer.proven = "", -1, "", False
            self._keep(peer)
        else:
            self._drop(peer)

    def _drop(self, peer: Peer) -> None:
        """Forget an announced address, but not how often it was dialled in vain."""
        if not peer.proven:
            self._in_vain[peer.voter] += peer.fails
        self.forget(peer.address)

    def _make_room(self) -> bool:
        """Whether a new address may be kept; where all places are taken, one is freed by chance.

        One that does not answer in half of the cases, else any in one of 16: so that whoever
        announces many addresses does not soon replace all that answer. Given ones always stay.
        """
        announced = [peer for peer in self.known.values() if not peer.given]
        if len(announced) < self._settings.peers:
            return True
        silent = [peer for peer in announced if peer.fails or not peer.proven]
        if silent and self._dice.random() < 0.5:
            self._drop(self._dice.choice(silent))
            return True
        if self._dice.random() < 1 / 16:
            self._drop(self._dice.choice(announced))
            return True
        return False

    def hand_out(self) -> list[Any]:
        """A few of the addresses that have proved themselves, as their members signed them."""
        with self._lock:
            proven = [peer.record for peer in self.known.values() if peer.record and peer.proven]
            return [json.loads(r) for r in self._dice.sample(proven, min(HANDED, len(proven)))]

    def wants_more(self) -> bool:
        """Whether to ask for addresses now: at first always, then ever more rarely."""
        with self._lock:
            if self.round < self._asks_at:
                return False
            self._rest = min(2 * self._rest, RARELY)
            self._asks_at = self.round + self._rest
            return True

    def choose(self, count: int = 1, *, turn: bool = False) -> list[Peer]:
        """Whom to turn to now; with ``turn`` a new round begins, and a given one may go first."""
        with self._lock:
            self.round += turn
            ready = [peer for peer in self.known.values() if peer.waits_until <= self.round]
            given = [peer for peer in ready if peer.given]
            if turn and given and self._dice.random() < GIVEN_SHARE:
                return [self._dice.choice(given)]
            if turn and not ready and self.known:
                return [min(self.known.values(), key=lambda peer: peer.waits_until)]
            return self._dice.sample(ready, min(count, len(ready)))

    def note(self, peer: Peer, *, worked: bool, lied: bool = False) -> None:
        """How an exchange went; a peer that lied is left alone for long, or is forgotten."""
        with self._lock:
            if worked:
                peer.fails, peer.waits_until = 0, 0
                peer.answered += 1
                return
            cost = FORGOTTEN_AFTER if lied else 1
            peer.fails += cost
            longest = LONGEST_WAIT if peer.proven or peer.given else LONGEST_WAIT_UNPROVEN
            wait = min(2 ** min(peer.fails, 10), LONGEST_WAIT_UNPROVEN if lied else longest)
            peer.waits_until = self.round + wait
            if peer.given or peer.proven:
                return
            if self.known.get(peer.address) is not peer:  # it was dropped meanwhile
                self._in_vain[peer.voter] += cost
            elif peer.fails >= min(FORGOTTEN_AFTER, IN_VAIN - self._in_vain[peer.voter]):
                self._drop(peer)

    def _keep(self, peer: Peer) -> None:
        self.known[peer.address] = peer
        row = (peer.address, peer.given, peer.voter, peer.sequence, peer.record)
        with self._votes.file.write(durable=False) as db:
            db.execute(
                "INSERT INTO peers VALUES (?, ?, ?, ?, ?) ON CONFLICT (address) DO UPDATE SET "
                "given = max(given, excluded.given), voter = excluded.voter, "
                "sequence = excluded.sequence, record = excluded.record",
                row,
            )


def sign_address(
    identity: Identity, certificate: Certificate, votes: VoteSet, *, address: str, sequence: int
) -> dict[str, Any]:
    """The record by which a member announces where it listens."""
    fields = {"address": address, "sequence": sequence, "voter": identity.voter}
    return {
        **fields,
        "number": certificate.number,
        "certificate": certificate.signature,
        "signature": identity.sign_fields("address", fields, votes.scope),
    }
