"""The routes that need no token: what devices, pages and whoever checks the log ask for."""

import json
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from devote.boards.admission import UNSIGNED, Receipt, refusal
from devote.boards.board import BOARD, Envelope, Experiment, Outcome, page_tag
from devote.boards.identity import verify_enrolment, verify_join
from devote.protocol.messages import MAX_ARMS, VERSION, from_dict
from devote.server import http
from devote.server.http import COMPARE, OBJECT, TEXT, Field, optional, whole
from devote.server.limits import Refused
from devote.server.service import Document, Service, as_item

MOST = 10_000
"""Messages, or voters, in one answer at most."""

ENVELOPE = {"message": OBJECT, "signature": TEXT}
ENROLMENT = {"voter": TEXT, "signature": TEXT, "invite": optional(TEXT)}
JOINING = {
    "v": Field("must be 2", lambda value: type(value) is int and value == VERSION),
    **ENROLMENT,
    "privacy": optional(
        Field(
            "must be a number above 0",
            lambda value: type(value) in (int, float) and 0 < value < 2**53,
        )
    ),
    "fingerprint": optional(TEXT),
}

_KEY = re.compile("[0-9a-f]{64}")
_SOME_OF_A_KEY = re.compile("[0-9a-f]{0,64}")


async def read_health(service: Service, request: Request) -> Response:
    """Whether the server can write to its store: it does, at most once a second.

    ``mismatches`` are experiments with answers that are missing for a reason.
    """
    await service.check_health()
    mismatches = await service.call(service.store.mismatches)
    return JSONResponse({"version": VERSION, "status": "ok", "mismatches": mismatches})


async def list_experiments(service: Service, request: Request) -> Response:
    """All experiments that are not archived, by name."""
    listed = [experiment.to_dict() for experiment in await service.listed()]
    return JSONResponse({"version": VERSION, "experiments": listed})


async def read_experiment(service: Service, request: Request) -> Response:
    """An experiment's specification and how to enrol; any cache may keep it: it never changes."""
    http.query_of(request)
    experiment = await service.call(service.store.get, http.name_of(request))
    return JSONResponse(unchanging(experiment), headers=http.FOR_A_DAY)


def unchanging(experiment: Experiment) -> dict[str, Any]:
    """What stays the same of an experiment."""
    values = experiment.to_dict()
    del values["enrolled"]
    return values


async def read_standing(service: Service, request: Request) -> Response:
    """Whether an experiment is open, closed or archived, and when it ends."""
    return JSONResponse(vars(await service.call(service.store.standing, http.name_of(request))))


async def join(service: Service, request: Request) -> Response:
    """All that a device needs to take part, and its enrolment if what it pins is what there is.

    Its content type needs no preflight, so a page of an origin that was not named is refused here.
    """
    name, store = http.name_of(request), service.store
    http.check_page(service, request.headers)
    board = await service.reading(name)
    kinds = ("text/plain", "application/json", "")
    given = await http.read_body(service, request, JOINING, service.settings.message_body, kinds)
    voter, invite = given["voter"], given.get("invite")
    experiment = await service.call(store.get, name)
    if not experiment.fits(given.get("privacy"), given.get("fingerprint")):
        receipt = MISMATCH
    elif verify_join(voter=voter, experiment=name, invite=invite, signature=given["signature"]):
        receipt = await service.enrol(name, voter, invite)
    else:
        receipt = UNSIGNED
    is_known = receipt is not MISMATCH and receipt is not UNSIGNED
    rows = (await service.call(store.rows_of, name, voter))[1] if is_known else []
    outcome = "mismatch" if receipt is MISMATCH else receipt.outcome
    result = {"outcome": outcome, "reason": receipt.reason, "cause": receipt.cause}
    values = {**unchanging(experiment), **{k: v for k, v in result.items() if v}}
    tally, messages = (await board.tally.get()).body, ",".join(map(as_item, rows)).encode()
    body = b'%b,"tally":%b,"messages":[%b]}' % (json.dumps(values)[:-1].encode(), tally, messages)
    service.charge_read(name, len(body))
    return Response(body, media_type="application/json")


MISMATCH = Receipt(
    Outcome.REFUSED,
    reason="The experiment is not what the device accepts; nothing was enrolled.\n"
    "Ask its operator which privacy and fingerprint it has.",
)


async def enrol(service: Service, request: Request) -> Response:
    """Enrol a voter, who has signed the request; again is harmless."""
    name = http.name_of(request)
    await service.existing(name)
    given = await http.read_body(service, request, ENROLMENT, service.settings.message_body)
    voter, scope = given["voter"], service.store.scope(name)
    if not verify_enrolment(voter=voter, scope=scope, signature=given["signature"]):
        return response_to(UNSIGNED)
    return response_to(await service.enrol(name, voter, given.get("invite")))


def response_to(receipt: Receipt) -> Response:
    """The answer to a write: 201 if it was accepted, 200 if it was there already, else 403."""
    if receipt.outcome is Outcome.REFUSED:
        raise Refused(403, receipt.reason, outcome="refused", cause=receipt.cause)
    status = 201 if receipt.outcome is Outcome.ACCEPTED else 200
    return JSONResponse({"outcome": receipt.outcome}, status)


