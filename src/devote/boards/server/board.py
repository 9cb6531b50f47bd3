"""Routes of one experiment's board: take a seat, post, and read what was posted."""

from typing import Annotated

from fastapi import APIRouter, Header, Query, Request
from starlette.responses import Response

from devote.boards.admission import Receipt, refusal
from devote.boards.board import Envelope, Outcome
from devote.boards.server import openapi
from devote.boards.server.service import Name, Served
from devote.boards.server.stream import EventStream
from devote.boards.server.wire import Refused, answer, error, too_many
from devote.protocol import ProtocolError
from devote.protocol.messages import MAX_ARMS, from_dict

router = APIRouter(tags=["board"])

After = Annotated[int, Query(ge=0, le=2**53, description="Only messages above this number.")]
_POSTED = (
    {201: ("Accepted.", openapi.OUTCOME), 200: ("It was there already.", openapi.OUTCOME)},
    403,
    404,
    429,
    *openapi.BODY_ERRORS,
)


@router.post(
    "/experiments/{name}/seats",
    status_code=201,
    openapi_extra=openapi.body(openapi.CLAIM),
    responses=openapi.responses(*_POSTED),
)
async def claim_seat(service: Served, name: Name, request: Request) -> Response:
    """Claim a seat for a voter, who has signed the claim; again is harmless."""
    await service.writing(name)
    fields = await service.read(
        request,
        {"voter", "signature"},
        optional={"invite"},
        most=service.settings.message_body,
    )
    for field in fields:
        if not isinstance(fields[field], str):
            raise Refused(422, f"{field} must be a text.\nMend it.")
    receipt = await service.call(service.store.claim, name, **fields, most=service.settings.seats)
    return _answer(receipt)


@router.post(
    "/experiments/{name}/messages",
    status_code=201,
    openapi_extra=openapi.body(openapi.ENVELOPE),
    responses=openapi.responses(*_POSTED),
)
async def post_message(service: Served, name: Name, request: Request) -> Response:
    """Post a signed message; again is harmless."""
    await service.writing(name)
    fields = await service.read(
        request, {"message", "signature"}, optional=set(), most=service.settings.message_body
    )
    envelope = _envelope(fields["message"], fields["signature"])
    reason = refusal(envelope, service.store.spec(name))
    if reason is not None:
        receipt = Receipt(Outcome.DENIED, reason=reason)
    else:
        seconds = service.voters.wait(f"{name}/{envelope.message.voter}")
        if seconds:
            raise too_many(seconds, "of this voter")
        receipt = await service.call(
            service.store.post, name, envelope, most=service.settings.messages
        )
    service.metrics.messages[name, receipt.outcome] += 1
    if receipt.outcome is Outcome.ACCEPTED:
        await service.feeds.of(name).refresh()
    return _answer(receipt)


@router.get(
    "/experiments/{name}/messages",
    responses={
        **openapi.responses(
            {200: ("All messages above the number.", openapi.SNAPSHOT)}, 404, 422, 429
        ),
        304: {"description": "Nothing new."},
    },
)
async def read_messages(
    service: Served,
    name: Name,
    after: After = 0,
    if_none_match: Annotated[str, Header()] = "",
) -> Response:
    """Everything on the board above a number, as of now."""
    feed = await service.reading(name)
    await feed.refresh()
    tag = f'"{feed.tag}-{feed.number}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if tag in (known.strip().removeprefix("W/") for known in if_none_match.split(",")):
        return Response(status_code=304, headers=headers)
    body = b'{"number":%d,"messages":[%b],"end":true}' % (
        feed.number,
        b",".join(feed.items[after:]),
    )
    return Response(body, headers=headers, media_type="application/json")


@router.get(
    "/experiments/{name}/stream",
    responses={
        **openapi.responses({}, 404, 422, 429),
        200: {
            "description": "Events: 'message' with a posted message, once 'end' with the number "
            "up to which the backlog reached, then further messages; comments as heartbeats.",
            "content": {"text/event-stream": {"schema": {"type": "string"}}},
        },
    },
)
async def stream_messages(
    service: Served,
    name: Name,
    after: After = 0,
    last_event_id: Annotated[int | None, Header(ge=0, le=2**53)] = None,
) -> Response:
    """The board as server-sent events; a Last-Event-ID header goes before ``after``."""
    feed = await service.reading(name)
    if service.feeds.listeners >= service.settings.streams:
        raise too_many(service.settings.heartbeat, "that stay open")
    await feed.refresh()
    start = after if last_event_id is None else last_event_id
    return EventStream(feed, after=start, patience=service.settings.patience)


def _envelope(message: object, signature: object) -> Envelope:
    if not isinstance(signature, str):
        raise Refused(422, "signature must be a text.\nSend 128 hexadecimal digits.")
    try:
        return Envelope(from_dict(message, MAX_ARMS), signature)
    except ProtocolError as wrong:
        raise Refused(422, str(wrong)) from None


def _answer(receipt: Receipt) -> Response:
    if receipt.outcome is Outcome.DENIED:
        return error(403, receipt.reason, outcome="denied")
    status = 201 if receipt.outcome is Outcome.ACCEPTED else 200
    return answer(status, {"outcome": receipt.outcome})
