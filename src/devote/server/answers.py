"""How answers are written: errors that say what to do, and nothing sent a second time."""

import json
from typing import Any

from starlette.responses import Response

from devote.boards.board import DeletedExperiment, UnknownExperiment, UnreadableExperiment
from devote.boards.database import (
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
)
from devote.server.limits import Refused
from devote.server.live import Page

FRESH = "public, max-age=1, stale-while-revalidate=5"
"""How long any cache may keep what changes: a second, and five more while it asks again."""

FOR_A_DAY = "public, max-age=86400, immutable"
"""For what never changes under its name, but goes when its experiment is deleted."""

FOR_GOOD = "public, max-age=31536000, immutable"
"""For what never changes under its address."""

_CAUSES = {
    StoreFull: "disk_full",
    StoreBusy: "store_busy",
    StoreReadOnly: "store_read_only",
    StoreCorrupt: "store_damaged",
}


def cause_of(problem: StoreError) -> str:
    """What is wrong with a store, in one word; its message names paths and addresses."""
    return _CAUSES.get(type(problem), "store_unavailable")


def error(problem: Exception) -> Response | None:
    """The answer that a problem comes to, None if it is not one of a request.

    ASCII, so that no text that JSON can hold fails to encode.
    """
    status, text = 500, str(problem)
    headers: dict[str, str] = {}
    more: dict[str, str] = {}
    match problem:
        case Refused():
            status, headers = problem.status, problem.headers
            more = {"outcome": "refused"} if problem.is_outcome else {}
            more |= {"cause": problem.cause} if problem.cause is not None else {}
        case DeletedExperiment():
            status = 410
        case UnknownExperiment():
            status = 404
        case UnreadableExperiment():
            status = 409
        case StoreError():
            status, headers = 503, {"Retry-After": "1"}
            text = "The store cannot be read or written just now.\nTry again later."
            more = {"cause": cause_of(problem)}
        case _:
            return None
    return as_json({"error": text, **more}, status, headers)


def as_json(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """An answer of JSON values."""
    return Response(json.dumps(content), status, headers, media_type="application/json")


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
