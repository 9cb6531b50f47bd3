"""The bodies of the operator's requests and answers."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from devote.boards.experiment import Enrolment, State
from devote.protocol.wire import VERSION
from devote.server.models import BoardName, Body, Fingerprint, Moment, Natural, Players

Text = Annotated[str, Field(max_length=200)]


class StandingBody(Body):
    """Another state or another end for an experiment; what is left out stays as it is.

    An end of null takes the end away.
    """

    state: State | None = None
    ends: Moment | None = None


class RevocationBody(Body):
    """Devices, by their keys, and invites, by their texts, that are to be revoked."""

    limit: ClassVar[str] = "body"
    voters: list[Text] = Field(default_factory=list)
    invites: list[Text] = Field(default_factory=list)


class StandingAnswer(Body):
    """How an experiment stands now, and when it ends."""

    state: State
    ends: Moment | None


class InviteCountsAnswer(Body):
    """How many invites can still be used, were used, and have expired unused."""

    open: Natural
    used: Natural
    expired: Natural


class OverviewItem(Body):
    """An experiment as its operator sees it; the likeliest answer comes first."""

    name: str
    board: BoardName
    fingerprint: Fingerprint
    scheme: str
    enrolment: Enrolment
    players: Players
    state: State
    ends: Moment | None
    enrolled: Natural
    revoked: Natural
    invites: InviteCountsAnswer
    messages: Natural
    status: Literal["open", "agreed", "stalled"]
    answer: list[str]


class OverviewAnswer(Body):
    """All experiments, the archived ones too."""

    version: int = VERSION
    experiments: list[OverviewItem]


class RevocationAnswer(Body):
    """How many were revoked, and how many of those named could not be."""

    devices: Natural
    invites: Natural
    unknown: Natural


class DeletedAnswer(Body):
    """The name of the experiment that was deleted."""

    deleted: str
