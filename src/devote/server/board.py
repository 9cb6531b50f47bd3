"""Routes of one experiment's board: enrol, post, and read what was posted."""

from typing import Annotated

from fastapi import APIRouter, Header, Query
from starlette.responses import Response

from devote.boards.admission import refusal
from devote.boards.board import Envelope, Outcome
from devote.server import bodies
from devote.server.answers import Refused, too_many, unless_known
from devote.server.live import EventStream, as_item
from devote.server.models import (
    VOTED,
    EnrolmentBody,
    EnvelopeBody,
    MessagesAnswer,
    OutcomeAnswer,
    TallyAnswer,
    errors,
)
from devote.server.service import Name, Reading, Served, settle, writing

router = APIRouter(tags=["board"], responses=errors(404, 409, 422, 429, 503))

After = Annotated[int, Query(ge=0, le=2**53, description="Only messages above this number.")]
Voted = Annotated[str | None, Query(pattern=VOTED, description="Only messages of this voter.")]
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


@bodies.post(router, "/experiments/{name}/messages", EnvelopeBody, writing, answers=_ANSWERS)
async def post_message(
    service: Served, name: Name, given: Posting, response: Response
) -> OutcomeAnswer:
    """Post a signed message; again is harmless."""
    envelope = Envelope(given.message, given.signature)
    if reason := refusal(envelope, service.store.spec(name)):
        service.metrics.count_message(name, Outcome.REFUSED)
        raise Refused(403, reason)
    service.check(service.voters, f"{name}/{envelope.message.voter}", "of this voter")
    receipt = await service.call(service.store.post, name, envelope, most=service.settings.messages)
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
    voter: Voted = None,
    if_none_match: Annotated[str, Header()] = "",
) -> Response:
    """Everything on the board above a number, as of now; with a voter, only what that one said."""
    await board.refresh()
    if voter is None:
        items = b",".join(board.items[after:])
    else:
        _, rows = await service.call(service.store.rows_of, name, voter)
        items = b",".join(as_item(*row) for row in rows if row[0] > after)
    return unless_known(
        b'{"number":%d,"messages":[%b],"end":true}' % (board.number, items),
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
    last_event_id: Annotated[int | None, Header(ge=0, le=2**53)] = None,
) -> Response:
    """The board as server-sent events; a Last-Event-ID header goes before ``after``."""
    if service.boards.listeners >= service.settings.streams:
        raise too_many(service.settings.heartbeat, "that stay open")
    await board.refresh()
    start = after if last_event_id is None else last_event_id
    return EventStream(board, after=start, patience=service.settings.patience)


@router.get(
    "/experiments/{name}/tally",
    response_model=TallyAnswer,
    responses={304: {"description": "Nothing new."}},
)
async def read_tally(board: Reading, if_none_match: Annotated[str, Header()] = "") -> Response:
    """What the messages come to, in a few hundred bytes; any cache may keep it for a second."""
    told, tag = await board.tally()
    headers = {"Cache-Control": _FRESH}
    return unless_known(told, kind="application/json", tag=tag, known=if_none_match, **headers)
