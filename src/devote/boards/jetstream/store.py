"""What a server keeps on NATS JetStream, where any number of servers share it.

Every method is safe in any thread and blocks until it is done, as those of ``SqliteStore``; what
each promises is said there. An entry counts as posted only when it is in the log, on most of the
nodes, and this server has read it there.
"""

import asyncio
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from nats.errors import Error as NatsError

from devote.boards.administration import check_invites, name_taken
from devote.boards.admission import UNSIGNED, Receipt, refusal, refused
from devote.boards.board import Envelope, Outcome, PublicTally
from devote.boards.database import StoreError
from devote.boards.experiment import Experiment
from devote.boards.history import History
from devote.boards.identity import verify_enrolment
from devote.boards.jetstream.address import NatsAddress
from devote.boards.jetstream.administration import JetStreamAdministration
from devote.boards.jetstream.admitting import Admitting
from devote.boards.jetstream.catalogue import Catalogue
from devote.boards.jetstream.connection import Connection
from devote.boards.jetstream.fold import Fold
from devote.boards.jetstream.invites import Invites, hashed
from devote.boards.jetstream.log import Log
from devote.boards.standing import UnreadableExperiment, unknown
from devote.boards.stores import OneByOne
from devote.protocol import ExperimentSpec, SpecError
from devote.protocol.wire import Scope

T = TypeVar("T")

STARTING = 20.0
"""Seconds for which a server that starts waits for the nodes to agree on a leader."""

PROBE_EVERY = 5.0
"""Seconds between two looks at whether the nodes take entries: what is read may be old else."""


