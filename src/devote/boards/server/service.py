"""What the routes share: the store, the settings, the feeds, the limits and the counters."""

import asyncio
import hmac
from collections.abc import Callable
from typing import Annotated, Any, ParamSpec, TypeVar

from fastapi import Depends, Path, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from devote.boards.server.feed import Feed, Feeds
from devote.boards.server.limits import RateLimit
from devote.boards.server.metrics import Metrics
from devote.boards.server.settings import Settings
from devote.boards.server.wire import Refused, read_object, too_many
from devote.boards.store import SqliteStore

P = ParamSpec("P")
T = TypeVar("T")


class Service:
    """One server's parts."""

    def __init__(self, store: SqliteStore, settings: Settings) -> None:
        self.store = store
        self.settings = settings
        self.feeds = Feeds(store, settings)
        self.metrics = Metrics()
        self.voters = RateLimit(rate=settings.voter_rate, burst=settings.voter_burst)
        self.writes = RateLimit(rate=settings.write_rate, burst=settings.write_burst)
        self.reads = RateLimit(rate=settings.read_rate, burst=settings.read_burst)

    async def call(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Do something with the store, in a thread: it waits for the disk."""
        return await asyncio.to_thread(work, *args, **kwargs)

    async def reading(self, name: str) -> Feed:
        """The feed of an experiment that exists and is not read too often."""
        await self._check(self.reads, name)
        return self.feeds.of(name)

    async def writing(self, name: str) -> None:
        """Refuse to write to an experiment that does not exist, or too often."""
        await self._check(self.writes, name)

    async def _check(self, limit: RateLimit, name: str) -> None:
        if not self.store.has_read(name):
            await self.call(self.store.spec, name)
        seconds = limit.wait(name)
        if seconds:
            raise too_many(seconds, "for this experiment")

    async def read(
        self, request: Request, required: set[str], *, optional: set[str], most: int
    ) -> dict[str, Any]:
        """A request's body."""
        return await read_object(
            request,
            most=most,
            patience=self.settings.patience,
            required=required,
            optional=optional,
        )


def service_of(request: Request) -> Service:
    """The service of the application that a request came to."""
    service: Service = request.app.state.service
    return service


Served = Annotated[Service, Depends(service_of)]
Name = Annotated[str, Path(pattern=r"^[A-Za-z0-9_.:-]{1,64}$", description="The experiment.")]

_bearer = HTTPBearer(auto_error=False, description="The operator's token.")


def operator_only(
    service: Served,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
) -> None:
    """Refuse whoever does not bear the operator's token."""
    given = credentials.credentials if credentials else ""
    if not hmac.compare_digest(given.encode(), service.settings.token.encode()):
        raise Refused(
            401,
            "This call needs the operator's token.\nSend it as 'Authorization: Bearer TOKEN'.",
            WWW_Authenticate="Bearer",
        )
