"""The set of votes that a device holds: everything signed and certified that it has received.

Peers hand each other *items*: a message with its voter's certificate, or a revocation of the
issuer. The items are kept in one file beside the device's store, in the order in which they came,
and everything else follows from them, now and after a restart: who is certified, who is revoked,
and the board, which is held in memory. Nothing enters before its signatures are checked, and each
(voter, arm, term) enters once, so a member adds no more than the specification lets it.

A message that came before its turn (``Tally.is_early``) is an item, but it is on the board only
once its turn has come. A revocation deletes the items of its voters, and the board is built anew.
So what is on the board is a function of what was ever received: valid messages, less those of
voters whose number was revoked, whatever the order.
"""

import json
import threading
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from devote.boards.admission import Receipt, refusal
from devote.boards.board import Envelope, Experiment, Outcome
from devote.boards.database import Database, Layout, StoreMismatch
from devote.boards.store import History, SqliteStore
from devote.gossip import digests
from devote.gossip.credentials import Certificate, Revocation, scope_of
from devote.gossip.settings import GossipError
from devote.protocol import ExperimentSpec, Message, ProtocolError, from_json, to_json
from devote.protocol.messages import from_dict, signed_bytes, to_bytes

Item = dict[str, Any]
"""A message with its voter's certificate, or a revocation, as JSON values."""

TABLES = """
CREATE TABLE me (
    id INTEGER PRIMARY KEY CHECK (id = 1), spec TEXT NOT NULL, certificate TEXT,
    sequence INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE items (
    seq INTEGER PRIMARY KEY, item TEXT NOT NULL, number INTEGER
) STRICT;
CREATE TABLE peers (
    address TEXT PRIMARY KEY, given INTEGER NOT NULL, voter TEXT NOT NULL,
    sequence INTEGER NOT NULL, record TEXT NOT NULL
) STRICT
"""
"""``number`` is that of the certificate with which a message came. ``given`` marks addresses that
an operator gave; ``record`` is what a member signed of itself. ``sequence`` counts the starts of
this device: a later word about an address goes before an earlier one, and no clock is asked.
"""

LAYOUT = Layout(what="gossip store", application=0x64766770, version=1, tables=TABLES)


@dataclass
class Taken:
    """What became of items: which were new, and whether one of them was not valid."""

    new: list[Item] = field(default_factory=list)
    bad: bool = False


