"""A store that any number of servers share: a replicated log on NATS JetStream.

Each server carries out what it reads of the log on a ``SqliteStore`` in its memory, and answers
from there; what changes anything is a command in the log first. Every method is safe in any thread
and blocks until it is done. A command counts only when it is in the log, on most of the nodes, and
this server has read it there; what became of it was decided in the order of the log.

A refusal is final to a device, so none is given by what this server happens to have read: before it
refuses, it reads all that was posted anywhere (``Log.catch_up``).
"""

import asyncio
import json
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any, Final, TypeVar, Unpack

from nats.errors import Error as NatsError

from devote.boards.admission import Receipt, admit, admit_voter, no_invite
from devote.boards.board import (
    Change,
    DeletedExperiment,
    Envelope,
    Experiment,
    ExperimentState,
    Outcome,
    UnknownExperiment,
)
from devote.boards.database import StoreError
from devote.boards.identity import hash_of, verify
from devote.boards.jetstream.connection import Connection, NatsAddress
from devote.boards.jetstream.invites import Invites
from devote.boards.jetstream.log import Log
from devote.boards.store import (
    Content,
    EnrolmentRequest,
    InviteCounts,
    Ledger,
    Revocation,
    Row,
    SqliteStore,
    add_voters,
    record_of,
)
from devote.errors import DevoteError
from devote.protocol.messages import MAX_ARMS, from_dict, to_dict

T = TypeVar("T")
P = TypeVar("P", EnrolmentRequest, tuple[str, Envelope])

STARTING = 20.0
"""Seconds for which a server that starts waits for the nodes to agree on a leader."""

PROBE_EVERY = 5.0
"""Seconds between two checks that the nodes take entries: what is read may be old else."""

AT_ONCE: Final = 200
"""Messages in one command: the nodes take a megabyte."""

