"""The bodies of requests and answers: pydantic checks them, and FastAPI describes them.

Messages are described by the kinds that schemes have declared, and specifications are checked by
``ExperimentSpec``: a new scheme needs no change here.
"""

from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema

from devote.boards.experiment import BOARD, Enrolment
from devote.protocol import Message, ProtocolError, messages
from devote.protocol.wire import VERSION, WHOLE
from devote.server.answers import Refused

NAME = f"^{messages.IDENTIFIER.pattern}$"
VOTED = "^[0-9a-f]{64}$"
VOTER = {"type": "string", "pattern": VOTED}
SIGNATURE = {"type": "string", "pattern": "^[0-9a-f]{128}$"}

# Described, not checked: a key or a signature that is spelt wrongly is refused as a wrong one is.
Voter = Annotated[str, WithJsonSchema(VOTER)]
Signature = Annotated[str, WithJsonSchema(SIGNATURE)]
BoardName = Annotated[str, WithJsonSchema({"type": "string", "pattern": f"^{BOARD.pattern}$"})]
Fingerprint = Annotated[str, WithJsonSchema({"type": "string", "pattern": VOTED})]
Natural = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Players: TypeAlias = Positive | None
Moment = Annotated[int, Field(ge=0, lt=2**33, description="Seconds since 1970.")]


def _describe(kind: messages.Kind) -> dict[str, Any]:
    properties: dict[str, Any] = {
        "v": {"const": VERSION},
        "type": {"const": kind.name},
        "experiment": {"type": "string", "pattern": NAME},
        "voter": VOTER,
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


class _Kinds:
    """Describes a message by the kinds that there are when the description is asked for."""

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> dict[str, Any]:
        return {"oneOf": [_describe(kind) for kind in messages.KINDS.values()]}


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
    """How many invites to make, and from when on they are no longer good."""

    count: Positive
    expires: Moment | None = None


_SPEC = {
    "type": "object",
    "description": "A specification; the fields left out have their defaults.",
    "properties": {
        "name": {"type": "string", "pattern": NAME},
        "arms": {"anyOf": [{"type": "integer", "minimum": 2}, {"type": "array", "minItems": 2}]},
        "scheme": {"type": "object"},
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
    """What is wrong, and what to do; with ``outcome`` if the board has refused it.

    With ``cause`` if it takes nothing at all, or nothing from this voter.
    """

    error: str
    outcome: Literal["refused"] = "refused"
    cause: Literal["closed", "revoked"] = "closed"


class OutcomeAnswer(Body):
    """What became of what was sent."""

    outcome: Literal["accepted", "duplicate"]


class PostedAnswer(EnvelopeBody):
    """A message as the board holds it."""

    number: Natural


class MessagesAnswer(Body):
    """The messages above a number, and the board's last number.

    ``end`` if these are all there are.
    """

    number: Natural
    messages: list[PostedAnswer]
    end: bool


class PageAnswer(Body):
    """A page of the log; ``full`` if it never changes any more."""

    board: BoardName
    fingerprint: Fingerprint
    page: Positive
    full: bool
    messages: list[PostedAnswer]


class VotersAnswer(Body):
    """Voters who are enrolled, and how many there are in all.

    ``end`` if these are all that are above the key asked for.
    """

    voters: list[Voter]
    end: bool
    enrolled: Natural


_ARMS = {"type": "array", "items": {"type": "integer", "minimum": 0}}
_TALLY = {
    "type": "object",
    "properties": {
        "status": {"enum": ["open", "agreed", "stalled"]},
        "answer": _ARMS,
        "shared": _ARMS,
        "asked": {**_ARMS, "description": "A survey: the arms among which devices draw now."},
        "counts": {
            "type": "array",
            "items": {"type": "integer", "minimum": 0},
            "description": "A survey: the answers about each arm.",
        },
        "snapshot": {
            "type": "integer",
            "minimum": 0,
            "maximum": WHOLE,
            "description": "A survey: how many answers are counted; an answer repeats it as seen.",
        },
    },
    "required": ["status", "answer", "shared"],
}


class TallyAnswer(Body):
    """What the messages up to a number come to, as the scheme tells it.

    Every scheme tells whether it is settled, the arms that may be the answer, the likeliest
    first, and those that are still open; some tell more. ``pace`` is the time between two reads
    that devices are asked to keep, in seconds; ``streams`` whether they may open a stream.
    """

    board: BoardName
    fingerprint: Fingerprint
    number: Natural
    tally: Annotated[dict[str, Any], WithJsonSchema(_TALLY)]
    pace: Positive
    streams: bool


class InvitesAnswer(Body):
    """Invites, which cannot be read again."""

    invites: list[str]


class ExperimentAnswer(Body):
    """An experiment, and who may take part: nothing of it ever changes.

    Signatures cover its ``board`` and its ``fingerprint``, which is that of ``spec`` as it is here.
    """

    version: int
    board: BoardName
    spec: dict[str, Any]
    fingerprint: Fingerprint
    enrolment: Enrolment
    players: Players


class CountedExperiment(ExperimentAnswer):
    """An experiment, and how many take part."""

    enrolled: Natural


class ExperimentsAnswer(Body):
    """All experiments."""

    version: int = VERSION
    experiments: list[CountedExperiment]


class HealthAnswer(Body):
    """The server can write to its store."""

    version: int = VERSION
    status: Literal["ok"] = "ok"


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The errors of an operation."""
    return {status: {"model": ErrorAnswer} for status in statuses}
