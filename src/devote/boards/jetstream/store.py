"""A store that any number of servers share: a replicated log on NATS JetStream.

Each server keeps what it reads of the log in the tables of a ``SqliteStore`` in its memory, and
answers from there; what changes anything goes to the nodes first. Every method is safe in any
thread and blocks until it is done. An entry counts as posted only when it is in the log, on most of
the nodes, and this server has read it there.

A refusal is final to a device, so none is given by what this server happens to have read: before it
refuses, it reads all that was posted anywhere (``Log.catch_up``). An entry that is refused when it
is read stays in the log and has no number on the board. None is refused then because its voter is
revoked or its experiment closed: whoever posts checks that before. Another server may take a
message in the moment before it has read that an experiment is closed.
"""

import asyncio
import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TypeAlias, Unpack

from nats.errors import Error as NatsError

from devote.boards.admission import (
    Receipt,
    admit,
    admit_voter,
    no_invite,
    no_place,
    refusal,
    refused,
)
from devote.boards.board import (
    Change,
    DeletedExperiment,
    Envelope,
    Experiment,
    ExperimentState,
    Outcome,
    UnknownExperiment,
    UnreadableExperiment,
)
from devote.boards.database import StoreError
from devote.boards.identity import hash_of
from devote.boards.jetstream.connection import Connection, NatsAddress
from devote.boards.jetstream.invites import Invites
from devote.boards.jetstream.log import (
    DELETED,
    ENROLMENT,
    MESSAGE,
    OPENED,
    REVOCATION,
    STATE,
    Log,
    enrolment_subject,
    entry,
    message_subject,
    revocation_subject,
    token,
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
    insert_revoked,
    set_state,
)
from devote.protocol import from_json

Admits: TypeAlias = Callable[[Ledger], Receipt | None]

STARTING = 20.0
"""Seconds for which a server that starts waits for the nodes to agree on a leader."""

PROBE_EVERY = 5.0
"""Seconds between two checks that the nodes take entries: what is read may be old else."""


