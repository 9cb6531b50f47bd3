"""Routes of one experiment's board: enrol, post, and read what was posted."""

from typing import Annotated

from fastapi import APIRouter, Header, Path, Query
from starlette.responses import Response

from devote.boards.admission import refusal
from devote.boards.board import Envelope, Outcome
from devote.boards.pages import page_of, page_tag
from devote.server import bodies
from devote.server.answers import FRESH, Refused, page_answer, unless_known
from devote.server.live import EventStream
from devote.server.models import (
    VOTED,
    EnrolmentBody,
    EnvelopeBody,
    MessagesAnswer,
    OutcomeAnswer,
    PageAnswer,
    TallyAnswer,
    VotersAnswer,
    errors,
)
from devote.server.pages import as_item
from devote.server.service import Name, Reading, Served, settle, writing

router = APIRouter(tags=["board"], responses=errors(404, 409, 410, 422, 429, 503))

After = Annotated[int, Query(ge=0, le=2**53, description="Only messages above this number.")]
AfterVoter = Annotated[
    str, Query(pattern="^[0-9a-f]{0,64}$", description="Only voters above this key.")
]
MOST = 10_000
Limit = Annotated[int, Query(ge=1, le=MOST, description="At most so many.")]
Voted = Annotated[str | None, Query(pattern=VOTED, description="Only messages of this voter.")]
Known = Annotated[str, Header(description="Names of answers that the client has.")]
Last = Annotated[
    int | None, Header(ge=0, le=2**53, description="The number of the last message received.")
]
Enrolling = Annotated[EnrolmentBody, bodies.body(EnrolmentBody)]
Posting = Annotated[EnvelopeBody, bodies.body(EnvelopeBody)]
PageNumber = Annotated[int, Path(ge=1, le=2**43, description="The page, from 1 on.")]
BoardName = Annotated[str, Path(pattern="^[0-9a-f]{32}$", description="The board.")]
Encodings = Annotated[str, Header(alias="Accept-Encoding", description="gzip, or none.")]
_ANSWERS = {200: {"model": OutcomeAnswer}, **errors(403)}


@bodies.post(router, "/experiments/{name}/enrolments", EnrolmentBody, writing, answers=_ANSWERS)
async def enrol(service: Served, name: Name, given: Enrolling, response: Response) -> OutcomeAnswer:
    """Enrol a voter, who has signed the request; again is harmless."""
    receipt = await service.enrol(name, given.voter, given.signature, given.invite)
    return settle(receipt, response)


@router.get("/experiments/{name}/enrolments")
async def read_voters(
    service: Served, _: Reading, name: Name, after: AfterVoter = "", limit: Limit = MOST
) -> VotersAnswer:
    """The enrolled voters above a key, in order of their keys: whose messages may count."""
    voters = await service.call(service.store.voters, name, after, limit)
    count = (await service.call(service.store.get, name)).enrolled
    return VotersAnswer(voters=voters, end=len(voters) < limit, enrolled=count)


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
    return settle(receipt, response)


@router.get(
    "/experiments/{name}/log/{board}/{page}",
    response_model=PageAnswer,
    responses={304: {"description": "Nothing new."}},
)
async def read_page(
    service: Served,
    live: Reading,
    name: Name,
    board: BoardName,
    page: PageNumber,
    if_none_match: Known = "",
    accept_encoding: Encodings = "",
) -> Response:
    """A page of the log: of 1,000 messages, which never changes, or the last, which grows."""
    if board != service.store.scope(name).board:
        raise Refused(404, "The experiment is not on this board.\nAsk /experiments which it is on.")
    found = await live.page(page)
    if found is None:
        last = page_of(live.number + 1)
        raise Refused(404, f"Page {page} is beyond the end.\nThe last page is {last}.")
    return page_answer(found, known=if_none_match, encodings=accept_encoding)


@router.get(
    "/experiments/{name}/messages",
    response_model=MessagesAnswer,
    responses={304: {"description": "Nothing new."}},
)
async def read_messages(
    service: Served,
    _: Reading,
    name: Name,
    after: After = 0,
    limit: Limit = MOST,
    voter: Voted = None,
    if_none_match: Known = "",
) -> Response:
    """What is on the board above a number, as of now: the first ``limit`` of it.

    With a voter, only what that one said.
    """
    if voter is None:
        last, rows = await service.call(service.store.rows, name, after, limit)
        is_end = after + len(rows) >= last
    else:
        last, said = await service.call(service.store.rows_of, name, voter)
        found = [row for row in said if row[0] > after]
        rows = found[:limit]
        is_end = len(rows) == len(found)
    items, end = b",".join(as_item(*row) for row in rows), b"true" if is_end else b"false"
    return unless_known(
        b'{"number":%d,"messages":[%b],"end":%b}' % (last, items, end),
        kind="application/json",
        tag=f"{last}-{page_tag(row[2] for row in rows)}",
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
    start = after if last_event_id is None else last_event_id
    await board.refresh(start)
    service.check_streams()
    return EventStream(board.follow(start), patience=service.settings.patience)


@router.get(
    "/experiments/{name}/tally",
    response_model=TallyAnswer,
    responses={304: {"description": "Nothing new."}},
)
async def read_tally(board: Reading, if_none_match: Known = "") -> Response:
    """What the messages come to, in a few hundred bytes; any cache may keep it for a second."""
    told = board.told() or await board.tally()
    headers = {"ETag": f'"{told.tag}"', "Cache-Control": FRESH}
    return unless_known(
        told.body, kind="application/json", tag=told.tag, known=if_none_match, **headers
    )
