"""What a server keeps on NATS JetStream, where any number of servers share it.

Each server keeps what it reads of the log in a ``SqliteStore`` in its memory, and answers from
there; what changes anything goes to the nodes first. Every method is safe in any thread and blocks
until it is done. An entry counts as posted only when it is in the log, on most of the nodes, and
this server has read it there.

A refusal is final to a device, so none is given by what this server happens to have read: before it
says no, it reads all that was posted anywhere (``Log.catch_up``). The state of an experiment is in
its entry in the catalogue, which every server follows; whom the operator revoked is in the
experiment's log. Another server may take a message in the moment before it has read that an
experiment is closed.
"""

import asyncio
import json
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Unpack

from nats.errors import Error as NatsError

from devote.boards.admission import Receipt, admit, admit_voter, no_invite, refusal, refused
from devote.boards.board import (
    Change,
    Envelope,
    Experiment,
    ExperimentState,
    Outcome,
    UnreadableExperiment,
    unknown,
)
from devote.boards.database import StoreError
from devote.boards.identity import hash_of
from devote.boards.jetstream.catalogue import Catalogue, Record
from devote.boards.jetstream.connection import Connection, NatsAddress
from devote.boards.jetstream.invites import Invites
from devote.boards.jetstream.log import (
    Log,
    enrolment_subject,
    entry,
    message_subject,
    revocation_subject,
)
from devote.boards.store import (
    Content,
    EnrolmentRequest,
    InviteCounts,
    Ledger,
    Revocation,
    Row,
    SqliteStore,
    insert_experiment,
    set_state,
)

STARTING = 20.0
"""Seconds for which a server that starts waits for the nodes to agree on a leader."""

PROBE_EVERY = 5.0
"""Seconds between two looks at whether the nodes take entries: what is read may be old else."""