class JetStreamStore(OneByOne):
    """The experiments at one address, such as ``nats://10.0.0.1:4222,10.0.0.2:4222/shop``.

    Opening it makes what is missing there, and refuses what cannot hold a store.
    """

    at_once = 64
    one_disk = False

    def __init__(self, address: str) -> None:
        self.connection = Connection(NatsAddress.parse(address))
        self.catalogue = Catalogue(self.connection, self._forget)
        self.invites = Invites(self.connection)
        self.administration = JetStreamAdministration(self)
        self._admitting = Admitting(self.catalogue, self.invites, self.administration)
        self._logs: dict[str, Log] = {}
        self._probing: asyncio.Task[None] | None = None
        self._opening: dict[str, asyncio.Lock] = {}
        self.specs: dict[str, ExperimentSpec] = {}
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
        if not experiment.name.strip("."):
            return refused(
                f"name={experiment.name!r} cannot be part of an address.",
                "Use a letter or a digit.",
            )
        return self.connection.run(self._create(experiment, most))

    async def _create(self, experiment: Experiment, most: int | None) -> Receipt:
        there = await self.catalogue.get(experiment.name)
        count = len(self.catalogue.all())
        if there is None and self.catalogue.is_deleted(experiment.name):
            return name_taken(experiment.name)
        if there is None:
            if most is not None and count >= most:
                return refused(
                    f"There are {count} experiments, and at most {most} are allowed.",
                    "Raise the limit, or use another store.",
                )
            log = Log(self.connection, experiment)
            await log.make()  # before the name is there, so that a name always has its log
            if await self.catalogue.create(experiment):
                return Receipt(Outcome.ACCEPTED)
            there = await self.catalogue.get(experiment.name)
            if there is None or there["board"] != experiment.board:
                await log.remove()
        settings = (experiment.fingerprint, experiment.enrolment, experiment.players)
        if there and settings == (there["fingerprint"], there["enrolment"], there["players"]):
            return Receipt(Outcome.DUPLICATE)
        return refused(
            f"An experiment {experiment.name!r} with other settings is there already.",
            "An experiment never changes: choose another name.",
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
        return self._look(name, lambda fold: _counted(fold))

    def spec(self, name: str) -> ExperimentSpec:
        """An experiment's specification, which is read once."""
        return self.specs.get(name) or self.log(name).experiment.spec

    def scope(self, name: str) -> Scope:
        """Where signatures of an experiment are good."""
        return self.log(name).experiment.scope

    def invite(self, name: str, count: int, expires: int | None = None) -> list[str]:
        """New single-use invites: the only time they can be read, as only hashes are kept."""
        check_invites(count, expires, self.administration.clock())
        board = self.log(name).experiment.board
        invites = [secrets.token_urlsafe(16) for _ in range(count)]
        self.connection.run(self.invites.add(board, map(hashed, invites), expires))
        return invites

    def delete(self, name: str) -> None:
        """Delete an experiment and all that belongs to it; its name stays taken."""
        self.connection.run(self._delete(name))

    async def _delete(self, name: str) -> None:
        board = (await self.administration.record(name))["board"]
        log = await self.open(name)
        tombstone = {"name": name, "board": board, "deleted": True}
        while not await self.catalogue.replace(tombstone):
            await self.administration.record(name)
        await self.invites.purge(board)
        await log.stop()
        await log.remove()

    def _forget(self, name: str) -> None:
        """Keep nothing of an experiment that was deleted, here or by another server."""
        self.specs.pop(name, None)
        log = self._logs.pop(name, None)
        if log is not None:
            self._stopping = asyncio.ensure_future(log.stop())

    def enrol_all(
        self, requests: Sequence[tuple[str, str, str, str | None]], *, most: int | None = None
    ) -> list[Receipt]:
        """Let voters post, all at once; what became of each request."""
        logs = {name: self.log(name) for name, _, _, _ in requests}
        good = [
            verify_enrolment(voter=voter, scope=logs[name].experiment.scope, signature=signature)
            for name, voter, signature, _ in requests
        ]

        async def enrol_together() -> list[Receipt]:
            signed = (request for request, is_good in zip(requests, good, strict=True) if is_good)
            return await asyncio.gather(
                *(
                    self._admitting.enrol(logs[name], voter, signature, invite, most)
                    for name, voter, signature, invite in signed
                )
            )

        done = iter(self.connection.run(enrol_together()))
        return [next(done) if is_good else UNSIGNED for is_good in good]

    def voters(self, name: str, after: str = "", limit: int | None = None) -> list[str]:
        """The enrolled voters above ``after``, in order of their keys; at most ``limit``."""
        return self._look(name, lambda fold: fold.voters(after, limit))

    def post_all(
        self, posts: Sequence[tuple[str, Envelope]], *, most: int | None = None
    ) -> list[Receipt]:
        """Post messages, all at once; what became of each."""
        logs = {name: self.log(name) for name, _ in posts}
        receipts: list[Receipt | None] = []
        for name, envelope in posts:
            experiment = logs[name].experiment
            reason = refusal(envelope, experiment.spec, experiment.scope)
            receipts.append(refused(reason) if reason else None)

        async def post_together() -> list[Receipt]:
            return await asyncio.gather(
                *(
                    self._admitting.post(logs[name], envelope, most)
                    for (name, envelope), receipt in zip(posts, receipts, strict=True)
                    if receipt is None
                )
            )

        done = iter(self.connection.run(post_together()))
        return [next(done) if receipt is None else receipt for receipt in receipts]

    def check_writable(self) -> None:
        """Write something; StoreError if most of the nodes do not take it."""
        self.connection.run(self.invites.probe())

    def look(self, name: str, draw: Callable[[History], T]) -> T:
        """What a function makes of an experiment's messages, all that this server has read."""
        return self._look(name, lambda fold: draw(fold.history))

    def tally(self, name: str) -> PublicTally:
        """What an experiment's messages come to."""

        def tell(fold: Fold) -> PublicTally:
            experiment, history = fold.experiment, fold.history
            public = history.tally.public(experiment.players)
            return PublicTally.of(experiment.scope, history.number, public)

        return self._look(name, tell)

    def numbers(self) -> dict[str, int]:
        """How many messages each experiment has that has any."""
        numbers = {}
        for name in self.catalogue.all():
            with suppress(UnreadableExperiment):
                numbers[name] = self._look(name, lambda fold: fold.number)
        return {name: number for name, number in numbers.items() if number}

    def rows_of(self, name: str, voter: str) -> tuple[int, list[tuple[int, str, str]]]:
        """The board's last number, and the messages of one voter."""
        return self._look(name, lambda fold: (fold.number, fold.said(voter)))

    def rows(
        self, name: str, after: int = 0, limit: int | None = None
    ) -> tuple[int, list[tuple[int, str, str]]]:
        """The board's last number, and number, JSON text and signature of what is above ``after``.

        At most ``limit`` of these, the first. Whoever asks for what is above a number has read
        that number, perhaps from another server:
        this one then reads on before it answers.
        """
        log = self.log(name)
        if after > log.fold.number:
            self.connection.run(log.catch_up())
        return self._look(name, lambda fold: (fold.number, fold.rows(after, limit)))

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
        async with self._opening.setdefault(name, asyncio.Lock()):
            if name in self._logs:
                return self._logs[name]
            record = await self.catalogue.get(name)
            if record is None:
                raise unknown(name, deleted=self.catalogue.is_deleted(name))
            log = Log(self.connection, _experiment(record))
            await log.start()
            self.specs[name] = log.experiment.spec
            self._logs[name] = log
            return log


def _experiment(record: dict[str, Any]) -> Experiment:
    try:
        spec = ExperimentSpec.from_dict(record["spec"])
        return Experiment(spec, record["enrolment"], record["players"], board=record["board"])
    except SpecError as error:
        raise UnreadableExperiment(str(error)) from None


def _counted(fold: Fold) -> Experiment:
    experiment = fold.experiment
    return Experiment(
        experiment.spec,
        experiment.enrolment,
        experiment.players,
        len(fold.enrolled),
        experiment.board,
    )
