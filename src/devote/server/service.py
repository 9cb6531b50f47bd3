"""What the routes share: the store, the settings, the live boards, the limits and the counters."""

import asyncio
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Annotated, ParamSpec, TypeVar

from fastapi import Depends, Path, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.responses import Response

from devote.boards.admission import UNSIGNED, Receipt
from devote.boards.board import Envelope, Outcome
from devote.boards.database import StoreError
from devote.boards.experiment import Experiment
from devote.boards.identity import verify_enrolment
from devote.boards.stores import BoardStore, EnrolmentRequest
from devote.server.answers import Refused, too_many
from devote.server.connections import Connections
from devote.server.grouping import Grouped
from devote.server.limits import RateLimit
from devote.server.live import LiveBoard, LiveBoards
from devote.server.metrics import Metrics
from devote.server.models import NAME, OutcomeAnswer
from devote.server.settings import Settings
from devote.server.token import OperatorToken

P = ParamSpec("P")
T = TypeVar("T")


class Service:
    """One server's parts."""

    def __init__(self, store: BoardStore, settings: Settings) -> None:
        self.store = store
        self.settings = settings
        self.token = OperatorToken(settings)
        self.boards = LiveBoards(store, settings)
        self.metrics = Metrics()
        self.voters = RateLimit(rate=settings.voter_rate, burst=settings.voter_burst)
        self.writes = RateLimit(rate=settings.write_rate, burst=settings.write_burst)
        self._threads = ThreadPoolExecutor(store.at_once, "devote-store")
        self.reads = RateLimit(rate=settings.read_rate, burst=settings.read_burst)
        self._checking = asyncio.Lock()
        self._checked_at = float("-inf")
        self._trouble: StoreError | None = None
        self.connections: Connections | None = None
        self.admin_port: int | None = None
        self._posts: dict[str, Grouped[tuple[str, Envelope], Receipt]] = {}
        self._enrolments: dict[str, Grouped[EnrolmentRequest, Receipt]] = {}

    def listed(self) -> list[Experiment]:
        """The experiments that are not archived."""
        hidden = self.store.archived()
        return [item for item in self.store.experiments() if item.name not in hidden]

    async def call(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Do something with the store, in a thread: it waits for a disk or for others."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, partial(work, *args, **kwargs))

    async def post(self, name: str, envelope: Envelope) -> Receipt:
        """Post a message, together with others; it is kept when this returns."""
        key = self._group(name)
        if key not in self._posts:
            work = partial(self.store.post_all, most=self.settings.messages)
            self._posts[key] = Grouped(work, call=self.call)
        receipt = await self._posts[key].do((name, envelope))
        self.metrics.count_message(name, receipt.outcome)
        if receipt.outcome is Outcome.ACCEPTED:
            self.boards.of(name).changed()
        return receipt

    async def enrol(self, name: str, voter: str, signature: str, invite: str | None) -> Receipt:
        """Enrol a voter, together with others."""
        if not verify_enrolment(voter=voter, scope=self.store.scope(name), signature=signature):
            return UNSIGNED
        key = self._group(name)
        if key not in self._enrolments:
            work = partial(self.store.enrol_all, most=self.settings.enrolments)
            self._enrolments[key] = Grouped(work, call=self.call)
        return await self._enrolments[key].do((name, voter, invite))

    def _group(self, name: str) -> str:
        """With whom an experiment's writes wait: with all where there is one disk, else alone."""
        return "" if self.store.one_disk else name

    async def check_health(self) -> None:
        """Write to the store, at most once a second; StoreError if that does not work."""
        async with self._checking:
            now = asyncio.get_running_loop().time()
            if now - self._checked_at >= 1.0:
                try:
                    await self.call(self.store.check_writable)
                    self._trouble = None
                except StoreError as error:
                    self._trouble = error
                self._checked_at = now
        if self._trouble is not None:
            raise self._trouble

    def check(self, limit: RateLimit, key: str, what: str = "for this experiment") -> None:
        """Refuse what is asked for too often."""
        if seconds := limit.wait(key):
            raise too_many(seconds, what)

    def check_streams(self) -> None:
        """Refuse one more stream when too many are open."""
        room = self.settings.streams
        if self.connections is not None:
            room = min(room, self.connections.streams)
        if self.boards.listeners >= room:
            raise Refused(
                503,
                "There is no room for one more stream.\nRead the tally at its pace instead.",
                Retry_After=str(math.ceil(max(60.0, self.settings.pace))),
            )


def service_of(request: Request) -> Service:
    """The service of the application that a request came to."""
    service: Service = request.app.state.service
    return service


Served = Annotated[Service, Depends(service_of)]
Name = Annotated[str, Path(pattern=NAME, description="The experiment.")]


async def existing(service: Served, name: Name) -> None:
    """Refuse an experiment that does not exist."""
    if name not in service.store.specs:  # else nothing waits for the disk
        await service.call(service.store.spec, name)


async def writing(service: Served, name: Name) -> None:
    """Refuse to write to an experiment that does not exist, or too often."""
    await existing(service, name)
    service.check(service.writes, name)


async def reading(service: Served, name: Name) -> LiveBoard:
    """The board of an experiment that exists and is not read too often."""
    await existing(service, name)
    service.check(service.reads, name)
    return service.boards.of(name)


Reading = Annotated[LiveBoard, Depends(reading)]


def settle(receipt: Receipt, response: Response, *, refused: int = 403) -> OutcomeAnswer:
    """The outcome of a write and its status: 201 if accepted, 200 if it was there already."""
    if receipt.outcome is Outcome.REFUSED:
        raise Refused(refused, receipt.reason, cause=receipt.cause)
    response.status_code = 201 if receipt.outcome is Outcome.ACCEPTED else 200
    return OutcomeAnswer.model_validate({"outcome": receipt.outcome.value})


def on_admin_port(service: Served, request: Request) -> None:
    """Refuse what is not asked at the operator's own port, if there is one."""
    port = (request.scope.get("server") or (None, None))[1]
    if service.admin_port is not None and port != service.admin_port:
        raise Refused(404, "Not Found: no such route here.\nThe routes are in /openapi.json.")


_bearer = HTTPBearer(auto_error=False, description="The operator's token.")


def operator_only(
    service: Served,
    _: Annotated[None, Depends(on_admin_port)],
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
) -> None:
    """Refuse whoever does not bear the operator's token."""
    given = credentials.credentials if credentials else ""
    if not service.token.matches(given):
        raise Refused(
            401,
            "This call needs the operator's token.\nSend it as 'Authorization: Bearer TOKEN'.",
            WWW_Authenticate="Bearer",
        )
