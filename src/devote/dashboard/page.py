"""The page that a server shows to people, and the views it reads. Nothing here can be written to.

The page is three files with no assets from elsewhere; its views are cached by the board's last
number, so that many onlookers cost no more than one.
"""

import json
from importlib.resources import files
from typing import Any

from fastapi import FastAPI
from starlette.responses import Response

from devote.boards.server.service import Name, Served
from devote.dashboard.view import experiment_view

FILES = {
    "/": ("page.html", "text/html; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


def add_page(app: FastAPI) -> None:
    """Serve the page at the root of a server, and its views below ``/views``."""
    for path, (name, kind) in FILES.items():
        text = files("devote.dashboard").joinpath("static", name).read_text()
        app.add_api_route(path, _file(text, kind), include_in_schema=False)
    cache: dict[str, tuple[tuple[int, int], bytes]] = {}

    async def view(service: Served, name: Name) -> Response:
        experiment = await service.call(service.store.get, name)
        number, rows = await service.call(service.store.rows, name)
        key = (number, experiment.seats)
        if name not in cache or cache[name][0] != key:
            parsed = [(n, json.loads(message), signature) for n, message, signature in rows]
            body = json.dumps(experiment_view(experiment, parsed)).encode()
            cache[name] = (key, body)
        return Response(cache[name][1], media_type="application/json")

    app.add_api_route("/views/{name}", view, include_in_schema=False)


def _file(text: str, kind: str) -> Any:
    async def send() -> Response:
        return Response(text, headers={"Content-Type": kind, **HEADERS})

    return send
