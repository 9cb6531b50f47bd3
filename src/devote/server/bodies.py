"""How bodies are read: within their size and time, and as strict JSON.

Pydantic checks the fields. It leaves open how large a body is, how long it takes to come, fields
given twice and numbers that are not finite: these are refused here.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from fastapi import APIRouter, Depends, Request
from pydantic import ValidationError
from starlette.requests import ClientDisconnect

from devote.protocol.messages import parse_json
from devote.server.answers import Refused
from devote.server.models import Body, errors
from devote.server.service import Served

B = TypeVar("B", bound=Body)
R = TypeVar("R", bound=Callable[..., Any])


def post(
    router: APIRouter,
    path: str,
    model: type[Body],
    *before: Callable[..., Any],
    answers: dict[int | str, dict[str, Any]],
) -> Callable[[R], R]:
    """A route that takes such a body, if none of the functions ``before`` refuses the request.

    ``answers`` describes what else than 201 and a refused body may be answered.
    """
    content = {"application/json": {"schema": model.model_json_schema()}}
    return router.post(
        path,
        status_code=201,
        dependencies=[Depends(check) for check in before],
        openapi_extra={"requestBody": {"required": True, "content": content}},
        responses={**answers, **errors(400, 408, 413, 415, 422)},
    )


def body(model: type[B]) -> Any:
    """A dependency that gives a route its body."""

    async def read(request: Request, service: Served) -> B:
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise Refused(415, "The body must be application/json.\nSet the Content-Type header.")
        most: int = getattr(service.settings, model.limit)
        content = await _read(request, most, service.settings.patience)
        try:
            # Not even NaN is let through: int("NaN") is a ValueError.
            return model.model_validate(parse_json(content.decode(), constant=int))
        except ValidationError as wrong:
            raise Refused(422, explain(wrong.errors())) from None
        except ValueError:
            text = "The body is not strict JSON in UTF-8.\nSend each field once, and no NaN."
            raise Refused(422, text) from None

    return Depends(read)


def explain(faults: Iterable[Any]) -> str:
    """What is wrong with a request, by pydantic's list of faults, without the values sent."""
    wrong = [f"{str(('body', *fault['loc'])[-1])[:64]}: {fault['msg']}" for fault in faults]
    return f"{'; '.join(wrong[:3])}.\nCompare the request with /openapi.json."


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
