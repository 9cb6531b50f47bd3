"""The application: its routes, what every answer carries, and how errors are told.

Each route is here once. ``openapi.json`` describes them, and schemathesis tests this against it.
"""

import re
import time
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from devote.boards.board import VERSION_HEADER
from devote.boards.database import StoreError
from devote.boards.store import SqliteStore
from devote.protocol.wire import VERSION
from devote.server import devices, operator
from devote.server.answers import error
from devote.server.limits import Refused
from devote.server.operator import Handler
from devote.server.service import Service
from devote.server.settings import Settings


async def read_openapi(service: Service, request: Request) -> Response:
    """The description of all routes but this one."""
    text = files("devote.server").joinpath("openapi.json").read_bytes()
    return Response(text, media_type="application/json")


ROUTES: dict[str, dict[str, Handler]] = {
    "/experiments/{name}/tally": {"GET": devices.read_tally},
    "/experiments/{name}/messages": {"GET": devices.read_messages, "POST": devices.post_message},
    "/experiments/{name}/log/{board}/{page}": {"GET": devices.read_page},
    "/experiments/{name}/stream": {"GET": devices.read_stream},
    "/experiments/{name}/join": {"POST": devices.join},
    "/experiments/{name}/enrolments": {"GET": devices.read_voters, "POST": devices.enrol},
    "/experiments/{name}": {"GET": devices.read_experiment, "DELETE": operator.delete_experiment},
    "/experiments/{name}/standing": {
        "GET": devices.read_standing,
        "POST": operator.change_standing,
    },
    "/experiments/{name}/invites": {
        "POST": operator.create_invites,
        "DELETE": operator.revoke_all_invites,
    },
    "/experiments/{name}/revocations": {"POST": operator.revoke},
    "/experiments": {"GET": devices.list_experiments, "POST": operator.create_experiment},
    "/overview": {"GET": operator.read_overview},
    "/health": {"GET": devices.read_health},
    "/metrics": {"GET": operator.read_metrics},
    "/openapi.json": {"GET": read_openapi},
}
"""What is answered, by path and method; what devices ask most often is looked up first."""


def create_app(store: SqliteStore, settings: Settings | None = None) -> Starlette:
    """A server over a store.

    ``app.state.service`` holds its parts, among them the settings with the operator's token.
    """
    service = Service(store, settings or Settings())
    app = Starlette(
        routes=[Route(path, Endpoint(service, path, methods)) for path, methods in ROUTES.items()],
        middleware=[Middleware(Front, service=service)],
        exception_handlers={HTTPException: _not_found},
    )
    app.router.redirect_slashes = False
    app.state.service = service
    return app


class Endpoint:
    """One path, with a handler for each of its methods."""

    def __init__(self, service: Service, path: str, handlers: Mapping[str, Handler]) -> None:
        self._service = service
        self._path = path
        self._handlers = handlers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        scope["devote.path"] = self._path
        answer = await self._answer(Request(scope, receive))
        await answer(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        try:
            handler = self._handlers.get(request.method)
            if handler is None:
                allowed = ", ".join(sorted(self._handlers))
                text = f"Method Not Allowed: {allowed} only.\nThe routes are in /openapi.json."
                raise Refused(405, text, Allow=allowed)
            return await handler(self._service, request)
        except Exception as problem:
            if isinstance(problem, StoreError):
                self._service.note_trouble(problem)
            answer = error(problem)
            if answer is None:
                raise
            return answer


async def _not_found(request: Request, problem: Any) -> Response:
    text = "Not Found: no such route here.\nThe routes are in /openapi.json."
    answer = error(Refused(problem.status_code, text))
    assert answer is not None
    return answer


_ODD = re.compile(r"[\x00-\x1f\x7f]")
_COMMON = {VERSION_HEADER: str(VERSION), "X-Content-Type-Options": "nosniff"}


class Front:
    """Puts the version on every answer, by which a device knows ours, counts it and times it.

    A path with a control character is no route: patterns elsewhere may take its end for the end of
    the path.
    """

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin, path, headers = time.perf_counter(), scope["path"], Headers(scope=scope)
        metrics, is_stream = self._service.metrics, False
        granted = self._service.origins.grants(path, scope["method"], headers)

        async def completed(message: Message) -> None:
            nonlocal is_stream
            route = scope.get("devote.path", "other")
            if message["type"] == "http.response.start":
                written = MutableHeaders(scope=message)
                written.update(_COMMON)
                written.setdefault("Cache-Control", "no-store")
                if granted:
                    written.update(granted)
                metrics.count_request(scope["method"], route, message["status"])
                is_stream = written.get("Content-Type", "").startswith("text/event-stream")
            await send(message)
            is_last = message["type"] == "http.response.body" and not message.get("more_body")
            if is_last and not is_stream:
                metrics.time_request(route, time.perf_counter() - begin)

        app: ASGIApp = self._app
        if _ODD.search(path):
            app = await _not_found(Request(scope), HTTPException(404))
        elif scope["method"] == "OPTIONS" and "access-control-request-method" in headers:
            app = self._preflight(path, headers) or self._app
        await app(scope, receive, completed)

    def _preflight(self, path: str, headers: Headers) -> Response | None:
        try:
            granted = self._service.origins.preflight(path, headers)
        except KeyError:
            return None
        if granted is None:
            text = "Pages of this origin may not do this.\nThe operator allows origins by name."
            return error(Refused(403, text))
        return Response(status_code=204, headers=granted)
