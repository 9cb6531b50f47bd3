"""The operator's routes: open and close experiments, hand out invites, revoke, and look at all.

Each needs a token whose scope allows it, and is logged with that scope.
"""

from contextlib import suppress
from dataclasses import asdict
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from devote.boards.board import ENROLMENTS, READERS, STATES, Experiment, Outcome
from devote.boards.database import StoreError
from devote.boards.store import History, SqliteStore
from devote.protocol import ExperimentSpec, SpecError
from devote.protocol.messages import VERSION
from devote.server.devices import unchanging
from devote.server.http import (
    OBJECT,
    TEXT,
    Field,
    allow,
    check_admin_port,
    name_of,
    optional,
    read_body,
    whole_field,
)
from devote.server.limits import Refused
from devote.server.metrics import CONTENT_TYPE
from devote.server.service import Service
from devote.server.settings import Settings

_MOMENT = optional(whole_field(0, 2**33 - 1))
_TEXTS = Field(
    "must be a list of texts",
    lambda value: isinstance(value, list) and all(isinstance(each, str) for each in value),
    is_required=False,
)
EXPERIMENT = {
    "spec": OBJECT,
    "enrolment": Field("must be open or invite", lambda value: value in ENROLMENTS, False),
    "players": optional(whole_field(1)),
    "baseline": optional(TEXT),
    "log": Field("must be public or operator", lambda value: value in READERS, False),
    "ends": _MOMENT,
    "delete_after": _MOMENT,
}
WITHDRAWAL = {"arm": TEXT}
INVITES = {"count": whole_field(1), "expires": _MOMENT}
STANDING = {
    "state": Field("must be open, closed or archived", lambda v: v in (None, *STATES), False),
    "ends": _MOMENT,
    "delete_after": _MOMENT,
}
REVOCATION = {"voters": _TEXTS, "invites": _TEXTS}


async def create_experiment(service: Service, request: Request) -> Response:
    """Open an experiment; 200 if the very same was there already."""
    scope, settings = allow(service, request), service.settings
    given = await read_body(service, request, EXPERIMENT, settings.body)
    experiment = read_experiment(given, settings)
    moments = {name: given.get(name) for name in ("ends", "delete_after")}
    most = settings.experiments
    receipt = await service.call(service.store.create, experiment, most=most, **moments)
    if receipt.outcome is Outcome.REFUSED:
        raise Refused(409, receipt.reason)
    opened = await service.call(service.store.get, experiment.name)
    is_new, name = receipt.outcome is Outcome.ACCEPTED, opened.name
    if is_new:
        service.log.write("open", experiment=name, fingerprint=opened.fingerprint, scope=scope)
    values = {**unchanging(opened), "url": service.public_url(name)}
    return JSONResponse(values, 201 if is_new else 200)


def read_experiment(given: dict[str, Any], settings: Settings) -> Experiment:
    """The experiment that a request describes, within the limits."""
    arms, players = given["spec"].get("arms"), given.get("players")
    n_arms = arms if isinstance(arms, int) else len(arms) if isinstance(arms, list) else 0
    if n_arms > settings.arms:
        raise Refused(422, f"There may be at most {settings.arms} arms.\nSend fewer.")
    if players is not None and players > settings.enrolments:
        raise Refused(422, f"players must be at most {settings.enrolments}.\nUse fewer players.")
    try:
        spec = ExperimentSpec.from_dict(given["spec"])
        others = {"baseline": given.get("baseline") or "", "log": given.get("log", "public")}
        return Experiment(spec, given.get("enrolment", "invite"), players, **others)
    except SpecError:
        raise
    except (TypeError, ValueError, AttributeError, ArithmeticError):
        raise Refused(
            422, "The specification has a value of the wrong type.\nWrite it as in docs/fleet.md."
        ) from None


async def create_invites(service: Service, request: Request) -> Response:
    """Make single-use invites, which cannot be read again; for an inviter of the experiment too."""
    scope, name = allow(service, request, "inviter"), name_of(request)
    await service.existing(name)
    given = await read_body(service, request, INVITES, service.settings.message_body)
    count, expires, most = given["count"], given.get("expires"), service.settings.invites
    if count > most:
        raise Refused(422, f"count must be at most {most}.\nMake the rest with another call.")
    made = await service.call(service.store.invite, name, count, expires)
    service.log.write("invite", experiment=name, count=count, scope=scope)
    return JSONResponse({"invites": made, "url": service.public_url(name)}, 201)


