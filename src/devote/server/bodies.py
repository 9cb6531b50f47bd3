"""What requests say: bodies as strict JSON with known fields, and queries with known names.

Messages are read by the codec of ``protocol``, specifications by ``ExperimentSpec``. The rest are a
few fields each, which are named here with what they may be. A value that was sent is never told
back.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import ClientDisconnect, Request

from devote.boards.board import ENROLMENTS, STATES, Envelope
from devote.protocol import ProtocolError
from devote.protocol.messages import IDENTIFIER, MAX_ARMS, from_dict, parse_json
from devote.server.limits import Refused

COMPARE = "Compare the request with /openapi.json."


class Bodies:
    """Receives bodies, within their size and time, and only so many at once.

    Of more than that the one that has been coming for the longest is given up: whole bodies
    take no time, so it is one that never ends.
    """

    def __init__(self, patience: float, at_once: int) -> None:
        self._patience = patience
        self._at_once = at_once
        self._coming: OrderedDict[int, asyncio.Timeout] = OrderedDict()

    async def read(self, request: Request, most: int) -> bytes:
        """A body of at most so many bytes."""
        too_large = Refused(413, f"The body is larger than {most} bytes.\nSend less.")
        length = request.headers.get("content-length", "0")
        if not length.isdecimal() or int(length[:20]) > most:
            raise too_large
        body = bytearray()
        try:
            async with asyncio.timeout(self._patience) as limit:
                self._begin(limit)
                try:
                    async for chunk in request.stream():
                        body += chunk
                        if len(body) > most:
                            raise too_large
                finally:
                    self._coming.pop(id(limit), None)
        except TimeoutError:
            text = f"The body took more than {self._patience} s, or others were waiting."
            raise Refused(408, f"{text}\nSend it again.", Connection="close") from None
        except ClientDisconnect:
            raise Refused(400, "The body was cut off.\nSend it again.") from None
        return bytes(body)

    def _begin(self, limit: asyncio.Timeout) -> None:
        self._coming[id(limit)] = limit
        if len(self._coming) > self._at_once:
            _, oldest = self._coming.popitem(last=False)
            oldest.reschedule(asyncio.get_running_loop().time())


@dataclass(frozen=True)
class Field:
    """One field of a body: what it may be, and whether it may be left out."""

    rule: str
    fits: Callable[[Any], bool]
    required: bool = True


def _whole(least: int, most: int = 2**53) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and least <= value <= most


def _text(most: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and len(value) <= most


def _optional(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or fits(value)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


_VOTER = Field("must be a text", _text(200))
_INVITE = Field("must be a text of at most 200 characters", _optional(_text(200)), required=False)
_MOMENT = Field("must be whole seconds since 1970", _optional(_whole(0, 2**33 - 1)), required=False)
_PLAYERS = Field("must be a whole number from 1 on", _optional(_whole(1)), required=False)
_LISTED = Field("must be a list of texts", _texts, required=False)

ENVELOPE = {
    "message": Field("must be an object", lambda value: isinstance(value, dict)),
    "signature": _VOTER,
}
ENROLMENT = {"voter": _VOTER, "signature": _VOTER, "invite": _INVITE}
JOINING = {
    "v": Field("must be 2", lambda value: type(value) is int and value == 2),
    **ENROLMENT,
    "privacy": Field(
        "must be a number above 0",
        _optional(lambda value: type(value) in (int, float) and 0 < value < 2**53),
        required=False,
    ),
    "fingerprint": Field("must be a text", _optional(_text(200)), required=False),
}
EXPERIMENT = {
    "spec": Field("must be an object", lambda value: isinstance(value, dict)),
    "enrolment": Field("must be open or invite", lambda v: v in ENROLMENTS, required=False),
    "players": _PLAYERS,
}
INVITES = {"count": Field("must be a whole number from 1 on", _whole(1)), "expires": _MOMENT}
STANDING = {
    "state": Field("must be open, closed or archived", lambda v: v in (None, *STATES), False),
    "ends": _MOMENT,
}
REVOCATION = {"voters": _LISTED, "invites": _LISTED}


async def read_body(
    request: Request,
    bodies: Bodies,
    fields: Mapping[str, Field],
    most: int,
    kinds: tuple[str, ...] = ("application/json",),
) -> dict[str, Any]:
    """The body of a request, of at most so many bytes, by its fields."""
    given = request.headers.getlist("content-type")
    kind = given[0].partition(";")[0].strip().lower() if given else ""
    if len(given) > 1 or kind not in kinds:
        raise Refused(415, f"The body must be {kinds[0]}.\nSet one Content-Type header.")
    content = await bodies.read(request, most)
    try:
        # Not even NaN is let through: int("NaN") is a ValueError.
        values = parse_json(content.decode(), constant=int)
    except ValueError:
        text = "The body is not strict JSON in UTF-8.\nSend each field once, and no NaN."
        raise Refused(422, text) from None
    return checked(values, fields)


def checked(values: Any, fields: Mapping[str, Field]) -> dict[str, Any]:
    """Values that are an object of these fields."""
    if not isinstance(values, dict):
        raise Refused(422, f"body: must be an object.\n{COMPARE}")
    wrong = [f"{name[:64]}: not a field of this body" for name in values if name not in fields]
    for name, field in fields.items():
        if name not in values:
            wrong += [f"{name}: is missing"] if field.required else []
        elif not field.fits(values[name]):
            wrong.append(f"{name}: {field.rule}")
    if wrong:
        raise Refused(422, f"{'; '.join(wrong[:3])}.\n{COMPARE}")
    return values


def envelope_of(values: Mapping[str, Any]) -> Envelope:
    """The message and its signature in a body."""
    try:
        return Envelope(from_dict(values["message"], MAX_ARMS), values["signature"])
    except ProtocolError as wrong:
        raise Refused(422, str(wrong)) from None


def name_of(request: Request) -> str:
    """The experiment in the path of a request."""
    name: str = request.path_params["name"]
    if IDENTIFIER.fullmatch(name) is None:
        raise Refused(422, f"name: must be 1 to 64 of A-Z a-z 0-9 _ . : -\n{COMPARE}")
    return name


class Query:
    """The query of a request, which may have these names and no others, each once.

    So that nobody gets past a cache by a name that means nothing.
    """

    def __init__(self, request: Request, *names: str) -> None:
        self._values: dict[str, str] = {}
        if not request.scope["query_string"]:
            return
        for name, value in request.query_params.multi_items():
            if name not in names or name in self._values:
                raise Refused(422, f"{name[:64]}: not in a query here, or twice.\n{COMPARE}")
            self._values[name] = value

    def number(self, name: str, default: int, least: int = 0, most: int = 2**53) -> int:
        """A whole number."""
        return whole(name, self._values.get(name), default, least, most)

    def text(self, name: str, fits: Callable[[str], Any], default: str = "") -> str:
        """A text that fits."""
        value = self._values.get(name)
        if value is None:
            return default
        if not fits(value):
            raise Refused(422, f"{name}: has another form.\n{COMPARE}")
        return value


def whole(name: str, text: str | None, default: int, least: int = 0, most: int = 2**53) -> int:
    """A whole number in a path, a query or a header."""
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) < 17 and least <= int(text) <= most):
        raise Refused(422, f"{name}: must be a whole number from {least} to {most}.\n{COMPARE}")
    return int(text)