async def read_voters(service: Service, request: Request) -> Response:
    """The enrolled voters above a key, in order of their keys: whose messages may count."""
    name, query = http.name_of(request), http.query_of(request, "after", "limit")
    after, limit = query.get("after", ""), whole("limit", query.get("limit"), MOST, 1, MOST)
    if not _SOME_OF_A_KEY.fullmatch(after):
        raise Refused(422, f"after: must be digits of a key.\n{COMPARE}")
    await service.reading(name)
    await http.check_log(service, request, {})
    voters = await service.call(service.store.voters, name, after, limit)
    count = (await service.call(service.store.get, name)).enrolled
    service.charge_read(name, 67 * len(voters))
    return JSONResponse({"voters": voters, "end": len(voters) < limit, "enrolled": count})


async def post_message(service: Service, request: Request) -> Response:
    """Post a signed message; again is harmless."""
    name, store = http.name_of(request), service.store
    await service.existing(name)
    given = await http.read_body(service, request, ENVELOPE, service.settings.message_body)
    envelope = Envelope(from_dict(given["message"], MAX_ARMS), given["signature"])
    if reason := refusal(envelope, store.spec(name), store.scope(name)):
        service.metrics.messages.labels(name, Outcome.REFUSED).inc()
        raise Refused(403, reason, outcome="refused")
    service.voters.check(f"{name}/{envelope.message.voter}", "of this voter")
    return response_to(await service.post(name, envelope))


async def read_messages(service: Service, request: Request) -> Response:
    """What is on the board above a number, as of now: the first ``limit`` of it.

    With a voter, only what that one sent: whoever knows a key may read it, also of an operator's
    log, because a device must. Keys are in that log and its list of voters only.
    """
    name, query = http.name_of(request), http.query_of(request, "after", "limit", "voter")
    after = whole("after", query.get("after"), 0)
    limit = whole("limit", query.get("limit"), MOST, 1, MOST)
    voter = query.get("voter")
    await service.reading(name)
    if voter is None:
        headers = await http.check_log(service, request, http.NO_CACHE)
        last, rows = await service.call(service.store.rows, name, after, limit)
        is_end = after + len(rows) >= last
    elif _KEY.fullmatch(voter):
        headers = http.NO_STORE
        last, sent = await service.call(service.store.rows_of, name, voter)
        found = [row for row in sent if row[0] > after]
        rows, is_end = found[:limit], len(found) <= limit
    else:
        raise Refused(422, f"voter: must be a key.\n{COMPARE}")
    listed = ",".join(map(as_item, rows))
    body = f'{{"number":{last},"messages":[{listed}],"end":{json.dumps(is_end)}}}'.encode()
    service.charge_read(name, len(body))
    document = Document(body, f"{last}-{page_tag(row[2] for row in rows)}")
    return http.send(request, document, headers)


async def read_page(service: Service, request: Request) -> Response:
    """A page of the log: of 1,000 messages, which never changes, or the last, which grows."""
    name = http.name_of(request)
    http.query_of(request)
    board, number = request.path_params["board"], whole("page", request.path_params["page"], 1, 1)
    if BOARD.fullmatch(board) is None:
        raise Refused(422, f"board: must be 32 of 0-9 a-f.\n{COMPARE}")
    live = await service.reading(name)
    if board != service.store.scope(name).board:
        raise Refused(404, "The experiment is not on this board.\nAsk /experiments which it is on.")
    headers = await http.check_log(service, request, {})
    page = await service.call(live.read_page, number)
    if isinstance(page, int):
        raise Refused(404, f"Page {number} is beyond the end.\nThe last page is {page}.")
    public = http.FOR_GOOD if page.is_final else http.FRESH
    answer = http.send(request, page, headers or public)
    service.charge_read(name, len(answer.body))
    return answer


async def read_tally(service: Service, request: Request) -> Response:
    """What the messages come to, in a few hundred bytes; any cache may keep it for a second."""
    name = http.name_of(request)
    http.query_of(request)
    board = await service.reading(name)
    return http.send(request, await board.tally.get(), http.FRESH)


async def read_stream(service: Service, request: Request) -> Response:
    """The board as server-sent events; a Last-Event-ID header goes before ``after``."""
    name = http.name_of(request)
    after = whole("after", http.query_of(request, "after").get("after"), 0)
    start = whole("last-event-id", request.headers.get("last-event-id"), after)
    board = await service.reading(name)
    await http.check_log(service, request, {})
    await board.catch_up(start)
    return await event_stream(service, name, board.follow(start))


async def event_stream(service: Service, name: str, events: AsyncGenerator[bytes]) -> Response:
    """Server-sent events of an experiment, until either side leaves; refused without room."""
    service.check_streams()
    first = await anext(events, b"")  # from here on it is counted among the streams

    async def charged() -> AsyncGenerator[bytes]:
        async with aclosing(events):
            yield first
            async for event in events:
                service.charge_read(name, len(event))
                yield event

    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(charged(), headers=headers, media_type="text/event-stream")
