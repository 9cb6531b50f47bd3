"""What a server keeps on NATS JetStream, where any number of servers share it.

Every method is safe in any thread and blocks until it is done. An entry counts as posted only when
it is in the log, on most of the nodes, and this server has read it there.

A refusal is final to a device, so none is given by what this server happens to have read: before it
says no, it reads all that was posted anywhere (``Log.catch_up``). The state of an experiment is in
its entry in the catalogue, which every server follows; whom the operator revoked is in the
experiment's log. Another server may take a message in the moment before it has read that an
experiment is closed.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import Any, TypeVar, Unpack

from nats.errors import Error as NatsError

from devote.boards.admission import (
    Receipt,
    admit,
    admit_experiment,
    admit_voter,
    no_invite,
    refusal,
    refused,
)
from devote.boards.board import Envelope, Outcome
from devote.boards.database import StoreError
from devote.boards.experiment import (
    Change,
    Experiment,
    ExperimentState,
    UnreadableExperiment,
    unknown,
)
from devote.boards.history import History
from devote.boards.identity import hash_of
from devote.boards.jetstream.catalogue import Catalogue
from devote.boards.jetstream.connection import Connection, NatsAddress
from devote.boards.jetstream.fold import (
    Fold,
    enrolment_subject,
    entry,
    message_subject,
    revocation_subject,
)
from devote.boards.jetstream.invites import Invites
from devote.boards.jetstream.log import Appended, Log
from devote.boards.stores import (
    BoardStore,
    Content,
    EnrolmentRequest,
    InviteCounts,
    Revocation,
    Row,
)
from devote.protocol import ExperimentSpec, SpecError
from devote.protocol.wire import Scope

T = TypeVar("T")

STARTING = 20.0
"""Seconds for which a server that starts waits for the nodes to agree on a leader."""

PROBE_EVERY = 5.0
"""Seconds between two looks at whether the nodes take entries: what is read may be old else."""


class JetStreamStore(BoardStore):
    """The experiments at one address, such as ``nats://10.0.0.1:4222,10.0.0.2:4222/shop``.

    Opening it makes what is missing there, and refuses what cannot hold a store.
    """

    at_once = 64
    one_disk = False

    def __init__(self, address: str) -> None:
        super().__init__()
        self.connection = Connection(NatsAddress.parse(address))
        self.catalogue = Catalogue(self.connection, self._forget)
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

    async def _stop(self) -> None:
        if self._probing is not None:
            self._probing.cancel()
        for log in self._logs.values():
            await log.stop()
        await self.catalogue.stop()

    def create(self, experiment: Experiment, *, most: int | None = None) -> Receipt:
        """Open an experiment; duplicate if the very same is there, refused if another is."""
        return self.connection.run(self._create(experiment, most))

    async def _create(self, experiment: Experiment, most: int | None) -> Receipt:
        if (receipt := await self._admit_experiment(experiment, most)) is not None:
            return receipt
        log = Log(self.connection, experiment)
        await log.make()  # before the name is there, so that a name always has its log
        if await self.catalogue.create(experiment):
            return Receipt(Outcome.ACCEPTED)
        there = await self.catalogue.get(experiment.name)
        if there is None or there["board"] != experiment.board:
            await log.remove()
        receipt = await self._admit_experiment(experiment, most)
        return receipt or refused("Another server has just changed this name.", "Try again.")

    async def _admit_experiment(self, experiment: Experiment, most: int | None) -> Receipt | None:
        there = await self.catalogue.get(experiment.name)
        settings = there and (there["fingerprint"], there["enrolment"], there["players"])
        return admit_experiment(
            experiment,
            settings or None,
            deleted=self.catalogue.is_deleted(experiment.name),
            count=len(self.catalogue.all()),
            most=most,
        )

    def experiments(self) -> list[Experiment]:
        """All experiments that this version of devote can read, by name."""
        found = []
        for name in sorted(self.catalogue.all()):
            with suppress(UnreadableExperiment):
                found.append(self.get(name))
        return found

    def get(self, name: str) -> Experiment:
        """An experiment and how many are enrolled; UnknownExperiment if it is not there."""
        return self._look(name, lambda fold: fold.experiment)

    def scope(self, name: str) -> Scope:
        """Where signatures of an experiment are good."""
        return self.log(name).experiment.scope

    def delete(self, name: str) -> None:
        """Delete an experiment and all that belongs to it; its name stays taken."""
        self.connection.run(self._delete(name))

    async def _delete(self, name: str) -> None:
        board = (await self._record(name))["board"]
        log = await self.open(name)
        tombstone = {"name": name, "board": board, "deleted": True}
        while not await self.catalogue.replace(tombstone):
            await self._record(name)
        await self.invites.purge(board)
        await log.stop()
        await log.remove()

    def _forget(self, name: str) -> None:
        """Keep nothing of an experiment that was deleted, here or by another server."""
        self.specs.pop(name, None)
        self._opening.pop(name, None)
        log = self._logs.pop(name, None)
        if log is not None:
            self._stopping = asyncio.ensure_future(log.stop())

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
        receipt = await self._ask(log, lambda fold: admit_voter(voter, fold, most))
        if receipt is not None:
            if needs_invite and invite is not None and receipt.outcome is Outcome.DUPLICATE:
                await self.invites.use_up(board, key, voter)
            return receipt
        if needs_invite and (invite is None or not await self.invites.take(board, key, voter)):
            await log.catch_up()
            with log.lock:
                there = log.fold.is_enrolled(voter)
            return Receipt(Outcome.DUPLICATE) if there else no_invite(invite)
        subject = enrolment_subject(voter)
        appended = await log.append(subject, b"")
        with log.lock:
            reason = log.fold.refused.get(subject)
        if needs_invite and reason is None:
            await self.invites.use_up(board, key, voter)
        elif needs_invite:
            await self.invites.give_back(board, key, voter)
        return _receipt(appended, None, reason)

    def voters(self, name: str, after: str = "", limit: int | None = None) -> list[str]:
        """The enrolled voters above ``after``, in order of their keys; at most ``limit``."""
        return self._look(name, lambda fold: fold.voters(after, limit))

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
        receipt = await self._ask(log, lambda fold: admit(envelope, fold, most))
        if receipt is not None:
            return receipt
        subject = message_subject(envelope.message)
        appended = await log.append(subject, entry(envelope))
        with log.lock:
            number = log.fold.number_of(envelope.message)
            reason = log.fold.refused.get(subject)
        if number is None:
            reason = reason or "Another message answers this question.\nDiscard this one."
        return _receipt(appended, number, reason)

    async def _ask(self, log: Log, admits: Callable[[Fold], Receipt | None]) -> Receipt | None:
        """What admission says, which is no only by all that any server has been told."""
        with log.lock:
            receipt = admits(log.fold)
        if receipt is None or receipt.outcome is not Outcome.REFUSED:
            return receipt
        await self.catalogue.catch_up()
        await log.catch_up()
        with log.lock:
            return admits(log.fold)

    def check_writable(self) -> None:
        """Write something; StoreError if most of the nodes do not take it."""
        self.connection.run(self.invites.probe())

    def look(self, name: str, draw: Callable[[History], T]) -> T:
        """What a function makes of an experiment's messages, all that this server has read."""
        return self._look(name, lambda fold: draw(fold.history))

    def numbers(self) -> dict[str, int]:
        """How many messages each experiment has that has any."""
        numbers = {}
        for name in self.catalogue.all():
            with suppress(UnreadableExperiment):
                numbers[name] = self._look(name, lambda fold: fold.number)
        return {name: number for name, number in numbers.items() if number}

    def rows_of(self, name: str, voter: str) -> tuple[int, list[Row]]:
        """The board's last number, and the messages of one voter."""
        return self._look(name, lambda fold: (fold.number, fold.said(voter)))

    def rows(self, name: str, after: int = 0, limit: int | None = None) -> tuple[int, list[Row]]:
        """The board's last number, and the messages above ``after``; at most ``limit``, the first.

        Whoever asks for what is above a number has read that number, perhaps from another server:
        this one then reads on before it answers.
        """
        log = self.log(name)
        if after > log.fold.number:
            self.connection.run(log.read_on())
        return self._look(name, lambda fold: (fold.number, fold.rows(after, limit)))

    def standing_of(self, name: str) -> ExperimentState:
        """The state of an experiment as it was set; UnknownExperiment if it is not there."""
        return _standing_of(self.connection.run(self._record(name)))

    def change(self, name: str, **change: Unpack[Change]) -> ExperimentState:
        """Put an experiment into another state, or give it another end; the rest stays."""
        return self.connection.run(self._change(name, change))

    async def _change(self, name: str, change: Change) -> ExperimentState:
        while True:
            record = await self._record(name)
            new = _standing_of(record).changed(self.clock(), change)
            if await self.catalogue.replace({**record, "state": new.state, "ends": new.ends}):
                return new

    def archived(self) -> set[str]:
        """The experiments that are archived."""
        found = self.catalogue.all()
        return {name for name, record in found.items() if record.get("state") == "archived"}

    async def _record(self, name: str) -> dict[str, Any]:
        """The entry of an experiment, as of now; UnknownExperiment if there is none."""
        await self.catalogue.catch_up()
        record = await self.catalogue.get(name)
        if record is None:
            raise unknown(name, deleted=self.catalogue.is_deleted(name))
        return record

    def add_invites(self, name: str, hashes: Sequence[str], expires: int | None) -> None:
        """Keep new invites."""
        board = self.log(name).experiment.board
        self.connection.run(self.invites.add(board, hashes, expires))

    def revoke(
        self, name: str, *, voters: Collection[str] = (), invites: Collection[str] = ()
    ) -> Revocation:
        """Take nothing more from these voters, and let nobody enrol by these invites."""
        return self.connection.run(self._revoke(self.log(name), voters, invites))

    async def _revoke(
        self, log: Log, voters: Collection[str], invites: Collection[str]
    ) -> Revocation:
        await log.catch_up()
        devices = known = 0
        for voter in voters:
            if log.fold.is_enrolled(voter):
                known += 1
                devices += not log.fold.is_revoked(voter)
                await log.append(revocation_subject(voter), b"")
        taken = await self.invites.revoke(log.experiment.board, map(hash_of, invites))
        vain = len(voters) - known + len(invites) - taken
        return Revocation(devices, taken, vain)

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
        with log.lock:
            used = len(log.fold.enrolled) if log.experiment.enrolment == "invite" else 0
            return InviteCounts(left, used, 0), len(log.fold.revoked)

    def content(self, name: str) -> Content:
        """All that is kept of an experiment; what is posted meanwhile may be in it."""
        standing, log = self.standing_of(name), self.log(name)
        self.connection.run(log.catch_up())
        invites = self.connection.run(self.invites.all(log.experiment.board))
        with log.lock:
            fold = log.fold
            voters, revoked = list(fold.enrolled), sorted(fold.revoked)
            return Content(fold.experiment, standing, voters, revoked, invites, fold.rows(0))

    def deleted(self) -> list[str]:
        """The names of experiments that were deleted."""
        return self.catalogue.deleted()

    def _look(self, name: str, draw: Callable[[Fold], T]) -> T:
        log = self.log(name)
        log.check()
        with log.lock:
            return draw(log.fold)

    def log(self, name: str) -> Log:
        """The log of an experiment, which is read when it is first asked for."""
        return self._logs.get(name) or self.connection.run(self.open(name))

    async def open(self, name: str) -> Log:
        """The same, on the connection's loop."""
        record = await self.catalogue.get(name)
        if record is None:  # nothing is kept of a name that is not there
            raise unknown(name, deleted=self.catalogue.is_deleted(name))
        async with self._opening.setdefault(name, asyncio.Lock()):
            if name in self._logs:
                return self._logs[name]

            def standing() -> tuple[ExperimentState, float]:
                return _standing_of(self.catalogue.all().get(name, {})), self.clock()

            log = Log(self.connection, _experiment(record), standing)
            await log.start()
            self.specs[name] = log.experiment.spec
            self._logs[name] = log
            return log


def _receipt(appended: Appended, number: int | None, reason: str | None) -> Receipt:
    if reason is not None:
        return refused(reason)
    outcome = Outcome.ACCEPTED if appended is Appended.NEW else Outcome.DUPLICATE
    return Receipt(outcome, number or 0)


def _standing_of(record: dict[str, Any]) -> ExperimentState:
    """The state that an entry of the catalogue holds."""
    return ExperimentState(record.get("state", "open"), record.get("ends"))


def _experiment(record: dict[str, Any]) -> Experiment:
    try:
        spec = ExperimentSpec.from_dict(record["spec"])
        return Experiment(spec, record["enrolment"], record["players"], board=record["board"])
    except SpecError as error:
        raise UnreadableExperiment(str(error)) from None
