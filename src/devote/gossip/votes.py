"""The set of votes that a device holds: everything signed and certified that it has heard.

The votes are a board store, in the order in which they came here; another file beside it has the
certificates that they came with, and the issuer's revocations. Nothing enters before its
signatures are checked, and each (voter, arm, term) enters once, so a member adds no more than the
specification lets it.

What the set holds is a function of what was ever heard: valid messages, less those of voters whose
number was revoked. So two devices that have heard the same hold the same, in whatever order.
"""

import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from devote.boards.admission import Receipt, refusal
from devote.boards.board import Envelope, Outcome
from devote.boards.database import Database, StoreMismatch
from devote.boards.experiment import Experiment, UnknownExperiment
from devote.boards.history import History
from devote.boards.store import SqliteStore
from devote.gossip import digests
from devote.gossip.credentials import Certificate, Revocation, scope_of
from devote.gossip.items import Item, Taken, revocation_item, vote_item, voter_of
from devote.gossip.settings import GossipError
from devote.gossip.tables import LAYOUT
from devote.protocol import ExperimentSpec, Message, ProtocolError, from_json, to_json
from devote.protocol.messages import from_dict, to_bytes
from devote.protocol.wire import signed_bytes


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
        self._is_new = row is None
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
            early = set(db.execute("SELECT message, signature FROM early"))
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
        enrolled = set(self.board.voters(self.spec.name)) - self.board.revoked(self.spec.name)
        for voter, certificate in list(self.certificates.items()):
            # The process ended in between, or one of the files is older than the other.
            if certificate.number not in self.revoked and voter not in enrolled:
                self.board.admit_known(self.spec.name, [voter])
            elif certificate.number in self.revoked and voter in enrolled:
                self._expel(certificate.number)
        if self.revoked:
            self._hold_back()

    def close(self, *, keep_unused: bool = True) -> None:
        """Close the files; without ``keep_unused`` remove those of a device that did not join."""
        with self._lock:
            if self._is_new and not keep_unused:
                with self.notes.read() as db:  # another process may have joined meanwhile
                    keep_unused = bool(db.execute("SELECT 1 FROM certificates").fetchone())
                if not keep_unused:
                    self.board.remove()
                    self.notes.remove()
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
            self.board.admit_known(self.spec.name, [certificate.voter])
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
        return taken

    def post(self, envelope: Envelope, most: int | None = None) -> tuple[Receipt, Item | None]:
        """Take a message whose voter is certified; the item is that of a new one.

        One that came before its turn counts as accepted: it is kept, and handed on.
        """
        message, name = envelope.message, self.spec.name
        with self._lock:
            receipt = self.board.post(name, envelope, most=most)
            if receipt.outcome is Outcome.REFUSED and self._is_early(receipt, message):
                if self._id(message) in self._early:
                    return Receipt(Outcome.DUPLICATE), None
                self._keep_early([envelope])
                receipt = Receipt(Outcome.ACCEPTED)
            identity = self._id(message)
            if receipt.outcome is Outcome.REFUSED or identity in self.items:
                return receipt, None
            self._index(envelope)  # also what is in the votes, and whose certificate was lost
            self._release()
            return receipt, self.items.get(identity)

    def _is_early(self, receipt: Receipt, message: Message) -> bool:
        """Whether a message was refused because of its turn, and nothing else."""

        def ask(history: History) -> bool:
            tally = history.tally
            return receipt.reason == tally.refusal(message) and tally.is_early(message)

        return self.board.look(self.spec.name, ask)

    def _take_one(self, item: Any) -> bool:
        if "revoked" in item:
            return self._revoke(item)
        message = from_dict(item["message"], self.spec.n_arms)
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
        receipt, new = self.post(envelope)
        if receipt.outcome is Outcome.REFUSED:
            raise GossipError(receipt.reason)
        return new is not None

    def _release(self) -> None:
        """Post what came before its turn and may be posted now."""
        while ripe := self.board.look(self.spec.name, self._ripe):
            self.board.post_all([(self.spec.name, envelope) for envelope in ripe.values()])
            with self.notes.write(durable=False) as db:
                texts = [(to_json(envelope.message),) for envelope in ripe.values()]
                db.executemany("DELETE FROM early WHERE message = ?", texts)
            for item in ripe:
                del self._early[item]

    def _ripe(self, history: History) -> dict[bytes, Envelope]:
        return {i: e for i, e in self._early.items() if not history.tally.is_early(e.message)}

    def _keep_early(self, envelopes: list[Envelope], *, durable: bool = False) -> None:
        with self.notes.write(durable=durable) as db:
            rows = [(to_json(e.message), e.message.voter, e.signature) for e in envelopes]
            db.executemany("INSERT OR IGNORE INTO early VALUES (?, ?, ?)", rows)
        self._early |= {self._id(e.message): e for e in envelopes}

    def _hold_back(self) -> None:
        """Let those wait again whose turn had come by what is out now.

        A device that hears of the revocation first never counts them.
        """
        tally, early = self.spec.scheme.tally(self.spec), []
        for _, text, signature in self.board.rows(self.spec.name)[1]:
            message = from_json(text, self.spec.n_arms)
            if tally.is_early(message):
                early.append(Envelope(message, signature))
            else:
                tally.add(message)
        if early:
            self._keep_early(early, durable=True)
            self.board.take_back(self.spec.name, [to_json(e.message) for e in early])
            self._release()

    def _revoke(self, item: Any) -> bool:
        revocation = Revocation(item["revoked"], item["signature"])
        if len(item) != 2:
            raise ValueError("other fields")
        if self._revocation_id(revocation.number) in self.items:
            return False
        if not revocation.holds(self.spec):
            raise GossipError("This revocation is not the issuer's.\nDiscard it.")
        with self.notes.write() as db:
            row = (revocation.number, revocation.signature)
            db.execute("INSERT OR IGNORE INTO revocations VALUES (?, ?)", row)
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
            gone = [i for i, item in self.items.items() if voter_of(item) == voter]
            for item in gone:
                del self.items[item]
                self._early.pop(item, None)
        self._hold_back()
        self._changed()

    def _index(self, envelope: Envelope) -> None:
        certificate = self.certificates.get(envelope.message.voter)
        if certificate is None:  # the notes were lost, the votes were not: they come again
            return
        self.items[self._id(envelope.message)] = vote_item(envelope, certificate)
        self._changed()

    def _index_revocation(self, revocation: Revocation) -> None:
        self.items[self._revocation_id(revocation.number)] = revocation_item(revocation)
        self._changed()

    def _revocation_id(self, number: int) -> bytes:
        return digests.item_id(signed_bytes("revocation", {"number": number}, self.scope))

    def _id(self, message: Message) -> bytes:
        return digests.item_id(to_bytes(message, self.scope))

    def _changed(self) -> None:
        self._root = None
        self._summaries = {}
