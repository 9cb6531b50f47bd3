"""Routes of one experiment's board: enrol, post, and read what was posted."""

from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query
from starlette.responses import Response

from devote.boards.admission import Receipt, refusal
from devote.boards.board import Envelope, Outcome
from devote.server.answers import answer, error, too_many, unless_known
from devote.server.bodies import body
from devote.server.models import (
    BODY_ERRORS,
    EnrolmentBody,
    EnvelopeBody,
    MessagesAnswer,
    OutcomeAnswer,
    request_body,
    responses,
)
from devote.server.service import Name, Reading, Served, writing
from devote.server.stream import EventStream

router = APIRouter(tags=["board"])

After = Annotated[int, Query(ge=0, le=2**53, description="Only messages above this number.")]
_WRITTEN = responses(
    {201: ("Accepted.", OutcomeAnswer), 200: ("It was there already.", OutcomeAnswer)},
    403,
    404,
    429,
    *BODY_ERRORS,
)


@router.post(
    "/experiments/{name}/enrolments",
    status_code=201,
    dependencies=[Depends(writing)],
    openapi_extra=request_body(EnrolmentBody),
    responses=_WRITTEN,
)
async def enrol(
    service: Served, name: Name, given: Annotated[EnrolmentBody, body(EnrolmentBody)]
) -> Response:
    """Enrol a voter, who has signed the request; again is harmless."""
    receipt = await service.call(
        service.store.enrol, name, **given.model_dump(), most=service.settings.enrolments
    )
    return _answer(receipt)


@router.post(
    "/experiments/{name}/messages",
    status_code=201,
    dependencies=[Depends(writing)],
    openapi_extra=request_body(EnvelopeBody),
    responses=_WRITTEN,
)
async def post_message(
    service: Served, name: Name, given: Annotated[EnvelopeBody, body(EnvelopeBody)]
) -> Response:
    """Post a signed message; again is harmless."""
    envelope = Envelope(given.message, given.signature)
    reason = refusal(envelope, service.store.spec(name))
    if reason is not None:
        receipt = Receipt(Outcome.REFUSED, reason=reason)
    else:
        seconds = service.voters.wait(f"{name}/{envelope.message.voter}")
        if seconds:
            raise too_many(seconds, "of this voter")
        receipt = await service.call(
            service.store.post, name, envelope, most=service.settings.messages
        )
    service.metrics.count_message(name, receipt.outcome)
    if receipt.outcome is Outcome.ACCEPTED:
        await service.boards.of(name).refresh()
    return _answer(receipt)


@router.get(
    "/experiments/{name}/messages",
    responses={
        **responses({200: ("All messages above the number.", MessagesAnswer)}, 404, 422, 429),
        304: {"description": "Nothing new."},
    },
)
async def read_messages(
    board: Reading, after: After = 0, if_none_match: Annotated[str, Header()] = ""
) -> Response:
    """Everything on the board above a number, as of now."""
    await board.refresh()
    items = ",".join(board.items[after:])
    return unless_known(
        f'{{"number":{board.number},"messages":[{items}],"end":true}}'.encode(),
        kind="application/json",
        tag=f"{board.tag}-{board.number}",
        known=if_none_match,
    )


@router.get(
    "/experiments/{name}/stream",
    responses={
        **responses({}, 404, 422, 429),
        200: {
            "description": "Events: 'message' with a posted message, once 'end' with the number "
            "up to which the backlog reached, then further messages; comments as heartbeats.",
            "content": {"text/event-stream": {"schema": {"type": "string"}}},
        },
    },
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


def _answer(receipt: Receipt) -> Response:
    if receipt.outcome is Outcome.REFUSED:
        return error(403, receipt.reason, outcome=receipt.outcome)
    status = 201 if receipt.outcome is Outcome.ACCEPTED else 200
    return answer(status, {"outcome": receipt.outcome})
