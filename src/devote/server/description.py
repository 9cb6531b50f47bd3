"""The OpenAPI document: what the framework finds out by itself, and what it does not.

It does not know the headers that answers carry, and takes every error of a route for what the
route answers when all is well.
"""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from devote.boards.experiment import VERSION_HEADER
from devote.protocol.wire import VERSION


def _header(description: str, **schema: Any) -> dict[str, Any]:
    return {"description": description, "required": True, "schema": {"type": "string", **schema}}


_VERSION = _header("The version of the wire; any other is refused.", const=str(VERSION))
_TAG = _header("A name of this answer, for If-None-Match.")
_LATER = _header("Seconds to wait before trying again.", pattern="^[0-9]+$")
_TOKEN = _header("How to say who one is: Bearer.")
_OF_STATUS = {"401": {"WWW-Authenticate": _TOKEN}}
_OF_STATUS |= {status: {"Retry-After": _LATER} for status in ("429", "503")}


def complete(app: FastAPI) -> None:
    """Let an application describe itself in full."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = get_openapi(
                title=app.title,
                version=app.version,
                description=app.description,
                routes=app.routes,
            )
            for path in app.openapi_schema["paths"].values():
                for operation in path.values():
                    _complete(operation["responses"])
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _complete(responses: dict[str, Any]) -> None:
    for status, answer in responses.items():
        answer["headers"] = {VERSION_HEADER: _VERSION, **_OF_STATUS.get(status, {})}
        if "304" in responses and status in ("200", "304"):
            answer["headers"]["ETag"] = _TAG
        if status >= "400":  # every error is JSON, whatever the route answers otherwise
            (schema,) = answer["content"].values()
            answer["content"] = {"application/json": schema}
