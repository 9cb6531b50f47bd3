"""The application: its routes, what every answer carries, and how errors are told."""

import time
from typing import Any

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from devote.boards.database import StoreError
from devote.boards.experiment import (
    VERSION_HEADER,
    DeletedExperiment,
    UnknownExperiment,
    UnreadableExperiment,
)
from devote.boards.stores import BoardStore
from devote.protocol.wire import VERSION
from devote.server import board, experiments, operator
from devote.server.answers import Refused, error
from devote.server.bodies import explain
from devote.server.description import complete
from devote.server.hot import HotPath
from devote.server.metrics import CONTENT_TYPE, Metrics
from devote.server.models import HealthAnswer, errors
from devote.server.service import Served, Service, on_admin_port
from devote.server.settings import Settings

ROUTERS = (experiments.router, board.router, operator.router)
"""Their routes are made once: to include a router makes them again for each application."""


def create_app(store: BoardStore, settings: Settings | None = None) -> FastAPI:
    """A server over a store.

    ``app.state.service`` holds its parts, among them the settings with the operator's token.
    """
    app = FastAPI(
        title="devote",
        description="Boards on which devices post votes.",
        version=str(VERSION),
        docs_url=None,  # the usual pages load their scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        routes=[route for router in ROUTERS for route in router.routes],
    )
    service = Service(store, settings or Settings())
    app.state.service = service
    app.get("/health", responses=errors(503))(health)
    app.get(
        "/metrics",
        response_class=PlainTextResponse,
        responses=errors(404, 503),
        dependencies=[Depends(on_admin_port)],
    )(metrics)
    ours = (Refused, UnknownExperiment, UnreadableExperiment, StoreError)
    for kind in (*ours, RequestValidationError, HTTPException):
        app.exception_handler(kind)(_explain)
    app.add_middleware(_Versioned, metrics=service.metrics)
    app.add_middleware(HotPath, service=service)
    complete(app)
    return app


async def health(service: Served) -> HealthAnswer:
    """Whether the server can write to its store: it does, at most once a second."""
    await service.check_health()
    return HealthAnswer()


async def metrics(service: Served) -> Response:
    """Counters for Prometheus."""
    listed = await service.call(service.store.experiments)
    numbers = await service.call(service.store.numbers)
    text = service.metrics.render(
        listed,
        numbers=numbers,
        streams=service.boards.listeners,
        connections=len(service.connections or ()),
    )
    return Response(text, headers={"Content-Type": CONTENT_TYPE})


class _Versioned:
    """Puts the version on every answer, by which a device knows ours, and counts it."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begin = time.perf_counter()
        is_stream = False

        async def versioned(message: Message) -> None:
            nonlocal is_stream
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers[VERSION_HEADER] = str(VERSION)
                headers["X-Content-Type-Options"] = "nosniff"
                headers.setdefault("Cache-Control", "no-store")
                route = getattr(scope.get("route"), "path", "other")
                self._metrics.count_request(scope["method"], route, message["status"])
                is_stream = headers.get("Content-Type", "").startswith("text/event-stream")
            await send(message)
            if message["type"] == "http.response.body" and not message.get("more_body"):
                route = getattr(scope.get("route"), "path", "other")
                if not is_stream:
                    self._metrics.time_request(route, time.perf_counter() - begin)

        await self._app(scope, receive, versioned if scope["type"] == "http" else send)


async def _explain(request: Request, problem: Any) -> Response:
    match problem:
        case Refused():
            return error(problem.status, str(problem), problem.headers, cause=problem.cause)
        case DeletedExperiment():
            return error(410, str(problem))
        case UnknownExperiment():
            return error(404, str(problem))
        case UnreadableExperiment():
            return error(409, str(problem))
        case StoreError():  # the reason names the store's path: the operator's business only
            text = "The store cannot be read or written just now.\n"
            remedy = "Try again later; nothing was changed."
            return error(503, text + remedy, {"Retry-After": "1"})
        case RequestValidationError():
            return error(422, explain(problem.errors()))
    headers = dict(problem.headers or {})
    if problem.status_code == 405:  # the framework names the first matching route's only
        headers["Allow"] = ", ".join(sorted(_methods(request)))
    text = f"{problem.detail}: no such route here.\nThe routes are in /openapi.json."
    return error(problem.status_code, text, headers)


def _methods(request: Request) -> set[str]:
    return {
        method
        for route in request.app.routes
        if isinstance(route, APIRoute) and route.path_regex.match(request.scope["path"])
        for method in route.methods or ()
    }
