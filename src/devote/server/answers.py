"""How answers are written: errors that say what to do, and nothing sent a second time."""

import json
import math

from starlette.responses import Response

from devote.errors import DevoteError
from devote.server.pages import Page


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


FRESH = "public, max-age=1, stale-while-revalidate=5"
"""How long any cache may keep what changes: a second, and five more while it asks again."""

FOR_A_DAY = "public, max-age=86400, immutable"
"""For what never changes under its name, but goes when its experiment is deleted."""

FOR_GOOD = "public, max-age=31536000, immutable"
"""For what never changes under its address."""


def knows(tag: str, known: str) -> bool:
    """Whether an If-None-Match header names an answer.

    >>> knows("a1", '"b2", W/"a1"'), knows("a1", "")
    (True, False)
    """
    return f'"{tag}"' in known and any(
        word.strip().removeprefix("W/") == f'"{tag}"' for word in known.split(",")
    )


def unless_known(body: bytes, *, kind: str, tag: str, known: str, **headers: str) -> Response:
    """A body with a tag, or 304 for a client whose If-None-Match says that it has that one."""
    headers = {"ETag": f'"{tag}"', "Cache-Control": "no-cache", **headers}
    if knows(tag, known):
        return Response(status_code=304, headers=headers)
    return Response(body, headers={**headers, "Content-Type": kind})


def page_answer(page: Page, *, known: str, encodings: str) -> Response:
    """A page of a log, compressed for a client who takes that, or 304 for one who has it."""
    takes = (word.partition(";") for word in encodings.lower().split(","))
    is_packed = page.packed is not None and any(
        name.strip() == "gzip" and weight.replace(" ", "") not in ("q=0", "q=0.0")
        for name, _, weight in takes
    )
    headers = {
        "ETag": f'W/"{page.tag}"',  # weak: compressed or not, it is the same page
        "Cache-Control": FOR_GOOD if page.full else FRESH,
        "Vary": "Accept-Encoding",
    }
    if knows(page.tag, known):
        return Response(status_code=304, headers=headers)
    headers["Content-Type"] = "application/json"
    if page.packed is not None and is_packed:
        return Response(page.packed, headers={**headers, "Content-Encoding": "gzip"})
    return Response(page.body, headers=headers)
