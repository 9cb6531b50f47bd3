"""A server in this process, on a free port, and what tests say to it."""

import asyncio
import inspect
import io
import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from starlette.applications import Starlette
from tests.boards.local import here, scope

from devote.boards.board import Envelope, Experiment
from devote.boards.identity import Identity
from devote.boards.store import SqliteStore
from devote.page.page import add_page
from devote.protocol import ExperimentSpec
from devote.protocol.messages import Scope, to_dict
from devote.schemes import Vote
from devote.server import Settings, create_app
from devote.server.serve import listeners, make_server
from devote.server.service import Service

SPEC = ExperimentSpec(arms=4, name="banner", scheme={"quorum": 2})
TOKEN = "operator-token-for-tests"
OPERATOR = {"Authorization": f"Bearer {TOKEN}"}


def identity(number: int) -> Identity:
    return Identity.from_private_bytes(number.to_bytes(32, "big"))


def vote(
    voter: Identity,
    arm: int = 0,
    term: int = 0,
    experiment: str = "banner",
    spec: ExperimentSpec = SPEC,
) -> Envelope:
    """A vote on the board of tests, in an experiment like ``spec`` but for its name."""
    return voter.sign(Vote(experiment, term, arm, voter.voter), _scope(spec, experiment))


@cache
def _scope(spec: ExperimentSpec, name: str) -> Scope:
    return scope(spec.with_(name=name))


def body(envelope: Envelope) -> dict[str, Any]:
    return {"message": to_dict(envelope.message), "signature": envelope.signature}


def enrol(store: SqliteStore, voter: Identity, name: str = "banner", invite: str | None = None):
    signature = voter.sign_enrolment(store.scope(name))
    return store.enrol(name, voter=voter.voter, signature=signature, invite=invite)


def enrol_all(store: SqliteStore, voters: Iterable[Identity], name: str = "banner") -> None:
    """Enrol many at once, without waiting for the disk after each."""
    store.admit_known(name, [voter.voter for voter in voters])


def enrolled(store: SqliteStore, name: str = "banner") -> list[str]:
    """The voters who may post, in order of their names."""
    return store.voters(name)


def invites(store: SqliteStore, name: str = "banner") -> tuple[int, int]:
    """How many invites were made, and how many of them are used."""
    with store.database.read() as db:
        query = "SELECT count(*), coalesce(sum(used), 0) FROM invites WHERE experiment = ?"
        return db.execute(query, (name,)).fetchone()


@contextmanager
def open_store(path: Path | str) -> Iterator[SqliteStore]:
    store = SqliteStore(path)
    try:
        yield store
    finally:
        store.close()


@dataclass
class Api:
    """An application, called in process or over a network, with what it has logged."""

    store: SqliteStore
    app: Starlette
    client: httpx.AsyncClient
    log: io.StringIO = field(default_factory=io.StringIO)

    @property
    def service(self) -> Service:
        return self.app.state.service

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.getvalue().splitlines()]

    async def post(self, envelope: Envelope, name: str = "banner") -> httpx.Response:
        return await self.client.post(f"/experiments/{name}/messages", json=body(envelope))

    async def call(self, method: str, path: str, content: Any = None) -> httpx.Response:
        """A call of the operator."""
        return await self.client.request(method, path, json=content, headers=OPERATOR)

    async def metric(self, name: str) -> float:
        """A number among the metrics, 0 if it is not there."""
        text = (await self.client.get("/metrics")).text
        return sum(float(x.split()[-1]) for x in text.splitlines() if x.startswith(name))


@asynccontextmanager
async def api(path: Path | str, *, network: bool = False, **limits: Any) -> AsyncIterator[Api]:
    async with AsyncExitStack() as stack:
        store = stack.enter_context(open_store(path))
        store.create(here(SPEC))
        app = create_app(store, Settings(token=TOKEN, **limits))
        transport, url = httpx.ASGITransport(app), "http://devote"
        if network:
            transport, url = None, await stack.enter_async_context(serving(app))
        client = httpx.AsyncClient(transport=transport, base_url=url, timeout=60)
        server = Api(store, app, await stack.enter_async_context(client))
        server.service.log.stream = server.log
        yield server


def served(
    *,
    voters: int = 1,
    opened: Iterable[Experiment] = (),
    network: bool = False,
    page: bool = False,
    **limits: Any,
) -> Callable[[Any], Any]:
    """Run a coroutine as a test, with a server as its first argument.

    It has the experiment ``banner`` with so many voters, and a file with the operator's token.
    """

    def decorate(test: Any) -> Any:
        def run(tmp_path: Path, **given: Any) -> None:
            async def main() -> None:
                file = tmp_path / "token"
                file.write_text(TOKEN + "\n")
                made = api(tmp_path / "board.db", network=network, **{"token_file": file, **limits})
                async with asyncio.timeout(60), made as server:
                    if page:
                        add_page(server.app)
                    for experiment in opened:
                        server.store.create(experiment)
                    enrol_all(server.store, [identity(n + 1) for n in range(voters)])
                    await test(server, **({"tmp_path": tmp_path} if asks_path else {}), **given)

            asyncio.run(main())

        asked = inspect.signature(test).parameters
        asks_path = "tmp_path" in asked
        others = [each for name, each in asked.items() if name not in ("server", "tmp_path")]
        path = inspect.Parameter("tmp_path", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        run.__signature__ = inspect.Signature([path, *others])
        run.__name__, run.__doc__, run.__module__ = test.__name__, test.__doc__, test.__module__
        return run

    return decorate


async def raw_post(app: Starlette, path: str, content: bytes, token: str = "") -> tuple[int, bytes]:
    """Post a body straight to the application: several times faster than through a client."""
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": content, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(content))]
    if token:
        headers.append((b"authorization", f"Bearer {token}".encode()))
    asked = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": headers,
        "server": ("devote", 80),
    }
    await app(asked, receive, send)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


@asynccontextmanager
async def serving(app: Starlette, port: int = 0, **tls: Path) -> AsyncIterator[str]:
    """The application behind a real socket; gives its address."""
    (bound,) = listeners(port=port)
    with bound as listener:
        server = make_server(app, **tls)
        running = asyncio.create_task(server.serve([listener]))
        while not server.started:
            await asyncio.sleep(0.01)
        try:
            yield f"http{'s' if tls else ''}://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await running


def run_and_cut(server: uvicorn.Server, **listening: Any) -> None:
    """Run a server; connections that it could not close in time are cut before its loop ends."""

    async def run() -> None:
        await server.serve(**listening)
        for connection in list(server.server_state.connections):
            connection.transport.abort()
        await asyncio.sleep(0)  # the loop closes what was cut

    asyncio.run(run())


@contextmanager
def serving_in_thread(app: Starlette) -> Iterator[str]:
    """The same for tests that block."""
    (bound,) = listeners(port=0)
    with bound as listener:
        server = make_server(app)
        thread = threading.Thread(target=run_and_cut, args=[server], kwargs={"sockets": [listener]})
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
