"""How requests are read and answered, whatever they ask for.

Bodies are strict JSON with known fields, queries have known names, each once. A value that was sent
is never repeated. Every answer carries the version, by which a device knows ours, and is counted
and timed. An error says what is wrong and what to do.
"""

import re
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from devote.boards.board import (
    SNAPSHOT_HEADER,
    VERSION_HEADER,
    BoardRefused,
    DeletedExperiment,
    UnknownExperiment,
)
from devote.boards.database import StoreError
from devote.protocol import ProtocolError, SpecError
from devote.protocol.messages import IDENTIFIER, VERSION, parse_json
from devote.server.limits import Refused
from devote.server.log import cause_of, printable
from devote.server.service import Document, Service
from devote.server.settings import grant_of

COMPARE = "Compare the request with /openapi.json."
NO_ROUTE = "Not Found: no such route here.\nThe routes are in /openapi.json."

FRESH = {"Cache-Control": "public, max-age=1, stale-while-revalidate=5"}
"""How long any cache may keep what changes: a second, and five more while it asks again."""

FOR_A_DAY = {"Cache-Control": "public, max-age=86400, immutable"}
"""For what never changes under its name, but goes when its experiment is deleted."""

FOR_GOOD = {"Cache-Control": "public, max-age=31536000, immutable"}
"""For what never changes under its address."""

NO_CACHE = {"Cache-Control": "no-cache"}
"""For what is to be asked for again each time, by its name."""

NO_STORE = {"Cache-Control": "no-store"}
"""For what only bearers of a token may read."""

Handler: TypeAlias = Callable[[Service, Request], Awaitable[Response]]


class Field(NamedTuple):
    """One field of a body: what it may be, and whether it may be left out."""

    rule: str
    fits: Callable[[Any], bool]
    is_required: bool = True


def whole_field(least: int, most: int = 2**53) -> Field:
    """A whole number."""
    rule = f"must be a whole number from {least} to {most}"
    return Field(rule, lambda value: type(value) is int and least <= value <= most)


def optional(field: Field) -> Field:
    """The same field, which may be null or left out."""
    return Field(field.rule, lambda value: value is None or field.fits(value), is_required=False)


OBJECT = Field("must be an object", lambda value: isinstance(value, dict))
TEXT = Field("must be a text", lambda value: isinstance(value, str) and len(value) <= 200)


async def read_body(
    service: Service,
    request: Request,
    fields: Mapping[str, Field],
    most: int,
    kinds: tuple[str, ...] = ("application/json",),
) -> dict[str, Any]:
    """The body of a request, of at most so many bytes, by its fields."""
    given = request.headers.getlist("content-type")
    kind = given[0].partition(";")[0].strip().lower() if given else ""
    if len(given) > 1 or kind not in kinds:
        raise Refused(415, f"The body must be {kinds[0]}.\nSet one Content-Type header.")
    length = request.headers.get("content-length", "0")
    content = await service.bodies.read(length, request.stream(), most)
    try:
        # Not even NaN is let through: int("NaN") is a ValueError.
        values = parse_json(content.decode(), constant=int)
    except ValueError:
        text = "The body is not strict JSON in UTF-8.\nSend each field once, and no NaN."
        raise Refused(422, text) from None
    if not isinstance(values, dict):
        raise Refused(422, f"body: must be an object.\n{COMPARE}")
    wrong = [f"{name[:64]}: not a field of this body" for name in values if name not in fields]
    for name, field in fields.items():
        if name not in values:
            wrong += [f"{name}: is missing"] if field.is_required else []
        elif not field.fits(values[name]):
            wrong.append(f"{name}: {field.rule}")
    if wrong:
        raise Refused(422, f"{'; '.join(wrong[:3])}.\n{COMPARE}")
    return values


def name_of(request: Request) -> str:
    """The experiment in the path of a request."""
    name: str = request.path_params["name"]
    if IDENTIFIER.fullmatch(name) is None:
        raise Refused(422, f"name: must be 1 to 64 of A-Z a-z 0-9 _ . : -\n{COMPARE}")
    return name


def query_of(request: Request, *names: str) -> dict[str, str]:
    """The query of a request, which may have these names and no others, each once.

    So that nobody gets past a cache by a name that means nothing.
    """
    values: dict[str, str] = {}
    if request.scope["query_string"]:
        for name, value in request.query_params.multi_items():
            if name not in names or name in values:
                raise Refused(422, f"{name[:64]}: not in a query here, or twice.\n{COMPARE}")
            values[name] = value
    return values


def whole(name: str, text: str | None, default: int, least: int = 0, most: int = 2**53) -> int:
    """A whole number in a path, a query or a header."""
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) < 17 and least <= int(text) <= most):
        raise Refused(422, f"{name}: must be a whole number from {least} to {most}.\n{COMPARE}")
    return int(text)


def send(request: Request, document: Document, headers: Mapping[str, str]) -> Response:
    """A document, or 304 to a client whose If-None-Match says that it has it."""
    body, tag, packed, _, signed = document
    # The name is weak: compressed or not, it is the same document.
    sent = {"ETag": f'W/"{tag}"', "Content-Type": "application/json", **headers}
    if signed:
        sent[SNAPSHOT_HEADER] = signed
    if packed is not None:
        sent["Vary"] = "Accept-Encoding"
        encodings = request.headers.get("accept-encoding", "").lower().replace(" ", "")
        if "gzip" in encodings.replace("gzip;q=0", ""):
            body, sent["Content-Encoding"] = packed, "gzip"
    if f'"{tag}"' in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers={**sent, "Content-Length": "0"})
    return Response(body, headers=sent)


_STATUS = {
    DeletedExperiment: 410,
    UnknownExperiment: 404,
    BoardRefused: 409,
    SpecError: 422,
    ProtocolError: 422,
}