DELETED = "deleted"
"""The subject of commands that delete; all others have that of their board."""


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
        self._results: dict[str, Any] = {}
        self._copies: dict[str, list[Any]] = {}
        self._unpurged: set[str] = set()
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
        for board in self._unpurged:  # the server that deleted it has died before it was done
            await self._erase(board)
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

    # Commands.

    async def _command(self, do: str, subject: str, **given: Any) -> Any:
        """Write a command, and return or raise what became of it."""
        name = secrets.token_hex(16)
        command = {"id": name, "do": do, "at": self.clock(), **given}
        self._results[name] = StoreError("The log was put back.\nAsk again.")
        try:
            await self.log.append(subject, json.dumps(command).encode())
            result = self._results[name]
        finally:
            del self._results[name]
        if isinstance(result, Exception):
            raise result
        return result

    def _take(self, content: bytes) -> None:
        """Carry out the next command of the log."""
        command = json.loads(content)
        result: Any
        try:
            result = self._carry_out(command)
        except StoreError:
            raise  # then this copy is not that of the others
        except DevoteError as error:
            result = error
        if command["id"] in self._results:
            self._results[command["id"]] = result

    def _carry_out(self, given: dict[str, Any]) -> Any:
        at, most, name = given["at"], given.get("most"), given.get("name", "")
        if name and given["do"] != "delete":
            super().get(name)  # or it is unknown
        match given["do"]:
            case "open":
                state = ExperimentState(**given["state"])
                return super().create_from(given["record"], most=most, state=state)
            case "change":
                return super().change(name, at=at, **given["change"])
            case "delete":
                if name in super().names():  # else what is erased after it is erased already
                    self._unpurged.add(given["board"])
                with self.database.write() as db:
                    self._delete_rows(db, name)
                return True
            case "revoke":
                return super().revoke(name, voters=given["voters"])
            case "enrol":
                requests = [(name, voter, None) for voter in given["voters"]]
                return super().enrol_all(requests, most=most, at=at, has_invites=False)
            case "post":
                posts = [(name, _envelope(item)) for item in given["posts"]]
                # Whoever wrote the command has checked the signatures.
                return super().post_all(posts, most=most, at=at, check=lambda envelope, scope: True)
            case "withdraw":
                return super().withdraw(name, given["arm"], at=at)
            case "copy":
                self._copies.setdefault(given["copy"], []).append(given["part"])
                return True
            case "adopt":
                return self._insert(given)
        raise StoreError(f"The log has a command {given['do']!r}.\nUpgrade this server.")

    def _begin(self) -> None:
        with self.database.write() as db:
            for (name,) in db.execute("SELECT name FROM experiments").fetchall():
                self._delete_rows(db, name)
            db.execute("DELETE FROM deleted")
        self._copies.clear()
        self._unpurged.clear()

    def _judge(
        self, name: str, items: Sequence[T], admits: Callable[[T, Ledger], Receipt | None]
    ) -> list[Receipt | None]:
        """What admission says of each, which is no only by all that any server has accepted."""
        self.get(name)
        receipts = self._ask(name, items, admits)
        if any(receipt and receipt.outcome is Outcome.REFUSED for receipt in receipts):
            self.connection.run(self.log.catch_up())
            receipts = self._ask(name, items, admits)
        return receipts

    def _ask(
        self, name: str, items: Sequence[T], admits: Callable[[T, Ledger], Receipt | None]
    ) -> list[Receipt | None]:
        self.log.check()
        with self.database.read() as db:
            ledger = Ledger(self, db, name)
            return [admits(item, ledger) for item in items]

    # Experiments.

    def create(
        self,
        experiment: Experiment,
        *,
        most: int | None = None,
        ends: int | None = None,
        delete_after: int | None = None,
    ) -> Receipt:
        """Open an experiment; duplicate if the very same is there, refused if another is."""
        subject, record = _of(experiment.board), record_of(experiment)
        state = ExperimentState().changed(
            self.clock(), {"ends": ends, "delete_after": delete_after}
        )
        given = {"record": record, "state": asdict(state), "most": most}
        receipt = self.connection.run(self._command("open", subject, **given))
        assert isinstance(receipt, Receipt)
        return receipt

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

    def change(
        self, name: str, *, at: float | None = None, **change: Unpack[Change]
    ) -> ExperimentState:
        """Put an experiment into another state, or give it another end; the rest stays."""
        work = self._command("change", _of(self.get(name).board), name=name, change=change)
        state = self.connection.run(work)
        assert isinstance(state, ExperimentState)
        return state

    def delete(self, name: str) -> None:
        """Delete an experiment and all that belongs to it; its name stays taken."""
        board = self.get(name).board
        self.connection.run(self._command("delete", DELETED, name=name, board=board))
        self.connection.run(self._erase(board))

    async def _erase(self, board: str) -> None:
        await self.log.purge(_of(board))
        await self.invites.purge(board)

    # Voters and invites.

    def enrol_all(
        self,
        requests: Sequence[EnrolmentRequest],
        *,
        most: int | None = None,
        at: float | None = None,
        has_invites: bool = True,
    ) -> list[Receipt]:
        """Let voters post whose requests are signed; what became of each."""
        return _by_experiment(requests, lambda name, part: self._enrol(name, part, most))

    def _enrol(
        self, name: str, requests: Sequence[EnrolmentRequest], most: int | None
    ) -> list[Receipt]:
        def admits(request: EnrolmentRequest, ledger: Ledger) -> Receipt | None:
            return admit_voter(request[1], ledger, most)

        experiment = self.get(name)
        board, by_invite = experiment.board, experiment.enrolment == "invite"
        receipts = self._judge(name, requests, admits)
        if by_invite:
            self.connection.run(self._take_invites(board, requests, receipts))
            if any(receipt and receipt.outcome is Outcome.REFUSED for receipt in receipts):
                # This server may have been behind, or another has enrolled them meanwhile.
                self.connection.run(self.log.catch_up())
                again = self._ask(name, requests, admits)
                pairs = zip(receipts, again, strict=True)
                receipts = [old if old is None else new for old, new in pairs]
                self.connection.run(self._take_invites(board, requests, receipts))
        voters = [r[1] for r, receipt in zip(requests, receipts, strict=True) if receipt is None]
        if voters:
            work = self._command("enrol", _of(board), name=name, voters=voters, most=most)
            done = iter(self.connection.run(work))
            receipts = [next(done) if receipt is None else receipt for receipt in receipts]
        found = [receipt for receipt in receipts if receipt is not None]
        if by_invite:
            self.connection.run(self._settle_invites(board, requests, found))
        return found

    async def _take_invites(
        self,
        board: str,
        requests: Sequence[EnrolmentRequest],
        receipts: list[Receipt | None],
    ) -> None:
        """Take the invite of each who may enrol by it; who cannot is refused."""

        async def take(place: int, voter: str, invite: str | None) -> None:
            if not await self.invites.take(board, hash_of(invite or ""), voter):
                receipts[place] = no_invite(invite)

        may_enrol = [place for place, receipt in enumerate(receipts) if receipt is None]
        await asyncio.gather(*(take(place, *requests[place][1:]) for place in may_enrol))

    async def _settle_invites(
        self, board: str, requests: Sequence[EnrolmentRequest], receipts: Sequence[Receipt]
    ) -> None:
        """Use up the invite of each who is enrolled; give back that of who is not."""
        settling = []
        for (_, voter, invite), receipt in zip(requests, receipts, strict=True):
            refused = receipt.outcome is Outcome.REFUSED
            settle = self.invites.give_back if refused else self.invites.use_up
            if invite is not None:
                settling.append(settle(board, hash_of(invite), voter))
        await asyncio.gather(*settling)

    def add_invites(self, name: str, invites: Iterable[tuple[str, int | None]]) -> None:
        """Keep new invites: the hash of each, and when it expires."""
        self.connection.run(self.invites.add(self.get(name).board, invites))

    def revoke(
        self, name: str, *, voters: Collection[str] = (), invites: Collection[str] = ()
    ) -> Revocation:
        """Take nothing more from these voters, and let nobody enrol by these invites."""
        board = self.get(name).board
        work = self._command("revoke", _of(board), name=name, voters=list(voters))
        taken = self.connection.run(self.invites.revoke(board, map(hash_of, invites)))
        done: Revocation = self.connection.run(work)
        return done + Revocation(invites=taken, unknown=len(invites) - taken)

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
        self,
        posts: Sequence[tuple[str, Envelope]],
        *,
        most: int | None = None,
        at: float | None = None,
        check: Callable[..., bool] = verify,
    ) -> list[Receipt]:
        """Post messages in their order within an experiment; what became of each."""
        return _by_experiment(posts, lambda name, part: self._post(name, part, most))

    def _post(
        self, name: str, posts: Sequence[tuple[str, Envelope]], most: int | None
    ) -> list[Receipt]:
        receipts = self._judge(name, posts, lambda post, ledger: admit(post[1], ledger, most))
        new = [_item(e) for (_, e), receipt in zip(posts, receipts, strict=True) if not receipt]
        done: Iterator[Receipt] = iter(())
        if new:
            subject = _of(self.get(name).board)
            work = self._command("post", subject, name=name, posts=new, most=most)
            done = iter(self.connection.run(work))
        return [next(done) if receipt is None else receipt for receipt in receipts]

    def withdraw(self, name: str, arm: int, *, at: float | None = None) -> Receipt:
        """Enter in the log that an arm is withdrawn; refused twice, and where it is too late."""
        work = self._command("withdraw", _of(self.get(name).board), name=name, arm=arm)
        receipt = self.connection.run(work)
        assert isinstance(receipt, Receipt)
        return receipt

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

    def check_writable(self) -> None:
        """Write something; StoreError if most of the nodes do not take it."""
        self.connection.run(self.log.catch_up())

    # Experiments of another store.

    def content(self, name: str) -> Content:
        """All that is kept of an experiment; what is posted meanwhile may be in it."""
        self.connection.run(self.log.catch_up())
        invites = self.connection.run(self.invites.all(self.get(name).board))
        return replace(super().content(name), invites=invites)

    async def adopt(self, content: Content, check: Callable[[], None]) -> None:
        """Take over an experiment: copy it into the log, read it back, compare, and then open it.

        ``check`` is called before it is opened, and may raise: then nothing of it is left.
        """
        experiment = content.experiment
        copy, subject = secrets.token_hex(16), _of(experiment.board)
        kinds: dict[str, list[Any]] = {
            "voters": content.voters,
            "revoked": content.revoked,
            "rows": content.rows,
        }
        parts = [
            {kind: rows[start : start + AT_ONCE]}
            for kind, rows in kinds.items()
            for start in range(0, len(rows), AT_ONCE)
        ]
        try:
            for part in parts:
                await self._command("copy", subject, copy=copy, part=part)
            if json.dumps(self._copies.get(copy, [])) != json.dumps(parts):
                raise StoreError(
                    f"What was read back of {experiment.name!r} is not what was copied.\n"
                    "Run it again; if it stays so, report this."
                )
            await self.invites.add(experiment.board, content.invites)
            await asyncio.to_thread(check)
            record, state = record_of(experiment, content.secret), asdict(content.state)
            given = {"record": record, "state": state, "copy": copy}
            receipt: Receipt = await self._command("adopt", subject, **given)
            if receipt.outcome is not Outcome.ACCEPTED:
                raise StoreError(f"{receipt.reason}\nNothing was moved.")
        except BaseException:
            with suppress(NatsError, TimeoutError):
                await self._erase(experiment.board)
            raise

    def _insert(self, given: dict[str, Any]) -> Receipt:
        """Open an experiment with what was copied before."""
        record, parts = given["record"], self._copies.pop(given["copy"], [])
        receipt = self.create_from(record, state=ExperimentState(**given["state"]))
        if receipt.outcome is Outcome.ACCEPTED:
            name = record["name"]
            with self.database.write() as db:
                for part in parts:
                    add_voters(db, name, part.get("voters", ()))
                    revoked = [(name, voter) for voter in part.get("revoked", ())]
                    db.executemany("INSERT INTO revoked VALUES (?, ?)", revoked)
                    rows = [
                        (name, number, json.loads(text)["voter"], text, signature)
                        for number, text, signature in part.get("rows", ())
                    ]
                    db.executemany("INSERT INTO messages VALUES (?, ?, ?, ?, ?)", rows)
        return receipt


def _by_experiment(
    items: Sequence[P], work: Callable[[str, list[P]], list[Receipt]]
) -> list[Receipt]:
    """What becomes of items, which begin with a name, done for each experiment and part by part."""
    receipts: dict[int, Receipt] = {}
    for name in dict.fromkeys(item[0] for item in items):
        mine = [place for place, item in enumerate(items) if item[0] == name]
        for start in range(0, len(mine), AT_ONCE):
            part = mine[start : start + AT_ONCE]
            receipts |= zip(part, work(name, [items[place] for place in part]), strict=True)
    return [receipts[place] for place in range(len(items))]


def _of(board: str) -> str:
    """The subject of a board's commands."""
    return f"board.{board}"


def _item(envelope: Envelope) -> list[Any]:
    return [to_dict(envelope.message), envelope.signature]


def _envelope(item: list[Any]) -> Envelope:
    return Envelope(from_dict(item[0], MAX_ARMS), item[1])
