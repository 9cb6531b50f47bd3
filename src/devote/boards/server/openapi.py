"""What the API's description says of bodies and answers: JSON Schemas, and little else.

The schema of a message is made from the protocol's own list of kinds, so that a new kind needs
no change here.
"""

from collections.abc import Collection
from dataclasses import fields
from typing import Any

from devote.boards.experiment import ENROLMENTS, VERSION
from devote.protocol import messages
from devote.protocol.checks import QUORUM_RULES

Schema = dict[str, Any]

_NAME: Schema = {"type": "string", "pattern": "^[A-Za-z0-9_.:-]{1,64}$"}
_WHOLE: Schema = {"type": "integer", "minimum": 0}
_VOTER: Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_SIGNATURE: Schema = {"type": "string", "pattern": "^[0-9a-f]{128}$"}
_PLAYERS: Schema = {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]}
_FIELDS: dict[str, Schema] = {
    "experiment": _NAME,
    "term": {**_WHOLE, "maximum": messages.MAX_TERM},
    "arm": {**_WHOLE, "maximum": messages.MAX_ARMS - 1},
    "seat": {"type": "integer", "minimum": 1, "maximum": messages.MAX_SEATS},
    "voter": _VOTER,
}


def record(properties: dict[str, Schema], optional: Collection[str] = ()) -> Schema:
    """An object with these fields and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def _message(name: str, kind: type) -> Schema:
    properties: dict[str, Schema] = {"v": {"const": messages.VERSION}, "type": {"const": name}}
    for item in fields(kind):
        properties[item.name] = _FIELDS.get(item.name, {})
    if kind is messages.Reset:
        properties["term"] = {**_FIELDS["term"], "minimum": 1}
    return record(properties)


MESSAGE: Schema = {"oneOf": [_message(name, kind) for name, (_, kind) in messages.KINDS.items()]}
ENVELOPE = record({"message": MESSAGE, "signature": _SIGNATURE})
POSTED = record({"number": _WHOLE, "message": MESSAGE, "signature": _SIGNATURE})
SNAPSHOT = record(
    {
        "number": _WHOLE,
        "messages": {"type": "array", "items": POSTED},
        "end": {"const": True},
    }
)
CLAIM = record(
    {"voter": _VOTER, "signature": _SIGNATURE, "invite": {"type": "string", "maxLength": 200}},
    {"invite"},
)
INVITATION = record({"count": {"type": "integer", "minimum": 1}})
INVITES = record({"invites": {"type": "array", "items": {"type": "string"}}})
OUTCOME = record({"outcome": {"enum": ["accepted", "duplicate"]}})
_SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
SPEC: Schema = {
    "type": "object",
    "description": "A specification; the fields left out have their defaults.",
    "properties": {
        "name": _NAME,
        "arms": {
            "anyOf": [
                {"type": "integer", "minimum": 2},
                {"type": "array", "items": {"type": "string"}, "minItems": 2},
            ]
        },
        "algorithm": {"type": "string"},
        "options": {"type": "object"},
        "epsilon": _SHARE,
        "eta": _SHARE,
        "delta": _SHARE,
        "phi": _SHARE,
        "quorum": {"anyOf": [{"type": "integer", "minimum": 1}, {"enum": list(QUORUM_RULES)}]},
    },
    "required": ["arms", "name"],
}
CREATION = record(
    {
        "spec": SPEC,
        "enrolment": {"enum": list(ENROLMENTS)},
        "players": _PLAYERS,
    },
    {"enrolment", "players"},
)
EXPERIMENT = record(
    {
        "version": {"const": VERSION},
        "spec": {"type": "object"},
        "fingerprint": {"type": "string"},
        "enrolment": {"enum": list(ENROLMENTS)},
        "players": _PLAYERS,
        "seats": _WHOLE,
    }
)
EXPERIMENTS = record(
    {"version": {"const": VERSION}, "experiments": {"type": "array", "items": EXPERIMENT}}
)
HEALTH = record({"version": {"const": VERSION}, "status": {"const": "ok"}})
ERROR = record({"error": {"type": "string"}, "outcome": {"const": "denied"}}, {"outcome"})

_ERRORS = {
    400: "The request was cut off.",
    401: "The operator's token is missing or wrong.",
    403: "Against the rules of the experiment: nothing was changed.",
    404: "There is no such experiment.",
    408: "The body did not come in time.",
    409: "It conflicts with what is there.",
    413: "The body is too large.",
    415: "The body is not application/json.",
    422: "Malformed.",
    429: "Too many requests, or too many streams: try again later.",
    503: "The store cannot be read or written just now: try again later.",
}
BODY_ERRORS = (400, 408, 413, 415, 422)


def responses(good: dict[int, tuple[str, Schema]], *errors: int) -> dict[int | str, dict[str, Any]]:
    """The answers of one operation: the good ones with their schema, then its errors."""
    described: dict[int | str, dict[str, Any]] = {
        status: {"description": text, "content": {"application/json": {"schema": schema}}}
        for status, (text, schema) in good.items()
    }
    for status in sorted({*errors, 503}):
        described[status] = {
            "description": _ERRORS[status],
            "content": {"application/json": {"schema": ERROR}},
        }
    return described


def body(schema: Schema) -> dict[str, Any]:
    """The request body of one operation."""
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}