async def error(request: Request, problem: Exception) -> Response:
    """The answer to a request that cannot be met; a fault of our own is raised again."""
    match problem:
        case Refused():
            refused = problem
        case HTTPException():
            refused = Refused(problem.status_code, NO_ROUTE)
        case ClientDisconnect():
            refused = Refused(400, "The body was cut off.\nSend it again.")
        case StoreError():
            cause = cause_of(problem)
            request.app.state.service.note_store(cause)
            text = "The store cannot be read or written just now.\nTry again later."
            refused = Refused(503, text, {"Retry-After": "1"}, cause=cause)
        case _:
            status = next((_STATUS[kind] for kind in type(problem).__mro__ if kind in _STATUS), 0)
            if not status:
                raise problem
            refused = Refused(status, str(problem))
    text = "\n".join(map(printable, str(refused).split("\n")))
    return JSONResponse({"error": text, **refused.facts}, refused.status, refused.headers)


class Endpoint:
    """One path, with a handler for each of its methods."""

    def __init__(self, service: Service, path: str, handlers: Mapping[str, Handler]) -> None:
        self.path = path
        self._service = service
        self._handlers = handlers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        handler = self._handlers.get(scope["method"])
        if handler is None:
            allowed = ", ".join(sorted(self._handlers))
            text = f"Method Not Allowed: {allowed} only.\nThe routes are in /openapi.json."
            raise Refused(405, text, {"Allow": allowed})
        answer = await handler(self._service, Request(scope, receive))
        await answer(scope, receive, send)


_ODD = re.compile(r"[\x00-\x1f\x7f]")
_COMMON = {VERSION_HEADER: str(VERSION), "X-Content-Type-Options": "nosniff"}
_FOR_PAGES = re.compile(
    "(GET|OPTIONS) /experiments/[^/]+(/messages|/tally|)"
    "|(POST|OPTIONS) /experiments/[^/]+/(join|enrolments|messages)"
)
"""What a page of another site may ask whose origin the operator names: what a device needs."""


class Front:
    """Puts the version on every answer, counts it and times it, and lets pages of origins read it.

    A path with a control character is no route: patterns elsewhere may take its end for the end of
    the path. No answer allows cookies or other credentials. A page of an origin that is not named
    gets the answers that anybody gets, which its browser hides from it, and cannot post: a body of
    JSON is asked about first, and a request to join, which is not, is refused.
    """

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = self._for_pages = app
        self._metrics = service.metrics
        if service.settings.origins:
            self._for_pages = CORSMiddleware(
                app,
                allow_origins=service.settings.origins,
                allow_methods=("GET", "POST"),
                expose_headers=(VERSION_HEADER, "Retry-After"),
                max_age=7200,
            )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin, is_stream = time.perf_counter(), False

        async def completed(message: Message) -> None:
            nonlocal is_stream
            route = getattr(scope.get("endpoint"), "path", "other")
            if message["type"] == "http.response.start":
                written = MutableHeaders(scope=message)
                written.update(_COMMON)
                written.setdefault("Cache-Control", "no-store")
                self._metrics.count_request(scope["method"], route, message["status"])
                is_stream = written.get("Content-Type", "").startswith("text/event-stream")
            await send(message)
            is_last = message["type"] == "http.response.body" and not message.get("more_body")
            if is_last and not is_stream:
                self._metrics.seconds.labels(route).observe(time.perf_counter() - begin)

        app = self._app
        if _ODD.search(scope["path"]):
            app = await error(Request(scope), HTTPException(404))
        elif _FOR_PAGES.fullmatch(f"{scope['method']} {scope['path']}"):
            app = self._for_pages
        await app(scope, receive, completed)


def check_page(service: Service, headers: Headers) -> None:
    """Refuse what a browser sends without a preflight for a page of an origin that is not named."""
    origin = headers.get("origin")
    if origin is None or origin in service.settings.origins:
        return
    if origin.partition("://")[2] != headers.get("host"):
        raise Refused(
            403, "Pages of this origin may not do this.\nThe operator allows origins by name."
        )


def check_admin_port(service: Service, request: Request) -> None:
    """Refuse what is not asked at the operator's own port, if there is one."""
    port = (request.scope.get("server") or (None, None))[1]
    if service.admin_port is not None and port != service.admin_port:
        raise Refused(404, NO_ROUTE)


def allow(service: Service, request: Request, *scopes: str) -> str:
    """The scope of an operator's call, if it is one of these or the operator's; else a refusal."""
    check_admin_port(service, request)
    return check_token(service, request, *scopes)


def check_token(service: Service, request: Request, *scopes: str) -> str:
    """The scope of a call's token, if it is one of these or the operator's; else it is refused."""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    grant = grant_of(service.settings, token.strip()) if kind.lower() == "bearer" else None
    if grant is not None and grant.allows(scopes, request.path_params.get("name", "")):
        return grant.scope
    if not service.refused_tokens.wait("all"):
        service.log.write("token_refused", scope=None if grant is None else grant.scope)
    if grant is None:
        raise Refused(
            401,
            "This call needs the operator's token.\nSend it as 'Authorization: Bearer TOKEN'.",
            {"WWW-Authenticate": "Bearer"},
        )
    raise Refused(
        403,
        f"This token is for {grant}, which does not allow this call.\nUse the operator's token.",
    )


async def check_log(
    service: Service, request: Request, headers: Mapping[str, str]
) -> Mapping[str, str]:
    """The headers with which to send of a log, if the caller may read it; no cache keeps others."""
    experiment = await service.call(service.store.get, name_of(request))
    if experiment.log == "public":
        return headers
    check_token(service, request, "reader")
    return NO_STORE
