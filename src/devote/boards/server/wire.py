"""How requests are read and answers written: strict JSON, and errors that say what to do."""

import asyncio
import json
import math
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response


class Refused(Exception):
    """A request that is answered with an error: a status, what is wrong, and what to do."""

    def __init__(self, status: int, text: str, **headers: str) -> None:
        super().__init__(text)
        self.status = status
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


def answer(status: int, body: object, headers: dict[str, str] | None = None) -> Response:
    """A JSON answer; ASCII, so that no text that JSON can hold fails to encode."""
    text = json.dumps(body, separators=(",", ":"), allow_nan=False)
    return Response(text, status, headers, media_type="application/json")


def error(status: int, text: str, headers: dict[str, str] | None = None, **more: str) -> Response:
    """An error answer."""
    return answer(status, {**more, "error": text}, headers)


def too_many(seconds: float, what: str) -> Refused:
    """The refusal of a request that came too soon."""
    return Refused(
        429,
        f"Too many requests {what}.\nTry again in {math.ceil(seconds)} s.",
        Retry_After=str(math.ceil(seconds)),
    )


async def read_object(
    request: Request, *, most: int, patience: float, required: set[str], optional: set[str]
) -> dict[str, Any]:
    """The request's body, which must be one JSON object with these fields and no others."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refused(415, "The body must be application/json.\nSet the Content-Type header.")
    fields = _parse(await _read(request, most, patience))
    if not isinstance(fields, dict):
        raise Refused(422, "The body must be a JSON object.\nSend {...}.")
    if not required <= set(fields) <= required | optional:
        raise Refused(
            422,
            f"The body must have the fields {', '.join(sorted(required))}"
            + (f" and may have {', '.join(sorted(optional))}" if optional else "")
            + ", and no others.\nCompare it with /openapi.json.",
        )
    return fields


async def _read(request: Request, most: int, patience: float) -> bytes:
    too_large = Refused(413, f"The body is larger than {most} bytes.\nSend less.")
    length = request.headers.get("content-length", "0")
    if length.isdecimal() and int(length[:20]) > most:
        raise too_large
    body = bytearray()
    try:
        async with asyncio.timeout(patience):
            async for chunk in request.stream():
                body += chunk
                if len(body) > most:
                    raise too_large
    except TimeoutError:
        raise Refused(408, f"The body took more than {patience} s.\nSend it again.") from None
    except ClientDisconnect:
        raise Refused(400, "The body was cut off.\nSend it again.") from None
    return bytes(body)


def _parse(body: bytes) -> Any:
    try:
        return json.loads(
            body.decode(), object_pairs_hook=_without_duplicates, parse_constant=_no_constant
        )
    except (ValueError, RecursionError):
        raise Refused(422, "The body is not strict JSON in UTF-8.\nMend it.") from None


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a field twice")
    return fields


def _no_constant(name: str) -> Any:
    raise ValueError(name)
