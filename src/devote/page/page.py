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

from devote.page.view import summarize, view
from devote.server.devices import event_stream
from devote.server.http import NO_CACHE, Endpoint, Handler, name_of, send
from devote.server.service import Document, Service, Shared

EVERY = 0.2
"""Seconds between two views, however many look and however fast messages come."""

MEDIA_TYPES = {
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
    **NO_CACHE,
}


def add_page(app: Starlette) -> None:
    """Serve the page at the root of a server, and its views below ``/views``."""
    service: Service = app.state.service
    every = Shared(partial(_every_view, service), every=EVERY)
    single: dict[str, Shared[Document]] = {}

    async def read_view(service: Service, request: Request) -> Response:
        name = name_of(request)
        await service.reading(name)
        shared = single.setdefault(name, Shared(partial(_one_view, service, name), every=EVERY))
        document = await shared.get()
        service.charge_read(name, len(document.body))
        return send(request, document, HEADERS)

    async def read_stream(service: Service, request: Request) -> Response:
        name = name_of(request)
        board = await service.reading(name)
        await board.catch_up()
        return await event_stream(service, name, board.numbers(EVERY))

    async def read_views(service: Service, request: Request) -> Response:
        return send(request, await every.get(), HEADERS)

    routes: dict[str, Handler] = {
        "/views": read_views,
        "/views/{name}": read_view,
        "/views/{name}/stream": read_stream,
    }
    for name in FILES:
        body = files("devote.page").joinpath("static", name).read_bytes()
        path = "/" if name == "page.html" else f"/{name}"
        routes[path] = _file(_document(body), MEDIA_TYPES[name.rpartition(".")[2]])
    for path, handler in routes.items():
        app.router.routes.append(Route(path, Endpoint(service, path, {"GET": handler})))


async def _one_view(service: Service, name: str) -> Document:
    experiment = await service.call(service.store.get, name)
    standing = await service.call(service.store.standing, name)
    seen = await service.call(service.store.look, name, partial(view, experiment))
    return _json({**seen, "standing": standing.words})


async def _every_view(service: Service) -> Document:
    summaries = []
    for experiment in await service.listed():
        summary = partial(summarize, experiment)
        summaries.append(await service.call(service.store.look, experiment.name, summary))
    return _json(summaries)


def _json(content: Any) -> Document:
    return _document(json.dumps(content, separators=(",", ":")).encode())


def _document(body: bytes) -> Document:
    return Document(body, blake2b(body, digest_size=12).hexdigest())


def _file(document: Document, kind: str) -> Handler:
    async def read(service: Service, request: Request) -> Response:
        return send(request, document, {**HEADERS, "Content-Type": kind})

    return read
