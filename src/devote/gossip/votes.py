"""The set of votes that a device holds: everything signed and certified that it has heard.

The votes are a board store, in the order in which they came here; another file beside it has the
certificates that they came with, and the issuer's revocations. Nothing enters before its
signatures are checked, and each (voter, arm, term) enters once, so a member adds no more than the
specification lets it.

What the set holds is a function of what was ever heard: valid messages, less those of voters whose
number was revoked. So two devices that have heard the same hold the same, in whatever order.
"""

import json
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from devote.boards.admission import refusal
from devote.boards.board import Envelope, Outcome
from devote.boards.database import Database, StoreMismatch
from devote.boards.experiment import Experiment
from devote.boards.standing import UnknownExperiment
from devote.boards.store import SqliteStore
from devote.gossip import digests
from devote.gossip.credentials import Certificate, Revocation, scope_of
from devote.gossip.settings import GossipError
from devote.gossip.tables import LAYOUT
from devote.protocol import ExperimentSpec, Message, ProtocolError, from_json, to_json
from devote.protocol.messages import from_dict, to_bytes
from devote.protocol.wire import signed_bytes

Item = dict[str, Any]
"""A message with its voter's certificate, or a revocation, as JSON values."""


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
        self.notes = Database(f"{path}.peers", LAYOUT)
        try:
            self.spec = self._settle(str(path), spec)
            self.scope = scope_of(self.spec)
            self.board = SqliteStore(f"{path}.votes", durable=False)
        except BaseException:
            self.notes.close()
            raise
        try:
            self.board.get(self.spec.name)
        except UnknownExperiment:
            self.board.create(Experiment(self.spec, "invite", board=self.scope.board))
        self._load()

    def _settle(self, path: str, given: ExperimentSpec | None) -> ExperimentSpec:
        with self.notes.read() as db:
            row = db.execute("SELECT spec FROM me").fetchone()
        if row is None:
            if given is None:
                self.notes.remove()
                raise GossipError(
                    f"{path!r} has not joined an experiment among peers yet.\n"
                    "Pass its ticket as the invite, as `devote certify issue` wrote it."
                )
            scope_of(given)
            with self.notes.write() as db:
                db.execute("INSERT INTO me (id, spec) VALUES (1, ?)", (given.to_json(),))
            return given
        with self.notes.decoding():
            found = ExperimentSpec.from_json(row[0])
        if given is not None and given.fingerprint != found.fingerprint:
            raise StoreMismatch(
                f"The votes beside {path!r} are of another specification of {found.name!r}.\n"
                "Join with a new store."
            )
        return found

    def _load(self) -> None:
        with self.notes.read() as db:
            certified = db.execute("SELECT voter, number, signature FROM certificates").fetchall()
            revoked = db.execute("SELECT number, signature FROM revocations").fetchall()
            early = db.execute("SELECT message, signature FROM early").fetchall()
        self.certificates = {row[0]: Certificate(*row) for row in certified}
        self.revoked = {number for number, _ in revoked}
        self.items: dict[bytes, Item] = {}
        self._early: dict[bytes, Envelope] = {}
        self._changed()
        for number, signature in revoked:
            self._index_revocation(Revocation(number, signature))
        _, rows = self.board.rows(self.spec.name)
        with self.notes.decoding():
            for text, signature in [*(row[1:] for row in rows), *early]:
                envelope = Envelope(from_json(text, self.spec.n_arms), signature)
                self._index(envelope)
                if (text, signature) in early:
                    self._early[self._id(envelope.message)] = envelope
        enrolled = set(self.board.voters(self.spec.name))
        for number in {c.number for v, c in self.certificates.items() if v in enrolled}:
            if number in self.revoked:  # the process ended in between
                self._expel(number)

    def close(self) -> None:
        """Close the files."""
        with self._lock:
            self.board.close()
            self.notes.close()

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

    def certify(self, certificate: Certificate) -> None:
        """Take a certificate that was found good."""
        with self._lock:
            if certificate.voter in self.certificates and not self.is_revoked(certificate.voter):
                return
            with self.notes.write() as db:
                row = (certificate.voter, certificate.number, certificate.signature)
                db.execute("INSERT OR REPLACE INTO certificates VALUES (?, ?, ?)", row)
            self.board.admit(self.spec.name, certificate.voter)
            self.certificates[certificate.voter] = certificate

    def is_revoked(self, voter: str) -> bool:
        """Whether a voter's certificate was taken back."""
        certificate = self.certificates.get(voter)
        return certificate is not None and certificate.number in self.revoked

    def take(self, items: Iterable[Any]) -> Taken:
        """Take in what a peer sent, up to the first item that is not valid."""
        taken = Taken()
        with self._lock:
            for item in items:
                try:
                    is_new = self._take_one(item)
                except (GossipError, ProtocolError, KeyError, TypeError, ValueError):
                    taken.bad = True
                    break
                if is_new:
                    taken.new.append(item)
            if taken.new:
                self._release()
        return taken

    def post(self, envelope: Envelope) -> tuple[Outcome, Item | None]:
        """Take a message of this device; what was refused gives no item."""
        with self._lock:
            if self._id(envelope.message) in self.items:
                return Outcome.DUPLICATE, None
            certificate = self.certificates.get(envelope.message.voter)
            if certificate is None or certificate.number in self.revoked:
                return Outcome.REFUSED, None
            taken = self.take([_vote_item(envelope, certificate)])
            if not taken.new:
                return Outcome.REFUSED, None
            return Outcome.ACCEPTED, taken.new[0]

    def _take_one(self, item: Any) -> bool:
        if "revoked" in item:
            return self._revoke(item)
        message = from_dict(item["message"], self.spec.n_arms)
        text = to_json(message)
        if self._id(message) in self.items:
            return False
        if len(item) != 4:
            raise ValueError("other fields")
        certificate = Certificate.read(
            {"voter": message.voter, "number": item["number"], "signature": item["certificate"]}
        )
        if certificate.number in self.revoked:
            return False
        if fault := certificate.fault(self.spec):
            raise GossipError(fault)
        envelope = Envelope(message, item["signature"])
        if reason := refusal(envelope, self.spec, self.scope):
            raise GossipError(reason)
        self.certify(certificate)
        receipt = self.board.post(self.spec.name, envelope)
        if receipt.outcome is Outcome.REFUSED:
            if not self.board.look(self.spec.name, lambda h: h.tally.is_early(message)):
                raise GossipError(receipt.reason)
            with self.notes.write(durable=False) as db:
                row = (text, message.voter, envelope.signature)
                db.execute("INSERT OR IGNORE INTO early VALUES (?, ?, ?)", row)
            self._early[self._id(message)] = envelope
        self._index(envelope)
        return True

    def _release(self) -> None:
        """Post what came before its turn and may be posted now."""
        progress = bool(self._early)
        while progress:
            progress = False
            for item, envelope in list(self._early.items()):
                if self.board.post(self.spec.name, envelope).outcome is not Outcome.REFUSED:
                    del self._early[item]
                    with self.notes.write(durable=False) as db:
                        text = to_json(envelope.message)
                        db.execute("DELETE FROM early WHERE message = ?", (text,))
                    progress = True

    def _revoke(self, item: Any) -> bool:
        revocation = Revocation(item["revoked"], item["signature"])
        if len(item) != 2:
            raise ValueError("other fields")
        if revocation.number in self.revoked:
            return False
        if not revocation.holds(self.spec):
            raise GossipError("This revocation is not the issuer's.\nDiscard it.")
        with self.notes.write() as db:
            row = (revocation.number, revocation.signature)
            db.execute("INSERT INTO revocations VALUES (?, ?)", row)
        self.revoked.add(revocation.number)
        self._expel(revocation.number)
        self._index_revocation(revocation)
        return True

    def _expel(self, number: int) -> None:
        """Take out all that the voters with a revoked number have said."""
        for voter in [v for v, c in self.certificates.items() if c.number == number]:
            with self.notes.write() as db:
                db.execute("DELETE FROM early WHERE voter = ?", (voter,))
            self.board.expel(self.spec.name, voter)
            gone = [i for i, item in self.items.items() if _voter(item) == voter]
            for item in gone:
                del self.items[item]
                self._early.pop(item, None)
        self._changed()

    def _index(self, envelope: Envelope) -> None:
        certificate = self.certificates.get(envelope.message.voter)
        if certificate is None:  # the notes were lost, the votes were not: they come again
            return
        self.items[self._id(envelope.message)] = _vote_item(envelope, certificate)
        self._changed()

    def _index_revocation(self, revocation: Revocation) -> None:
        item = {"revoked": revocation.number, "signature": revocation.signature}
        line = signed_bytes("revocation", {"number": revocation.number}, self.scope)
        self.items[digests.item_id(line)] = item
        self._changed()

    def _id(self, message: Message) -> bytes:
        return digests.item_id(to_bytes(message, self.scope))

    def _changed(self) -> None:
        self._root = None
        self._summaries = {}


def _vote_item(envelope: Envelope, certificate: Certificate) -> Item:
    return {
        "message": json.loads(to_json(envelope.message)),
        "signature": envelope.signature,
        "number": certificate.number,
        "certificate": certificate.signature,
    }


def _voter(item: Item) -> str | None:
    voter: str | None = item.get("message", {}).get("voter")
    return voter
