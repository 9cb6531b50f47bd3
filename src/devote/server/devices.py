"""The routes that need no token: what devices, pages and whoever checks the log ask for."""

import json
import re
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from devote.boards.admission import UNSIGNED, Receipt, refusal
from devote.boards.board import BOARD, Experiment, Outcome, page_of, page_tag
from devote.boards.identity import verify_enrolment, verify_join
from devote.boards.store import Row
from devote.protocol import ExperimentSpec
from devote.protocol.wire import VERSION
from devote.server.answers import FOR_A_DAY, FRESH, as_json, page_answer, unless_known
from devote.server.bodies import (
    ENROLMENT,
    ENVELOPE,
    JOINING,
    Query,
    envelope_of,
    name_of,
    read_body,
    whole,
)
from devote.server.limits import Refused, too_many
from devote.server.live import EventStream, as_item
from devote.server.service import Service

MOST = 10_000
"""Messages, or voters, in one answer at most."""

_KEY = re.compile("[0-9a-f]{64}")
_SOME_OF_A_KEY = re.compile("[0-9a-f]{0,64}")


async def read_health(service: Service, request: Request) -> Response:
    """Whether the server can write to its store: it does, at most once a second."""
    await service.check_health()
    return as_json({"version": VERSION, "status": "ok"})


async def list_experiments(service: Service, request: Request) -> Response:
    """All experiments that are not archived, by name."""
    listed = await service.call(service.listed)
    return as_json({"version": VERSION, "experiments": [item.to_dict() for item in listed]})


async def read_experiment(service: Service, request: Request) -> Response:
    """An experiment's specification and how to enrol; any cache may keep it: it never changes."""
    Query(request)
    experiment = await service.call(service.store.get, name_of(request))
    return as_json(unchanging(experiment), headers={"Cache-Control": FOR_A_DAY})


def unchanging(experiment: Experiment) -> dict[str, Any]:
    """What stays the same of an experiment."""
    values = experiment.to_dict()
    del values["enrolled"]
    return values


async def read_standing(service: Service, request: Request) -> Response:
    """Whether an experiment is open, closed or archived, and when it ends."""
    return as_json(vars(await service.call(service.store.standing, name_of(request))))


async def join(service: Service, request: Request) -> Response:
    """All that a device needs to take part, and its enrolment if what it pins is what there is.

    Its content type needs no preflight, so a page of an origin that was not named is refused here.
    """
    name = name_of(request)
    service.origins.check_simple(request.headers)
    board = await service.reading(name)
    kinds = ("text/plain", "application/json", "")
    given = await read_body(request, service.bodies, JOINING, service.settings.message_body, kinds)
    experiment = await service.call(service.store.get, name)
    receipt = _pinned(experiment.spec, given)
    if receipt is None:
        voter, invite = given["voter"], given.get("invite")
        is_signed = verify_join(
            voter=voter, experiment=name, invite=invite, signature=given["signature"]
        )
        receipt = await _enrol(service, name, voter, invite) if is_signed else UNSIGNED
    _, rows = await service.call(service.store.rows_of, name, given["voter"])
    told = board.told() or await board.tally()
    outcome = {"outcome": receipt.outcome, "reason": receipt.reason, "cause": receipt.cause}
    if receipt is MISMATCH:
        outcome["outcome"] = "mismatch"
    values = {**unchanging(experiment), **{k: v for k, v in outcome.items() if v}}
    head = json.dumps(values)[:-1].encode()
    body = b'%b,"tally":%b,"messages":[%b]}' % (head, told.body, _items(rows))
    service.read(name, len(body))
    return Response(body, media_type="application/json")


MISMATCH = Receipt(
    Outcome.REFUSED,
    reason="The experiment is not what the device accepts; nothing was enrolled.\n"
    "Ask its operator which privacy and fingerprint it has.",
)


def _pinned(spec: ExperimentSpec, given: dict[str, Any]) -> Receipt | None:
    """MISMATCH if a specification is another than pinned, or hides less of what a user did."""
    least, fingerprint = given.get("privacy"), given.get("fingerprint")
    proved = spec.scheme.sending.privacy
    is_weaker = least is not None and (proved is None or proved > least)
    is_other = fingerprint is not None and fingerprint != spec.fingerprint
    return MISMATCH if is_weaker or is_other else None


async def enrol(service: Service, request: Request) -> Response:
    """Enrol a voter, who has signed the request; again is harmless."""
    name = name_of(request)
    await service.existing(name)
    given = await read_body(request, service.bodies, ENROLMENT, service.settings.message_body)
    voter, scope = given["voter"], service.store.scope(name)
    if not verify_enrolment(voter=voter, scope=scope, signature=given["signature"]):
        return settled(UNSIGNED)
    return settled(await _enrol(service, name, voter, given.get("invite")))


async def _enrol(service: Service, name: str, voter: str, invite: str | None) -> Receipt:
    if seconds := service.writes.wait(name):
        raise too_many(seconds, "for this experiment")
    return await service.enrol(name, voter, invite)


