"""Pages of other sites: which of them a browser lets talk to the routes of devices.

None, unless the operator names them. A page of a named origin may use what a device needs and no
more: not the operator's calls, and not the list of experiments. No answer allows cookies or other
credentials. A page of another origin gets the answers that anybody gets, which its browser hides
from it, and cannot post: a body of JSON is asked about first.
"""

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from fastapi import FastAPI
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from devote.boards.experiment import VERSION_HEADER, is_address
from devote.protocol.wire import VERSION
from devote.server.answers import error
from devote.server.settings import ServerError

DEVICES = {"": ("GET",), "/enrolments": ("POST",), "/messages": ("GET", "POST"), "/tally": ("GET",)}
"""What a device asks of ``/experiments/{name}``, and how."""

_ROUTE = re.compile(r"/experiments/[^/]+(/enrolments|/messages|/tally|)")
_EXPOSED = f"{VERSION_HEADER}, Retry-After"
_REMEMBERED = "7200"
"""Seconds for which a browser need not ask again; none remembers it for longer."""


def check_origin(origin: str) -> str:
    """An origin as browsers write it, or ServerError.

    >>> check_origin("https://shop.example")
    'https://shop.example'
    """
    parts = urlsplit(origin) if is_address(origin) else None
    if parts is None or f"{parts.scheme}://{parts.netloc}" != origin or set("@*") & set(origin):
        fault = "is not the origin of a page"
    elif origin != origin.lower() or not origin.isascii():
        fault = "is not written as browsers write it"
    elif parts.port == {"http": 80, "https": 443}[parts.scheme]:
        fault = "names the port that browsers leave out"
    else:
        return origin
    raise ServerError(
        f"{origin!r} {fault}.\nGive each origin on its own, like https://shop.example or "
        "http://127.0.0.1:8000: no path, no *, lower case."
    )


def allow_origins(app: FastAPI, origins: Sequence[str]) -> None:
    """Let pages of these origins, and of no others, take part in the surveys of a server."""
    allowed = frozenset(check_origin(origin) for origin in origins)
    if allowed:
        app.add_middleware(_Origins, allowed=allowed)


class _Origins:
    def __init__(self, app: ASGIApp, allowed: frozenset[str]) -> None:
        self._app = app
        self._allowed = allowed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = _ROUTE.fullmatch(scope["path"]) if scope["type"] == "http" else None
        if found is None:
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        origin = headers.get("origin")
        methods = DEVICES[found[1]]
        if scope["method"] == "OPTIONS" and "access-control-request-method" in headers:
            answer = self._preflight(origin, methods, headers["access-control-request-method"])
            await answer(scope, receive, send)
            return
        is_allowed = origin in self._allowed and scope["method"] in methods

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                written = MutableHeaders(scope=message)
                written.add_vary_header("Origin")
                if is_allowed and origin is not None:
                    written["Access-Control-Allow-Origin"] = origin
                    written["Access-Control-Expose-Headers"] = _EXPOSED
            await send(message)

        await self._app(scope, receive, told)

    def _preflight(self, origin: str | None, methods: Sequence[str], asked: str) -> Response:
        """What a browser asks before it posts JSON from another site."""
        said = {VERSION_HEADER: str(VERSION), "Vary": "Origin", "Cache-Control": "no-store"}
        if origin not in self._allowed or asked not in methods:
            text = "Pages of this origin may not do this.\nThe operator allows origins by name."
            return error(403, text, said)
        said["Access-Control-Allow-Origin"] = str(origin)
        said["Access-Control-Allow-Methods"] = ", ".join(methods)
        said["Access-Control-Allow-Headers"] = "Content-Type"
        said["Access-Control-Max-Age"] = _REMEMBERED
        return Response(status_code=204, headers=said)
