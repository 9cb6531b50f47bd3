"""Routes of one experiment's board: enrol, post, and read what was posted."""

from typing import Annotated

from fastapi import APIRouter, Header, Query
from starlette.responses import Response

from devote.boards.admission import refusal
from devote.boards.board import Envelope, Outcome
from devote.server import bodies
from devote.server.answers import Refused, unless_known
from devote.server.live import EventStream, as_item
from devote.server.models import (
    VOTED,
    EnrolmentBody,
    EnvelopeBody,
    MessagesAnswer,
    OutcomeAnswer,
    TallyAnswer,
    VotersAnswer,
    errors,
)
from devote.server.service import Name, Reading, Served, settle, writing

router = APIRouter(tags=["board"], responses=errors(404, 409, 422, 429, 503))

After = Annotated[int, Query(ge=0, le=2**53, description="Only messages above this number.")]
AfterVoter = Annotated[
    str, Query(pattern="^[0-9a-f]{0,64}$", description="Only voters above this key.")
]
Limit = Annotated[int | None, Query(ge=1, le=10_000, description="At most so many.")]
Voted = Annotated[str | None, Query(pattern=VOTED, description="Only messages of this voter.")]
Known = Annotated[str, Header(description="Names of answers that the client has.")]
Last = Annotated[
    int | None, Header(ge=0, le=2**53, description="The number of the last message received.")
]
Enrolling = Annotated[EnrolmentBody, bodies.body(EnrolmentBody)]
Posting = Annotated[EnvelopeBody, bodies.body(EnvelopeBody)]
_FRESH = "public, max-age=1, stale-while-revalidate=5"
_ANSWERS = {200: {"model": OutcomeAnswer}, **errors(403)}


@bodies.post(router, "/experiments/{name}/enrolments", EnrolmentBody, writing, answers=_ANSWERS)
async def enrol(service: Served, name: Name, given: Enrolling, response: Response) -> OutcomeAnswer:
    """Enrol a voter, who has signed the request; again is harmless."""
    receipt = await service.call(
        service.store.enrol, name, **given.model_dump(), most=service.settings.enrolments
    )
    return settle(receipt, response)


@router.get("/experiments/{name}/enrolments")
async def read_voters(
    service: Served, _: Reading, name: Name, after: AfterVoter = "", limit: Limit = None
) -> VotersAnswer:
    """The enrolled voters above a key, in order of their keys: whose messages may count."""
    voters = await service.call(service.store.voters, name, after, limit)
    return VotersAnswer(voters=voters, end=limit is None or len(voters) < limit)


@bodies.post(router, "/experiments/{name}/messages", EnvelopeBody, writing, answers=_ANSWERS)
async def post_message(
    service: Served, name: Name, given: Posting, response: Response
) -> OutcomeAnswer:
    """Post a signed message; again is harmless."""
    envelope = Envelope(given.message, given.signature)
    if reason := refusal(envelope, service.store.spec(name), service.store.scope(name)):
        service.metrics.count_message(name, Outcome.REFUSED)
        raise Refused(403, reason)
    service.check(service.voters, f"{name}/{envelope.message.voter}", "of this voter")
    receipt = await service.post(name, envelope)
    service.metrics.count_message(name, receipt.outcome)
    if receipt.outcome is Outcome.ACCEPTED:
        await service.boards.of(name).refresh()
    return settle(receipt, response)


@router.get(
    "/experiments/{name}/messages",
    response_model=MessagesAnswer,
    responses={304: {"description": "Nothing new."}},
)
async def read_messages(
    service: Served,
    board: Reading,
    name: Name,
    after: After = 0,
    limit: Limit = None,
    voter: Voted = None,
    if_none_match: Known = "",
) -> Response:
    """Everything on the board above a number, as of now, or the first ``limit`` of it.

    With a voter, only what that one said.
    """
    await board.refresh(after)
    if voter is None:
        items = board.items[after : None if limit is None else after + limit]
        rest = board.number - after - len(items)
    else:
        _, rows = await service.call(service.store.rows_of, name, voter)
        found = [as_item(*row) for row in rows if row[0] > after]
        items = found[:limit]
        rest = len(found) - len(items)
    end = b"false" if rest > 0 else b"true"
    return unless_known(
        b'{"number":%d,"messages":[%b],"end":%b}' % (board.number, b",".join(items), end),
        kind="application/json",
        tag=f"{board.tag}-{board.number}",
        known=if_none_match,
    )


@router.get(
    "/experiments/{name}/stream",
    status_code=200,
    response_class=EventStream,
    response_description="Events: 'message' with a posted message, once 'end' with the number up "
    "to which the backlog reached, then further messages; comments as heartbeats.",
)
async def stream_messages(
    service: Served,
    board: Reading,
    after: After = 0,
    last_event_id: Last = None,
) -> Response:
    """The board as server-sent events; a Last-Event-ID header goes before ``after``."""
    service.check_streams()
    start = after if last_event_id is None else last_event_id
    await board.refresh(start)
    return EventStream(board.follow(start), patience=service.settings.patience)


@router.get(
    "/experiments/{name}/tally",
    response_model=TallyAnswer,
    responses={304: {"description": "Nothing new."}},
)
async def read_tally(board: Reading, if_none_match: Known = "") -> Response:
    """What the messages come to, in a few hundred bytes; any cache may keep it for a second."""
    told, tag = await board.tally()
    headers = {"Cache-Control": _FRESH}
    return unless_known(told, kind="application/json", tag=tag, known=if_none_match, **headers)