async def revoke_all_invites(service: Service, request: Request) -> Response:
    """Let nobody enrol by any invite made so far."""
    scope, name = allow(service, request), name_of(request)
    done = asdict(await service.call(service.store.revoke_all_invites, name))
    service.log.write("revoke", experiment=name, **done, scope=scope)
    return JSONResponse(done)


async def revoke(service: Service, request: Request) -> Response:
    """Take nothing more from these devices, and let nobody enrol by these invites."""
    scope, name = allow(service, request), name_of(request)
    given = await read_body(service, request, REVOCATION, service.settings.body)
    done = asdict(await service.call(partial(service.store.revoke, name, **given)))
    service.log.write("revoke", experiment=name, **done, scope=scope)
    return JSONResponse(done, 201)


async def change_standing(service: Service, request: Request) -> Response:
    """Close, reopen or archive an experiment, or set its end."""
    scope, name = allow(service, request), name_of(request)
    given = await read_body(service, request, STANDING, service.settings.message_body)
    standing = await service.call(service.store.change, name, **given)
    moments = {"ends": standing.ends, "delete_after": standing.delete_after}
    service.log.write(standing.state, experiment=name, **moments, scope=scope)
    return JSONResponse(vars(standing), 201)


async def withdraw(service: Service, request: Request) -> Response:
    """Withdraw an option: it is entered in the log, and no device is asked about it any more."""
    scope, name = allow(service, request), name_of(request)
    given = await read_body(service, request, WITHDRAWAL, service.settings.message_body)
    experiment, arm = await service.call(service.store.get, name), given["arm"]
    names = experiment.spec.arm_names
    if arm not in names:
        raise Refused(422, f"There is no such option.\nThe options are: {', '.join(names)}.")
    receipt = await service.call(service.store.withdraw, name, names.index(arm))
    if receipt.outcome is Outcome.REFUSED:
        raise Refused(409, receipt.reason)
    service.board(name).changed()
    service.log.write("withdraw", experiment=name, number=receipt.number, scope=scope)
    case = await service.call(
        service.store.look, name, lambda history: history.tally.case(experiment.players)
    )
    bounds = [asdict(bound) for bound in experiment.spec.scheme.guarantees(case).bounds]
    return JSONResponse({"number": receipt.number, "bounds": bounds}, 201)


async def delete_experiment(service: Service, request: Request) -> Response:
    """Delete an experiment with all its messages; its name stays taken."""
    scope, name = allow(service, request), name_of(request)
    await service.call(service.store.delete, name)
    service.forget(name)
    service.log.write("delete", experiment=name, scope=scope)
    return JSONResponse({"deleted": name})


async def read_overview(service: Service, request: Request) -> Response:
    """All experiments with their messages, answers, invites and states; for a reader too."""
    allow(service, request, "reader")
    store = service.store
    rows = []
    for experiment in await service.call(store.experiments):
        row = await service.call(_overview, store, experiment)
        invites, revoked = await service.call(store.counts, experiment.name)
        del row["senders"]
        rows.append({**row, "revoked": revoked, "invites": asdict(invites)})
    return JSONResponse({"version": VERSION, "experiments": rows})


async def read_metrics(service: Service, request: Request) -> Response:
    """Counters for Prometheus."""
    check_admin_port(service, request)
    store, rows = service.store, []
    for experiment in await service.call(store.experiments):
        with suppress(StoreError):  # one that cannot be read may not take all others with it
            rows.append(await service.call(_overview, store, experiment))
    connections = 0 if service.connections is None else len(service.connections)
    text = service.metrics.render(rows, streams=service.listeners, connections=connections)
    return Response(text, headers={"Content-Type": CONTENT_TYPE})


def _overview(store: SqliteStore, experiment: Experiment) -> dict[str, Any]:
    """How an experiment stands; ``senders`` is how many voters have sent anything."""

    def draw(history: History) -> dict[str, Any]:
        names = experiment.spec.arm_names
        return {
            "messages": history.number,
            "status": history.tally.status(experiment.players),
            "answer": [names[arm] for arm in history.tally.answer],
            "withdrawn": [names[arm] for arm in history.tally.withdrawn],
            "mismatch": history.tally.mismatch is not None,
            "senders": history.voters,
        }

    standing = vars(store.standing(experiment.name))
    seen = store.look(experiment.name, draw)
    return {**experiment.facts, **standing, "enrolled": experiment.enrolled, **seen}
