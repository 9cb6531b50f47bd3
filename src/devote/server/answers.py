"""How answers are written: errors that say what to do, and nothing sent a second time."""

import json
import math

from starlette.responses import Response

from devote.errors import DevoteError


class Refused(DevoteError):
    """A request that is answered with an error: a status, what is wrong, and what to do.

    ``cause`` is that of a receipt.
    """

    def __init__(self, status: int, text: str, *, cause: str | None = None, **headers: str) -> None:
        super().__init__(text)
        self.status = status
        self.cause = cause
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


def error(
    status: int, text: str, headers: dict[str, str] | None = None, *, cause: str | None = None
) -> Response:
    """An error as JSON; ASCII, so that no text that JSON can hold fails to encode.

    A 403 says that it is the board's outcome: a proxy's 403 is not.
    """
    body = {"error": text, "outcome": "refused"} if status == 403 else {"error": text}
    if cause is not None:
        body["cause"] = cause
    return Response(json.dumps(body), status, headers, media_type="application/json")


def too_many(seconds: float, what: str) -> Refused:
    """The refusal of a request that came too soon."""
    return Refused(
        429,
        f"Too many requests {what}.\nTry again in {math.ceil(seconds)} s.",
        Retry_After=str(math.ceil(seconds)),
    )


def unless_known(body: bytes, *, kind: str, tag: str, known: str, **headers: str) -> Response:
    """A body with a tag, or 304 for a client whose If-None-Match says that it has that one."""
    headers = {"ETag": f'"{tag}"', "Cache-Control": "no-cache", **headers}
    if f'"{tag}"' in (word.strip().removeprefix("W/") for word in known.split(",")):
        return Response(status_code=304, headers=headers)
    return Response(body, headers={**headers, "Content-Type": kind})