class JetStreamStore(SqliteStore):
    """The experiments at one address, such as ``nats://10.0.0.1:4222,10.0.0.2:4222/shop``.

    Opening it makes what is missing there, and refuses what cannot hold a store.
    """

    at_once = 64
    one_disk = False

    def __init__(self, address: str) -> None:
        self.connection = Connection(NatsAddress.parse(address))
        super().__init__(":memory:")
        self.catalogue = Catalogue(self.connection, self._take)
        self.invites = Invites(self.connection)
        self._logs: dict[str, Log] = {}
        self._probing: asyncio.Task[None] | None = None
        self._opening: dict[str, asyncio.Lock] = {}
        try:
            self.connection.run(self._start())
        except BaseException:
            self.close()
            raise

    async def _start(self) -> None:
        """Make what is missing; nodes that have just been started choose a leader first."""
        loop = asyncio.get_running_loop()
        until = loop.time() + STARTING
        while True:
            try:
                await self.invites.start()
                await self.catalogue.start()
                break
            except (NatsError, TimeoutError):
                if loop.time() > until:
                    raise
                await asyncio.sleep(0.3)
        self._probing = asyncio.create_task(self._probe())

    async def _probe(self) -> None:
        """See again and again that the nodes take entries; if not, ask another of them."""
        while True:
            await asyncio.sleep(PROBE_EVERY)
            try:
                await self.invites.probe()
            except (NatsError, TimeoutError):
                await self.connection.move_on()

    def close(self) -> None:
        """Close the connection."""
        with suppress(StoreError):
            self.connection.run(self._stop())
        self.connection.close()
        super().close()

    async def _stop(self) -> None:
        if self._probing is not None:
            self._probing.cancel()
        for log in self._logs.values():
            await log.stop()
        await self.catalogue.stop()

    def _take(self, name: str, record: Record | None) -> None:
        """Keep what the catalogue says of an experiment; None if it says nothing any more."""
        is_deleted = record is not None and record.get("deleted", False)
        with self.database.write() as db:
            if record is None or is_deleted:
                self.delete_rows(db, name)
            if is_deleted:
                db.execute("INSERT OR IGNORE INTO deleted VALUES (?)", (name,))
            elif record is not None:
                insert_experiment(db, json.dumps(record["spec"]), record, _state_of(record))
                set_state(db, name, _state_of(record))
        if record is None or is_deleted:
            self._opening.pop(name, None)
            log = self._logs.pop(name, None)
            if log is not None:
                self._stopping = asyncio.ensure_future(log.stop())

    def make_ready(self, name: str) -> None:
        """Read the log of an experiment when it is first asked for."""
        self.log(name).check()

    def log(self, name: str) -> Log:
        """The log of an experiment."""
        return self._logs.get(name) or self.connection.run(self.open(name))

    async def open(self, name: str) -> Log:
        """The same, on the connection's loop."""
        await self._record(name)  # nothing is kept of a name that is not there
        async with self._opening.setdefault(name, asyncio.Lock()):
            if name not in self._logs:
                with self.database.read() as db:
                    experiment = self.read_experiment(db, name)
                log = Log(self.connection, self, experiment)
                await log.start()
                self._logs[name] = log
            return self._logs[name]

    async def _record(self, name: str) -> Record:
        """The entry of an experiment; UnknownExperiment if there is none."""
        record = await self.catalogue.get(name)
        if record is None or record.get("deleted"):
            raise unknown(name, deleted=record is not None)
        return record

    async def _record_now(self, name: str) -> Record:
        await self.catalogue.catch_up()
        return await self._record(name)

    def create(self, experiment: Experiment, *, most: int | None = None) -> Receipt:
        """Open an experiment; duplicate if the very same is there, refused if another is."""
        return self.connection.run(self._create(experiment, most))

    async def _create(self, experiment: Experiment, most: int | None) -> Receipt:
        if (receipt := await self._admit_now(experiment, most)) is not None:
            return receipt
        log = Log(self.connection, self, experiment)
        await log.make()  # before the name is there, so that a name always has its log
        if await self.catalogue.create(experiment):
            return Receipt(Outcome.ACCEPTED)
        there = await self.catalogue.get(experiment.name)
        if there is None or there["board"] != experiment.board:
            await log.remove()
        receipt = await self._admit_now(experiment, most)
        return receipt or refused("Another server has just changed this name.", "Try again.")

    async def _admit_now(self, experiment: Experiment, most: int | None) -> Receipt | None:
        await self.catalogue.get(experiment.name)
        with self.database.read() as db:
            return self._admit(db, experiment, most)

    def names(self) -> list[str]:
        """The names of all experiments, in order."""
        self.catalogue.check()
        return super().names()

    def delete(self, name: str) -> None:
        """Delete an experiment and all that belongs to it; its name stays taken."""
        self.connection.run(self._delete(name))

    async def _delete(self, name: str) -> None:
        board = (await self._record_now(name))["board"]
        log = await self.open(name)
        tombstone = {"name": name, "board": board, "deleted": True}
        while not await self.catalogue.replace(tombstone):
            await self._record_now(name)
        await self.invites.purge(board)
        await log.stop()
        await log.remove()

    def enrol_all(
        self, requests: Sequence[EnrolmentRequest], *, most: int | None = None
    ) -> list[Receipt]:
        """Let voters post whose requests are signed, all at once."""
        logs = {name: self.log(name) for name, _, _ in requests}

        async def enrol_together() -> list[Receipt]:
            enrolling = (
                self._enrol(logs[name], voter, invite, most) for name, voter, invite in requests
            )
            return await asyncio.gather(*enrolling)

        return self.connection.run(enrol_together())

    async def _enrol(self, log: Log, voter: str, invite: str | None, most: int | None) -> Receipt:
        board, key = log.experiment.board, hash_of(invite or "")
        needs_invite = log.experiment.enrolment == "invite"
        receipt = await self._ask(log, lambda ledger: admit_voter(voter, ledger, most))
        if receipt is not None:
            if needs_invite and invite is not None and receipt.outcome is Outcome.DUPLICATE:
                await self.invites.use_up(board, key, voter)
            return receipt
        if needs_invite and (invite is None or not await self.invites.take(board, key, voter)):
            await log.catch_up()
            there = log.ask(lambda ledger: ledger.is_enrolled(voter))
            return Receipt(Outcome.DUPLICATE) if there else no_invite(invite)
        subject = enrolment_subject(voter)
        is_new = await log.append(subject, b"")
        reason = log.refused.get(subject)
        if needs_invite and reason is None:
            await self.invites.use_up(board, key, voter)
        elif needs_invite:
            await self.invites.give_back(board, key, voter)
        return _receipt(is_new, 0, reason)

    def post_all(
        self, posts: Sequence[tuple[str, Envelope]], *, most: int | None = None
    ) -> list[Receipt]:
        """Post messages, all at once; what became of each."""
        logs = {name: self.log(name) for name, _ in posts}
        reasons = [refusal(e, logs[n].experiment.spec, logs[n].experiment.scope) for n, e in posts]

        async def post_together() -> list[Receipt]:
            posting = (
                self._post(logs[name], envelope, most)
                for (name, envelope), reason in zip(posts, reasons, strict=True)
                if reason is None
            )
            return await asyncio.gather(*posting)

        done = iter(self.connection.run(post_together()))
        return [next(done) if reason is None else refused(reason) for reason in reasons]

    async def _post(self, log: Log, envelope: Envelope, most: int | None) -> Receipt:
        receipt = await self._ask(log, lambda ledger: admit(envelope, ledger, most))
        if receipt is not None:
            return receipt
        subject = message_subject(envelope.message)
        is_new = await log.append(subject, entry(envelope))
        number = log.ask(lambda ledger: ledger.number_of(envelope.message))
        reason = log.refused.get(subject)
        if number is None:
            reason = reason or "Another message answers this question.\nDiscard this one."
        return _receipt(is_new, number or 0, reason)

    async def _ask(self, log: Log, admits: Callable[[Ledger], Receipt | None]) -> Receipt | None:
        """What admission says, which is no only by all that any server has accepted."""
        receipt = log.ask(admits)
        if receipt is None or receipt.outcome is not Outcome.REFUSED:
            return receipt
        await self.catalogue.catch_up()
        await log.catch_up()
        return log.ask(admits)

    def check_writable(self) -> None:
        """Write something; StoreError if most of the nodes do not take it."""
        self.connection.run(self.invites.probe())

    def numbers(self) -> dict[str, int]:
        """How many messages each experiment has that has any."""
        for name in self.names():
            with suppress(UnreadableExperiment):
                self.make_ready(name)
        return super().numbers()

    def rows(self, name: str, after: int = 0, limit: int | None = None) -> tuple[int, list[Row]]:
        """The board's last number, and the messages above ``after``; at most ``limit``, the first.

        Whoever asks for what is above a number has read that number, perhaps from another server:
        this one then reads on before it answers.
        """
        found = super().rows(name, after, limit)
        if after <= found[0]:
            return found
        self.connection.run(self.log(name).read_on())
        return super().rows(name, after, limit)

    def standing_of(self, name: str) -> ExperimentState:
        """The state of an experiment as it was set; UnknownExperiment if it is not there."""
        return _state_of(self.connection.run(self._record_now(name)))

    def change(self, name: str, **change: Unpack[Change]) -> ExperimentState:
        """Put an experiment into another state, or give it another end; the rest stays."""
        return self.connection.run(self._change(name, change))

    async def _change(self, name: str, change: Change) -> ExperimentState:
        while True:
            record = await self._record_now(name)
            new = _state_of(record).changed(self.clock(), change)
            if await self.catalogue.replace({**record, "state": new.state, "ends": new.ends}):
                return new

    def add_invites(self, name: str, invites: Iterable[tuple[str, int | None]]) -> None:
        """Keep new invites: the hash of each, and when it expires."""
        board = self.log(name).experiment.board
        self.connection.run(self.invites.add(board, invites))

    def revoke(
        self, name: str, *, voters: Collection[str] = (), invites: Collection[str] = ()
    ) -> Revocation:
        """Take nothing more from these voters, and let nobody enrol by these invites."""
        return self.connection.run(self._revoke(self.log(name), voters, invites))

    async def _revoke(
        self, log: Log, voters: Collection[str], invites: Collection[str]
    ) -> Revocation:
        await log.catch_up()
        known = log.ask(lambda ledger: [v for v in voters if ledger.is_enrolled(v)])
        devices = 0
        for voter in known:
            devices += await log.append(revocation_subject(voter), b"")
        taken = await self.invites.revoke(log.experiment.board, map(hash_of, invites))
        return Revocation(devices, taken, len(voters) - len(known) + len(invites) - taken)

    def revoke_all_invites(self, name: str) -> Revocation:
        """Let nobody enrol by any invite made so far."""
        board = self.log(name).experiment.board
        return Revocation(invites=self.connection.run(self.invites.purge(board)))

    def counts(self, name: str) -> tuple[InviteCounts, int]:
        """How many invites there are of each kind, and how many devices are revoked.

        An invite that has expired is gone from the nodes, so none is counted.
        """
        log = self.log(name)
        self.connection.run(log.catch_up())  # another server may have revoked somebody
        left = self.connection.run(self.invites.count(log.experiment.board))
        used = self.get(name).enrolled if log.experiment.enrolment == "invite" else 0
        return InviteCounts(left, used, 0), len(self.revoked(name))

    def content(self, name: str) -> Content:
        """All that is kept of an experiment; what is posted meanwhile may be in it."""
        self.standing_of(name)
        log = self.log(name)
        self.connection.run(log.catch_up())
        invites = self.connection.run(self.invites.all(log.experiment.board))
        return replace(super().content(name), invites=invites)


def _receipt(is_new: bool, number: int, reason: str | None) -> Receipt:
    if reason is not None:
        return refused(reason)
    return Receipt(Outcome.ACCEPTED if is_new else Outcome.DUPLICATE, number)


def _state_of(record: Record) -> ExperimentState:
    """The state that an entry of the catalogue holds."""
    return ExperimentState(record.get("state", "open"), record.get("ends"))