class VoteSet:
    """The set beside the device store at ``path``; without a specification it must be there."""

    def __init__(self, path: str | Path, spec: ExperimentSpec | None = None) -> None:
        self._lock = threading.RLock()
        self._root: str | None = None
        self._summaries: dict[int, bytes] = {}
        self.items: dict[bytes, Item] = {}
        self.certificates: dict[str, Certificate] = {}
        self.revoked: set[int] = set()
        self._early: dict[bytes, Envelope] = {}
        self.file = Database(f"{path}.votes", LAYOUT)
        try:
            self.spec = self._settle(str(path), spec)
            self.scope = scope_of(self.spec)
        except BaseException:
            self.file.close()
            raise
        self.board = SqliteStore(":memory:")
        self.board.create(Experiment(self.spec, "invite", board=self.scope.board))
        self._load()

    def _settle(self, path: str, given: ExperimentSpec | None) -> ExperimentSpec:
        with self.file.read() as db:
            row = db.execute("SELECT spec FROM me").fetchone()
        self._is_new = row is None
        if row is None:
            if given is None:
                self.file.remove()
                raise GossipError(
                    f"{path!r} has not joined an experiment among peers yet.\n"
                    "Pass its ticket as the invite, as `devote certify issue` wrote it."
                )
            scope_of(given)
            with self.file.write() as db:
                db.execute("INSERT INTO me (id, spec) VALUES (1, ?)", (given.to_json(),))
            return given
        with self.file.decoding():
            found = ExperimentSpec.from_json(row[0])
        if given is not None and given.fingerprint != found.fingerprint:
            raise StoreMismatch(
                f"The votes beside {path!r} are of another specification of {found.name!r}.\n"
                "Join with a new store."
            )
        return found

    def _load(self) -> None:
        with self.file.read() as db:
            (own,) = db.execute("SELECT certificate FROM me").fetchone()
            rows = db.execute("SELECT item FROM items ORDER BY seq").fetchall()
        with self.file.decoding():
            found = [json.loads(text) for (text,) in rows]
            self.items = {self._id(item): item for item in found}
            self.revoked = {item["revoked"] for item in found if "revoked" in item}
            if own is not None:
                self._enrol(Certificate.read(json.loads(own)))
            for item in found:
                if "revoked" not in item:
                    self._enrol(_certificate_in(item))
            self._rebuild()

    def close(self, *, keep_unused: bool = True) -> None:
        """Close the file; without ``keep_unused`` remove that of a device that did not join."""
        with self._lock:
            if self._is_new and not keep_unused:
                with self.file.read() as db:  # another process may have joined meanwhile
                    joined = db.execute("SELECT 1 FROM me WHERE certificate IS NOT NULL").fetchone()
                if not joined:
                    self.file.remove()
            self.board.close()
            self.file.close()

    @property
    def root(self) -> str:
        """What stands for the whole set."""
        with self._lock:
            if self._root is None:
                self._root = digests.root(self.items)
            return self._root

    def summary(self, count: int) -> bytes:
        """The digests of so many buckets."""
        with self._lock:
            if count not in self._summaries:
                self._summaries = {count: digests.summarize(self.items, count)}
            return self._summaries[count]

    def ids(self) -> set[bytes]:
        """The ids of all items."""
        with self._lock:
            return set(self.items)

    def pick(self, ids: Iterable[bytes], most: int) -> list[Item]:
        """The items of these ids that are here, at most so many."""
        with self._lock:
            found = (self.items[item] for item in sorted(ids) if item in self.items)
            return [item for item, _ in zip(found, range(most), strict=False)]

    def next_start(self) -> int:
        """The number of this start of the device."""
        with self.file.write() as db:
            db.execute("UPDATE me SET sequence = sequence + 1")
            (sequence,) = db.execute("SELECT sequence FROM me").fetchone()
        return int(sequence)

    def certify(self, certificate: Certificate) -> None:
        """Take this device's own certificate, which was found good."""
        with self._lock:
            with self.file.write() as db:
                text = json.dumps(asdict(certificate))
                db.execute("UPDATE me SET certificate = ?", (text,))
            self._enrol(certificate)

    def _enrol(self, certificate: Certificate) -> None:
        known = self.certificates.get(certificate.voter)
        if known is None or known.number in self.revoked:
            self.certificates[certificate.voter] = certificate
            self.board.admit_known(self.spec.name, [certificate.voter])

    def take(self, items: Iterable[Any]) -> Taken:
        """Take in what a peer sent, up to the first item that is not valid."""
        taken = Taken()
        with self._lock:
            for item in items:
                try:
                    is_new = self._revoke(item) if "revoked" in item else self._take(item)
                except (GossipError, ProtocolError, KeyError, TypeError, ValueError):
                    taken.bad = True
                    break
                if is_new:
                    taken.new.append(item)
        return taken

    def _take(self, item: Any) -> bool:
        if self._id(item) in self.items:
            return False
        if len(item) != 4:
            raise ValueError("other fields")
        certificate = _certificate_in(item)
        if certificate.number in self.revoked:
            return False
        if fault := certificate.fault(self.spec):
            raise GossipError(fault)
        envelope = self._envelope(item)
        if reason := refusal(envelope, self.spec, self.scope):
            raise GossipError(reason)
        self._enrol(certificate)
        receipt, new = self.post(envelope)
        if receipt.outcome is Outcome.REFUSED:
            raise GossipError(receipt.reason)
        return new is not None

    def post(self, envelope: Envelope, most: int | None = None) -> tuple[Receipt, Item | None]:
        """Take a message whose voter is certified; the item is that of a new one.

        One that came before its turn counts as accepted: it is kept, and handed on.
        """
        with self._lock:
            receipt = self._admit(envelope, most)
            if receipt.outcome is Outcome.REFUSED:
                return receipt, None
            certificate = self.certificates[envelope.message.voter]
            item = {
                "message": json.loads(to_json(envelope.message)),
                "signature": envelope.signature,
                "number": certificate.number,
                "certificate": certificate.signature,
            }
            name = self._id(item)
            if name in self.items:
                return receipt, None
            with self.file.write(durable=False) as db:
                row = (json.dumps(item), certificate.number)
                db.execute("INSERT INTO items (item, number) VALUES (?, ?)", row)
            self.items[name] = item
            self._changed()
            return receipt, item

    def _admit(self, envelope: Envelope, most: int | None = None) -> Receipt:
        """Put a message on the board, or keep it until its turn comes."""
        name = self._message_id(envelope.message)
        if name in self._early:
            return Receipt(Outcome.DUPLICATE)
        receipt = self.board.post(self.spec.name, envelope, most=most)
        if receipt.outcome is Outcome.ACCEPTED:
            self._release()
        elif receipt.outcome is Outcome.REFUSED and self._is_early(receipt, envelope.message):
            self._early[name] = envelope
            return Receipt(Outcome.ACCEPTED)
        return receipt

    def _is_early(self, receipt: Receipt, message: Message) -> bool:
        """Whether a message was refused because of its turn, and nothing else."""

        def ask(history: History) -> bool:
            tally = history.tally
            return receipt.reason == tally.refusal(message) and tally.is_early(message)

        return self.board.look(self.spec.name, ask)

    def _release(self) -> None:
        """Put on the board what came before its turn and may be there now."""
        while self._early and (ripe := self.board.look(self.spec.name, self._ripe)):
            self.board.post_all([(self.spec.name, envelope) for envelope in ripe.values()])
            for name in ripe:
                del self._early[name]

    def _ripe(self, history: History) -> dict[bytes, Envelope]:
        return {i: e for i, e in self._early.items() if not history.tally.is_early(e.message)}

    def _revoke(self, item: Any) -> bool:
        revocation = Revocation(item["revoked"], item["signature"])
        if len(item) != 2:
            raise ValueError("other fields")
        if self._id(item) in self.items:
            return False
        if not revocation.holds(self.spec):
            raise GossipError("This revocation is not the issuer's.\nDiscard it.")
        with self.file.write() as db:
            db.execute("INSERT INTO items (item) VALUES (?)", (json.dumps(item),))
            db.execute("DELETE FROM items WHERE number = ?", (revocation.number,))
        self.revoked.add(revocation.number)
        self.items[self._id(item)] = item
        self._rebuild()
        return True

    def _rebuild(self) -> None:
        """Put the board together anew from all items that still count."""
        name = self.spec.name
        self.board.clear(name)
        gone = [voter for voter, c in self.certificates.items() if c.number in self.revoked]
        self.board.revoke(name, voters=gone)
        self.items = {i: v for i, v in self.items.items() if v.get("number") not in self.revoked}
        self._early = {}
        for item in self.items.values():
            if "revoked" not in item:
                self._admit(self._envelope(item))
        self._changed()

    def _envelope(self, item: Item) -> Envelope:
        return Envelope(from_dict(item["message"], self.spec.n_arms), item["signature"])

    def _id(self, item: Any) -> bytes:
        if "revoked" in item:
            line = signed_bytes("revocation", {"number": item["revoked"]}, self.scope)
            return digests.item_id(line)
        return self._message_id(from_dict(item["message"], self.spec.n_arms))

    def _message_id(self, message: Message) -> bytes:
        return digests.item_id(to_bytes(message, self.scope))

    def _changed(self) -> None:
        self._root = None
        self._summaries = {}

    def messages(self) -> list[Message]:
        """The messages on the board, in its order."""
        _, rows = self.board.rows(self.spec.name)
        return [from_json(text, self.spec.n_arms) for _, text, _ in rows]


def _certificate_in(item: Any) -> Certificate:
    fields = {"voter": item["message"]["voter"], "number": item["number"]}
    return Certificate.read({**fields, "signature": item["certificate"]})