def settled(receipt: Receipt, *, refused: int = 403) -> Response:
    """The outcome of a write and its status: 201 if accepted, 200 if it was there already."""
    if receipt.outcome is Outcome.REFUSED:
        raise Refused(refused, receipt.reason, cause=receipt.cause, is_outcome=refused == 403)
    status = 201 if receipt.outcome is Outcome.ACCEPTED else 200
    return as_json({"outcome": receipt.outcome.value}, status)


async def read_voters(service: Service, request: Request) -> Response:
    """The enrolled voters above a key, in order of their keys: whose messages may count."""
    name = name_of(request)
    query = Query(request, "after", "limit")
    after = query.text("after", _SOME_OF_A_KEY.fullmatch)
    limit = query.number("limit", MOST, 1, MOST)
    await service.reading(name)
    voters = await service.call(service.store.voters, name, after, limit)
    count = (await service.call(service.store.get, name)).enrolled
    service.read(name, 67 * len(voters))
    return as_json({"voters": voters, "end": len(voters) < limit, "enrolled": count})


async def post_message(service: Service, request: Request) -> Response:
    """Post a signed message; again is harmless."""
    name = name_of(request)
    await service.existing(name)
    store = service.store
    given = await read_body(request, service.bodies, ENVELOPE, service.settings.message_body)
    envelope = envelope_of(given)
    if reason := refusal(envelope, store.spec(name), store.scope(name)):
        service.metrics.count_message(name, Outcome.REFUSED)
        raise Refused(403, reason, is_outcome=True)
    if seconds := service.voters.wait(f"{name}/{envelope.message.voter}"):
        raise too_many(seconds, "of this voter")
    if seconds := service.writes.wait(name):
        raise too_many(seconds, "for this experiment")
    return settled(await service.post(name, envelope))


async def read_messages(service: Service, request: Request) -> Response:
    """What is on the board above a number, as of now: the first ``limit`` of it.

    With a voter, only what that one said.
    """
    name = name_of(request)
    query = Query(request, "after", "limit", "voter")
    after, limit = query.number("after", 0), query.number("limit", MOST, 1, MOST)
    voter = query.text("voter", _KEY.fullmatch)
    await service.reading(name)
    if not voter:
        last, rows = await service.call(service.store.rows, name, after, limit)
        is_end = after + len(rows) >= last
    else:
        last, said = await service.call(service.store.rows_of, name, voter)
        found = [row for row in said if row[0] > after]
        rows = found[:limit]
        is_end = len(rows) == len(found)
    end = b"true" if is_end else b"false"
    body = b'{"number":%d,"messages":[%b],"end":%b}' % (last, _items(rows), end)
    service.read(name, len(body))
    return unless_known(
        body,
        kind="application/json",
        tag=f"{last}-{page_tag(row[2] for row in rows)}",
        known=request.headers.get("if-none-match", ""),
    )


def _items(rows: list[Row]) -> bytes:
    return b",".join(as_item(*row) for row in rows)


async def read_page(service: Service, request: Request) -> Response:
    """A page of the log: of 1,000 messages, which never changes, or the last, which grows."""
    name = name_of(request)
    Query(request)
    board, page = request.path_params["board"], request.path_params["page"]
    if BOARD.fullmatch(board) is None:
        raise Refused(422, "board: must be 32 of 0-9 a-f.\nCompare the request with /openapi.json.")
    number = whole("page", page, 1, 1, 2**43)
    live = await service.reading(name)
    if board != service.store.scope(name).board:
        raise Refused(404, "The experiment is not on this board.\nAsk /experiments which it is on.")
    found = await live.page(number)
    if found is None:
        last = page_of(live.number + 1)
        raise Refused(404, f"Page {number} is beyond the end.\nThe last page is {last}.")
    headers = request.headers
    answer = page_answer(
        found,
        known=headers.get("if-none-match", ""),
        encodings=headers.get("accept-encoding", ""),
    )
    service.read(name, len(answer.body))
    return answer


async def read_stream(service: Service, request: Request) -> Response:
    """The board as server-sent events; a Last-Event-ID header goes before ``after``."""
    name = name_of(request)
    after = Query(request, "after").number("after", 0)
    start = whole("last-event-id", request.headers.get("last-event-id"), after)
    board = await service.reading(name)
    await board.refresh(start)
    service.check_streams()
    count = partial(service.read, name)
    return EventStream(board.follow(start), patience=service.settings.patience, count=count)


async def read_tally(service: Service, request: Request) -> Response:
    """What the messages come to, in a few hundred bytes; any cache may keep it for a second."""
    name = name_of(request)
    Query(request)
    board = await service.reading(name)
    told = board.told() or await board.tally()
    return unless_known(
        told.body,
        kind="application/json",
        tag=told.tag,
        known=request.headers.get("if-none-match", ""),
        **{"Cache-Control": FRESH},
    )
