"""The page that a server shows to people, and the views it reads. Nothing here can be written to.

The page is a few small files with no assets from elsewhere, and its addresses are relative, so
that it works below a path of a reverse proxy too.
"""

from collections.abc import Awaitable, Callable
from hashlib import blake2b
from importlib.resources import files
from typing import Annotated

from fastapi import FastAPI, Header
from starlette.responses import Response

from devote.boards.server.service import Name, Served
from devote.dashboard.gallery import Gallery

KINDS = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
FILES = ("page.html", "page.css", "page.js", "experiment.js", "list.js", "dom.js", "icon.svg")
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
    gallery = Gallery(app.state.service.store)

    async def one(service: Served, name: Name, known: Known = "") -> Response:
        await service.reading(name)  # counts against the limit on reading
        return _tagged(await gallery.one(name), "application/json", known)

    async def all_(known: Known = "") -> Response:
        return _tagged(await gallery.all(), "application/json", known)

    app.add_api_route("/views", all_, include_in_schema=False)
    app.add_api_route("/views/{name}", one, include_in_schema=False)


def _file(body: bytes, kind: str) -> Callable[..., Awaitable[Response]]:
    async def send(known: Known = "") -> Response:
        return _tagged(body, kind, known)

    return send


def _tagged(body: bytes, kind: str, known: str) -> Response:
    """An answer that is not sent again to a browser that has it."""
    tag = f'"{blake2b(body, digest_size=12).hexdigest()}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache", **HEADERS}
    if tag in (word.strip().removeprefix("W/") for word in known.split(",")):
        return Response(status_code=304, headers=headers)
    return Response(body, headers={**headers, "Content-Type": kind})
