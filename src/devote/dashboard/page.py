"""The page that a server shows to people, and the views it reads. Nothing here can be written to.

The page is a few small files with no assets from elsewhere, and its addresses are relative, so
that it works below a path of a reverse proxy too.
"""

import json
from collections.abc import Awaitable, Callable
from functools import partial
from hashlib import blake2b
from importlib.resources import files
from typing import Annotated, Any

from fastapi import FastAPI, Header
from starlette.responses import Response

from devote.dashboard.pacing import EVERY, Paced
from devote.dashboard.view import summarize, view
from devote.server.answers import unless_known
from devote.server.live import EventStream
from devote.server.service import Name, Reading, Service

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

Known = Annotated[str, Header(alias="If-None-Match")]


def add_page(app: FastAPI) -> None:
    """Serve the page at the root of a server, and its views below ``/views``."""
    for name in FILES:
        body = files("devote.dashboard").joinpath("static", name).read_bytes()
        path = "/" if name == "page.html" else f"/{name}"
        app.add_api_route(
            path, _file(body, KINDS[name.rpartition(".")[2]]), include_in_schema=False
        )
    service: Service = app.state.service
    every = Paced(partial(_every_view, service))
    single: dict[str, Paced] = {}

    async def one(_: Reading, name: Name, known: Known = "") -> Response:
        paced = single.setdefault(name, Paced(partial(_one_view, service, name)))
        return _tagged(await paced.get(), "application/json", known)

    async def stream(board: Reading) -> Response:
        service.check_streams()
        await board.refresh()
        return EventStream(board.numbers(EVERY), patience=service.settings.patience)

    async def all_(known: Known = "") -> Response:
        return _tagged(await every.get(), "application/json", known)

    app.add_api_route("/views", all_, include_in_schema=False)
    app.add_api_route("/views/{name}", one, include_in_schema=False)
    app.add_api_route("/views/{name}/stream", stream, include_in_schema=False)


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


def _file(body: bytes, kind: str) -> Callable[..., Awaitable[Response]]:
    async def send(known: Known = "") -> Response:
        return _tagged(body, kind, known)

    return send


def _tagged(body: bytes, kind: str, known: str) -> Response:
    """An answer that is not sent again to a browser that has it."""
    tag = blake2b(body, digest_size=12).hexdigest()
    return unless_known(body, kind=kind, tag=tag, known=known, **HEADERS)
