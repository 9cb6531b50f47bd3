"""The two requests that make up nearly all of a fleet's, answered before the framework sees them.

A tally that is known is sent as it lies in memory; a message that is as it should be is posted.
Whatever is not plain (a board that must be read first, a body that is odd, a limit that is reached)
goes the long way, which describes, checks and explains everything. Both ways give the same answers;
``tests/server/test_hot.py`` compares them.
"""

import asyncio
import time
from collections.abc import Iterable
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from devote.boards.admission import refusal
from devote.boards.board import Envelope, Outcome
from devote.boards.experiment import VERSION_HEADER
from devote.protocol import ProtocolError
from devote.protocol.messages import MAX_ARMS, from_dict, parse_json
from devote.protocol.wire import VERSION
from devote.server.answers import FRESH, error, knows
from devote.server.live import ToldTally
from devote.server.service import Service

_START = "/experiments/"
_COMMON = (
    (VERSION_HEADER.lower().encode(), str(VERSION).encode()),
    (b"x-content-type-options", b"nosniff"),
)
_TALLY, _MESSAGES = "/experiments/{name}/tally", "/experiments/{name}/messages"
_OUTCOMES = {
    outcome: (status, f'{{"outcome":"{outcome.value}"}}'.encode())
    for outcome, status in ((Outcome.ACCEPTED, 201), (Outcome.DUPLICATE, 200))
}


class HotPath:
    """Answers plain reads of a tally and plain messages; all else is ``app``'s."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http":
            path: str = scope["path"]
            if path.endswith("/tally") and scope["method"] == "GET":
                if await self._tally(path[len(_START) : -len("/tally")], scope, send):
                    return
            elif path.endswith("/messages") and scope["method"] == "POST":
                name = path[len(_START) : -len("/messages")]
                replay = await self._post(name, scope, receive, send)
                if replay is None:
                    return
                receive = replay
        await self._app(scope, receive, send)

    async def _tally(self, name: str, scope: Scope, send: Send) -> bool:
        service, begin = self._service, time.perf_counter()
        board = service.boards.known(name)
        told = board.told() if board is not None else None
        if told is None or not scope["path"].startswith(_START) or service.reads.wait(name):
            return False
        known = next((value for key, value in scope["headers"] if key == b"if-none-match"), b"")
        status = 304 if known and knows(told.tag, known.decode("latin-1")) else 200
        await send(_start(status, _headers(told, status)))
        await send({"type": "http.response.body", "body": told.body if status == 200 else b""})
        service.metrics.count_request("GET", _TALLY, status)
        service.metrics.time_request(_TALLY, time.perf_counter() - begin)
        return True

    async def _post(self, name: str, scope: Scope, receive: Receive, send: Send) -> Receive | None:
        """Post a plain message: None if that was answered, else how to receive the body again."""
        service, begin = self._service, time.perf_counter()
        if not scope["path"].startswith(_START) or name not in service.store.specs:
            return receive
        if not _is_short_json(scope["headers"], service.settings.message_body):
            return receive
        try:
            async with asyncio.timeout(service.settings.patience):
                first = await receive()
        except TimeoutError:
            text = f"The body took more than {service.settings.patience} s.\nSend it again."
            await self._answer(send, 408, bytes(error(408, text).body), begin)
            return None
        if first["type"] != "http.request" or first.get("more_body"):
            return _again(first, receive)
        envelope = _envelope(first["body"])
        store = service.store
        if envelope is None or refusal(envelope, store.spec(name), store.scope(name)) is not None:
            return _again(first, receive)
        voter = f"{name}/{envelope.message.voter}"
        if service.writes.wait(name) or service.voters.wait(voter):
            return _again(first, receive)
        try:
            receipt = await service.post(name, envelope)
        except Exception:  # the long way tells what is wrong, if it still is
            return _again(first, receive)
        if receipt.outcome is Outcome.REFUSED:
            body = error(403, receipt.reason, cause=receipt.cause).body
            await self._answer(send, 403, bytes(body), begin)
        else:
            await self._answer(send, *_OUTCOMES[receipt.outcome], begin)
        return None

    async def _answer(self, send: Send, status: int, body: bytes, begin: float) -> None:
        headers = [(b"content-type", b"application/json"), (b"cache-control", b"no-store")]
        headers += [(b"content-length", b"%d" % len(body)), *_COMMON]
        await send(_start(status, headers))
        await send({"type": "http.response.body", "body": body})
        self._service.metrics.count_request("POST", _MESSAGES, status)
        self._service.metrics.time_request(_MESSAGES, time.perf_counter() - begin)


def _headers(told: ToldTally, status: int) -> list[tuple[bytes, bytes]]:
    headers = [(b"etag", f'"{told.tag}"'.encode()), (b"cache-control", FRESH.encode()), *_COMMON]
    if status == 200:
        length = b"%d" % len(told.body)
        headers += [(b"content-type", b"application/json"), (b"content-length", length)]
    return headers


def _start(status: int, headers: list[tuple[bytes, bytes]]) -> Message:
    return {"type": "http.response.start", "status": status, "headers": headers}


def _again(first: Message, receive: Receive) -> Receive:
    """Receive what was received already, and then what comes."""
    waiting = [first]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay


def _is_short_json(headers: Iterable[tuple[bytes, bytes]], most: int) -> bool:
    found: dict[bytes, bytes] = dict(headers)
    length = found.get(b"content-length", b"")
    is_json = found.get(b"content-type", b"").partition(b";")[0].strip() == b"application/json"
    return is_json and length.isdigit() and len(length) < 10 and int(length) <= most


def _envelope(body: bytes) -> Envelope | None:
    """The envelope in a body, None if it is not plainly one."""
    try:
        values: Any = parse_json(body.decode(), constant=int)
        if not isinstance(values, dict) or values.keys() != {"message", "signature"}:
            return None
        signature = values["signature"]
        if not isinstance(signature, str):
            return None
        return Envelope(from_dict(values["message"], MAX_ARMS), signature)
    except (ValueError, ProtocolError):
        return None
