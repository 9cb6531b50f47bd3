"""The bodies of requests and answers: pydantic checks them, and FastAPI describes them.

Messages are described by the kinds that schemes have declared, and specifications are checked by
``ExperimentSpec``: a new scheme needs no change here.
"""

from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema

from devote.boards.experiment import VERSION
from devote.protocol import Message, ProtocolError, messages
from devote.server.answers import Refused

NAME = messages.IDENTIFIER.pattern.join("^$")
Name = Annotated[str, Field(pattern=NAME)]
Voter = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Signature = Annotated[str, Field(pattern="^[0-9a-f]{128}$")]
Natural = Annotated[int, Field(ge=0)]
Players: TypeAlias = Annotated[int, Field(ge=1)] | None
Enrolment: TypeAlias = Literal["open", "invite"]
Version = Annotated[int, WithJsonSchema({"const": VERSION})]


class _Kinds:
    """Describes a message by the kinds that there are when the description is asked for."""

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> dict[str, Any]:
        return {"oneOf": [_kind_schema(kind) for kind in messages.KINDS.values()]}


def _kind_schema(kind: messages.Kind) -> dict[str, Any]:
    properties: dict[str, Any] = {
        "v": {"const": messages.VERSION},
        "type": {"const": kind.name},
        "experiment": {"type": "string", "pattern": NAME},
        "voter": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
    }
    for name, number in kind.numbers.items():
        most = messages.MAX_ARMS - 1 if number.most is None else number.most
        properties[name] = {"type": "integer", "minimum": number.least, "maximum": most}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _decode(values: object) -> Message:
    try:
        return messages.from_dict(values, messages.MAX_ARMS)
    except ProtocolError as wrong:
        raise Refused(422, str(wrong)) from None


class Body(BaseModel):
    """What every body keeps to: values of the very type, and no other fields.

    ``limit`` names the setting that bounds its size.
    """

    model_config = ConfigDict(strict=True, extra="forbid")
    limit: ClassVar[str] = "message_body"


class EnrolmentBody(Body):
    """A voter asks to take part, and has signed that."""

    voter: Voter
    signature: Signature
    invite: Annotated[str, Field(max_length=200)] | None = None


class EnvelopeBody(Body):
    """A message and its voter's signature."""

    message: Annotated[Any, AfterValidator(_decode), _Kinds()]
    signature: Signature


class InvitesBody(Body):
    """How many invites to make."""

    count: Annotated[int, Field(ge=1)]


_FRACTION = {"type": "number", "minimum": 0, "maximum": 1}
_SPEC = {
    "type": "object",
    "description": "A specification; the fields left out have their defaults.",
    "properties": {
        "name": {"type": "string", "pattern": NAME},
        "arms": {
            "anyOf": [
                {"type": "integer", "minimum": 2},
                {"type": "array", "items": {"type": "string"}, "minItems": 2},
            ]
        },
        "algorithm": {"type": "string"},
        "options": {"type": "object"},
        **dict.fromkeys(("epsilon", "eta", "delta"), _FRACTION),
        "scheme": {
            "type": "object",
            "properties": {"name": {"type": "string"}},
            "required": ["name"],
        },
    },
    "required": ["arms", "name"],
}


class ExperimentBody(Body):
    """An experiment to open."""

    limit: ClassVar[str] = "body"
    spec: Annotated[dict[str, Any], WithJsonSchema(_SPEC)]
    enrolment: Enrolment = "open"
    players: Players = None


class ErrorAnswer(Body):
    """What is wrong, and what to do."""

    error: str
    outcome: Literal["refused"] = "refused"


class OutcomeAnswer(Body):
    """What became of what was sent."""

    outcome: Literal["accepted", "duplicate"]


class PostedAnswer(EnvelopeBody):
    """A message as the board holds it."""

    number: Natural


class MessagesAnswer(Body):
    """All messages above a number."""

    number: Natural
    messages: list[PostedAnswer]
    end: Literal[True]


class InvitesAnswer(Body):
    """Invites, which cannot be read again."""

    invites: list[str]


class ExperimentAnswer(Body):
    """An experiment, who may take part, and how many do."""

    version: Version
    spec: dict[str, Any]
    fingerprint: str
    enrolment: Enrolment
    players: Players
    enrolled: Natural


class ExperimentsAnswer(Body):
    """All experiments."""

    version: Version
    experiments: list[ExperimentAnswer]


class HealthAnswer(Body):
    """The server works."""

    version: Version
    status: Literal["ok"]


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


def responses(
    good: dict[int, tuple[str, type[Body]]], *errors: int
) -> dict[int | str, dict[str, Any]]:
    """The answers of one operation: the good ones with their model, then its errors."""
    described: dict[int | str, dict[str, Any]] = {
        status: {"description": text, "model": model} for status, (text, model) in good.items()
    }
    for status in sorted({*errors, 503}):
        described[status] = {"description": _ERRORS[status], "model": ErrorAnswer}
    return described


def request_body(model: type[Body]) -> dict[str, Any]:
    """The request body of one operation, which ``bodies.read`` reads instead of FastAPI."""
    content = {"application/json": {"schema": model.model_json_schema()}}
    return {"requestBody": {"required": True, "content": content}}