class JetStreamStore(SqliteStore):
    """The experiments at one address, such as ``nats://10.0.0.1:4222,10.0.0.2:4222/shop``.

    Opening it makes what is missing there, and refuses what cannot hold a store.
    """

    at_once = 64
    one_disk = False

    def __init__(self, address: str) -> None:
        self.connection = Connection(NatsAddress.parse(address))
        super().__init__(":memory:")
        self.log = Log(self.connection, begin=self._begin, take=self._take)
        self.invites = Invites(self.connection)
        self.unopened: dict[str, dict[str, bytes]] = {}
        """Entries of boards that are not opened, which a move writes first, by board."""
        self._names: dict[str, str] = {}  # by board; empty for one that was deleted
        self._changes: dict[str, int] = {}
        self._probing: asyncio.Task[None] | None = None
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
                await self.log.start()
                break
            except (NatsError, TimeoutError):
                if loop.time() > until:
                    raise
                await asyncio.sleep(0.3)
        self._probing = asyncio.create_task(self._probe())

    async def _probe(self) -> None:
        """Check again and again that the nodes take entries; if not, ask another of them."""
        while True:
            await asyncio.sleep(PROBE_EVERY)
            try:
                await self.log.catch_up()
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
        await self.log.stop()

    # What the log comes to.

    def _begin(self) -> None:
        with self.database.write() as db:
            for name in filter(None, self._names.values()):
                self.delete_rows(db, name)
            db.execute("DELETE FROM deleted")
        for known in (self.unopened, self._names, self._changes):
            known.clear()

    def _take(self, subject: str, content: bytes) -> None:
        """Keep the next entry of the log in the tables."""
        with self.database.write() as db:
            if not subject.startswith(f"{OPENED}."):
                self._keep(db, subject, content)
                return
            record = json.loads(content)
            name, board = record["name"], record["board"]
            state = ExperimentState(**record["state"])
            insert_experiment(db, json.dumps(record["spec"]), record, state)
            self._names[board] = name
            for earlier, its_content in self.unopened.pop(board, {}).items():
                self._keep(db, earlier, its_content)

    def _keep(self, db: sqlite3.Connection, subject: str, content: bytes) -> None:
        kind, board, *rest = subject.split(".")
        name = self._names.get(board)
        if name is None:
            self.unopened.setdefault(board, {})[subject] = content
        elif not name:
            pass  # it was posted while the experiment was deleted
        elif kind == DELETED:
            self.delete_rows(db, name)
            self._names[board] = ""
        elif kind == STATE:
            self._changes[board] = int(rest[0])
            set_state(db, name, ExperimentState(**json.loads(content)))
        elif kind == REVOCATION:
            insert_revoked(db, name, rest[0])
        else:
            with suppress(UnreadableExperiment):
                ledger = Ledger(self, db, name)
                if kind == ENROLMENT and no_place(ledger.experiment) is None:
                    ledger.enrol(rest[0])
                elif kind == MESSAGE:
                    self._keep_message(ledger, content)

    def _keep_message(self, ledger: Ledger, content: bytes) -> None:
        text, _, signature = content.decode().partition("\n")
        message = from_json(text, ledger.experiment.spec.n_arms)
        if not ledger.is_enrolled(message.voter) or ledger.tally.refusal(message) is not None:
            return
        # A leader that was elected just now may let a subject have a second entry.
        if ledger.number_of(message) is None:
            ledger.add(Envelope(message, signature))

    def _ask(self, name: str, admits: Admits) -> Receipt | None:
        """What admission says by all that this server has read."""
        self.log.check()
        with self.database.read() as db:
            return admits(Ledger(self, db, name))

    async def _decide(self, name: str, admits: Admits) -> Receipt | None:
        """What admission says, which is no only by all that any server has accepted."""
        receipt = self._ask(name, admits)
        if receipt is None or receipt.outcome is not Outcome.REFUSED:
            return receipt
        await self.log.catch_up()
        return self._ask(name, admits)

    # Experiments.

    def create(self, experiment: Experiment, *, most: int | None = None) -> Receipt:
        """Open an experiment; duplicate if the very same is there, refused if another is."""
        return self.connection.run(self._create(experiment, most))

    async def _create(self, experiment: Experiment, most: int | None) -> Receipt:
        await self.log.catch_up()
        receipt = self._admit_now(experiment, most)
        while receipt is None:
            if await self.open(experiment, ExperimentState()):
                return Receipt(Outcome.ACCEPTED)
            receipt = self._admit_now(experiment, most)
        return receipt

    def _admit_now(self, experiment: Experiment, most: int | None) -> Receipt | None:
        with self.database.read() as db:
            return self._admit(db, experiment, most)

    async def open(self, experiment: Experiment, state: ExperimentState) -> bool:
        """Enter an experiment; False if its name is taken."""
        record = {**experiment.facts, "spec": experiment.spec.to_dict(), "state": vars(state)}
        subject = f"{OPENED}.{token(experiment.name)}"
        return await self.log.append(subject, json.dumps(record).encode())

    def names(self) -> list[str]:
        """The names of all experiments, in order."""
        self.log.check()
        return super().names()

    def get(self, name: str) -> Experiment:
        """An experiment and how many are enrolled; it may just have been opened elsewhere."""
        self.log.check()
        try:
            return super().get(name)
        except DeletedExperiment:
            raise
        except UnknownExperiment:
            self.connection.run(self.log.read_on())
            return super().get(name)

    def standing(self, name: str) -> ExperimentState:
        """The state of an experiment now; UnknownExperiment if it is not there."""
        self.connection.run(self.log.read_on())
        return super().standing(name)

    def change(self, name: str, **change: Unpack[Change]) -> ExperimentState:
        """Put an experiment into another state, or give it another end; the rest stays."""
        return self.connection.run(self._change(name, change))

    async def _change(self, name: str, change: Change) -> ExperimentState:
        await self.log.catch_up()
        while True:
            with self.database.read() as db:
                ledger = Ledger(self, db, name)
                state, now = ledger.standing()
            board, new = ledger.experiment.board, state.changed(now, change)
            number = self._changes.get(board, 0) + 1
            if await self.log.append(f"{STATE}.{board}.{number}", json.dumps(vars(new)).encode()):
                return new

    def delete(self, name: str) -> None:
        """Delete an experiment and all that belongs to it; its name stays taken."""
        self.connection.run(self._delete(name))

    async def _delete(self, name: str) -> None:
        await self.log.catch_up()
        board = super().get(name).board
        await self._erase(board)  # first, so that what breaks off here is asked for again
        await self.log.append(f"{DELETED}.{board}", b"")
        await self._erase(board)  # what was posted meanwhile

    async def _erase(self, board: str) -> None:
        await self.log.purge(board)
        await self.invites.purge(board)

    # Voters and invites.

    def enrol_all(
        self, requests: Sequence[EnrolmentRequest], *, most: int | None = None
    ) -> list[Receipt]:
        """Let voters post whose requests are signed, all at once."""
        there = {name: self.get(name) for name, _, _ in requests}

        async def enrol_together() -> list[Receipt]:
            enrolling = (
                self._enrol(there[n], voter, invite, most) for n, voter, invite in requests
            )
            return await asyncio.gather(*enrolling)

        return self.connection.run(enrol_together())

    async def _enrol(
        self, experiment: Experiment, voter: str, invite: str | None, most: int | None
    ) -> Receipt:
        name, board, key = experiment.name, experiment.board, hash_of(invite or "")
        needs_invite = experiment.enrolment == "invite"
        receipt = await self._decide(name, lambda ledger: admit_voter(voter, ledger, most))
        if receipt is not None:
            if needs_invite and invite is not None and receipt.outcome is Outcome.DUPLICATE:
                await self.invites.use_up(board, key, voter)
            return receipt
        if needs_invite and (invite is None or not await self.invites.take(board, key, voter)):
            await self.log.catch_up()  # another server may have enrolled it by this very invite
            return self._ask(name, lambda ledger: admit_voter(voter, ledger)) or no_invite(invite)
        is_new = await self.log.append(enrolment_subject(board, voter), b"")
        with self.database.read() as db:
            ledger = Ledger(self, db, name)
            left_out = None if ledger.is_enrolled(voter) else no_place(ledger.experiment)
        if needs_invite:
            finish = self.invites.give_back if left_out else self.invites.use_up
            await finish(board, key, voter)
        return left_out or Receipt(Outcome.ACCEPTED if is_new else Outcome.DUPLICATE)

    def add_invites(self, name: str, invites: Iterable[tuple[str, int | None]]) -> None:
        """Keep new invites: the hash of each, and when it expires."""
        self.connection.run(self.invites.add(self.get(name).board, invites))

    def revoke(
        self, name: str, *, voters: Collection[str] = (), invites: Collection[str] = ()
    ) -> Revocation:
        """Take nothing more from these voters, and let nobody enrol by these invites."""
        return self.connection.run(self._revoke(name, voters, invites))

    async def _revoke(
        self, name: str, voters: Collection[str], invites: Collection[str]
    ) -> Revocation:
        await self.log.catch_up()
        with self.database.read() as db:
            ledger = Ledger(self, db, name)
            known = [voter for voter in voters if ledger.is_enrolled(voter)]
        board, devices = ledger.experiment.board, 0
        for voter in known:
            devices += await self.log.append(revocation_subject(board, voter), b"")
        taken = await self.invites.revoke(board, map(hash_of, invites))
        return Revocation(devices, taken, len(voters) - len(known) + len(invites) - taken)

    def revoke_all_invites(self, name: str) -> Revocation:
        """Let nobody enrol by any invite made so far."""
        return Revocation(invites=self.connection.run(self.invites.purge(self.get(name).board)))

    def counts(self, name: str) -> tuple[InviteCounts, int]:
        """How many invites there are of each kind, and how many devices are revoked.

        An invite that has expired is gone from the nodes, so none is counted.
        """
        self.connection.run(self.log.catch_up())  # another server may have revoked somebody
        experiment = self.get(name)
        left = self.connection.run(self.invites.count(experiment.board))
        used = experiment.enrolled if experiment.enrolment == "invite" else 0
        return InviteCounts(left, used, 0), super().counts(name)[1]

    # Messages.

    def post_all(
        self, posts: Sequence[tuple[str, Envelope]], *, most: int | None = None
    ) -> list[Receipt]:
        """Post messages, all at once; what became of each."""
        there = {name: self.get(name) for name, _ in posts}
        reasons = [refusal(e, there[name].spec, there[name].scope) for name, e in posts]

        async def post_together() -> list[Receipt]:
            posting = (
                self._post(there[name], envelope, most)
                for (name, envelope), reason in zip(posts, reasons, strict=True)
                if reason is None
            )
            return await asyncio.gather(*posting)

        done = iter(self.connection.run(post_together()))
        return [next(done) if reason is None else refused(reason) for reason in reasons]

    async def _post(self, experiment: Experiment, envelope: Envelope, most: int | None) -> Receipt:
        name, message = experiment.name, envelope.message
        receipt = await self._decide(name, lambda ledger: admit(envelope, ledger, most))
        if receipt is not None:
            return receipt
        subject = message_subject(experiment.board, message)
        is_new = await self.log.append(subject, entry(envelope))
        with self.database.read() as db:
            ledger = Ledger(self, db, name)
            number = ledger.number_of(message)
            if number is None:  # it came too late, or after another message of the same subject
                why = ledger.tally.refusal(message)
                return refused(why or "Another message answers this question.\nDiscard this one.")
        return Receipt(Outcome.ACCEPTED if is_new else Outcome.DUPLICATE, number)

    def rows(self, name: str, after: int = 0, limit: int | None = None) -> tuple[int, list[Row]]:
        """The board's last number, and the messages above ``after``; at most ``limit``, the first.

        Whoever asks for what is above a number has read that number, perhaps from another server:
        this one then reads on before it answers.
        """
        self.get(name)
        found = super().rows(name, after, limit)
        if after <= found[0]:
            return found
        self.connection.run(self.log.read_on())
        return super().rows(name, after, limit)

    def content(self, name: str) -> Content:
        """All that is kept of an experiment; what is posted meanwhile may be in it."""
        self.connection.run(self.log.catch_up())
        invites = self.connection.run(self.invites.all(self.get(name).board))
        return replace(super().content(name), invites=invites)

    def check_writable(self) -> None:
        """Write something; StoreError if most of the nodes do not take it."""
        self.connection.run(self.log.catch_up())
