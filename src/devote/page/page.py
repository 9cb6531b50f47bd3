"""The page that a server shows to people, and the views it reads. Nothing here can be written to.

The page is a few small files with no assets from elsewhere, and its addresses are relative, so
that it works below a path of a reverse proxy too.
"""

import json
from functools import partial
from hashlib import blake2b
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from devote.page.pacing import EVERY, Paced
from devote.page.view import summarize, view
from devote.server.answers import unless_known
from devote.server.app import Endpoint
from devote.server.bodies import name_of
from devote.server.live import EventStream
from devote.server.operator import Handler
from devote.server.service import Service

KINDS = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
SCRIPTS = ("page.js", "experiment.js", "arms.js", "timeline.js", "list.js", "dom.js")
FILES = ("page.html", "page.css", *SCRIPTS, "icon.svg")
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
}


def add_page(app: Starlette) -> None:
    """Serve the page at the root of a server, and its views below ``/views``."""
    service: Service = app.state.service
    every = Paced(partial(_every_view, service))
    single: dict[str, Paced] = {}

    async def one(service: Service, request: Request) -> Response:
        name = name_of(request)
        await service.reading(name)
        paced = single.setdefault(name, Paced(partial(_one_view, service, name)))
        body = await paced.get()
        service.read(name, len(body))
        return _tagged(body, "application/json", request)

    async def stream(service: Service, request: Request) -> Response:
        board = await service.reading(name_of(request))
        service.check_streams()
        await board.refresh()
        return EventStream(board.numbers(EVERY), patience=service.settings.patience)

    async def all_(service: Service, request: Request) -> Response:
        return _tagged(await every.get(), "application/json", request)

    routes: dict[str, Handler] = {
        "/views": all_,
        "/views/{name}": one,
        "/views/{name}/stream": stream,
    }
    for name in FILES:
        body = files("devote.page").joinpath("static", name).read_bytes()
        path = "/" if name == "page.html" else f"/{name}"
        routes[path] = _file(body, KINDS[name.rpartition(".")[2]])
    for path, handler in routes.items():
        app.router.routes.append(Route(path, Endpoint(service, path, {"GET": handler})))


async def _one_view(service: Service, name: str) -> bytes:
    experiment = await service.call(service.store.get, name)
    standing = await service.call(service.store.standing, name)
    seen = await service.call(service.store.look, name, partial(view, experiment))
    return _json({**seen, "standing": standing.words})


async def _every_view(service: Service) -> bytes:
    summaries = []
    for experiment in await service.call(service.listed):
        summary = partial(summarize, experiment)
        summaries.append(await service.call(service.store.look, experiment.name, summary))
    return _json(summaries)


def _json(content: Any) -> bytes:
    return json.dumps(content, separators=(",", ":")).encode()


def _file(body: bytes, kind: str) -> Handler:
    async def send(service: Service, request: Request) -> Response:
        return _tagged(body, kind, request)

    return send


def _tagged(body: bytes, kind: str, request: Request) -> Response:
    """An answer that is not sent again to a browser that has it."""
    tag = blake2b(body, digest_size=12).hexdigest()
    known = request.headers.get("if-none-match", "")
    return unless_known(body, kind=kind, tag=tag, known=known, **HEADERS)
