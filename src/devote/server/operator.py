"""The operator's routes: open and close experiments, hand out invites, revoke, and look at all.

Each needs a token whose scope allows it, and is logged with that scope.
"""

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from functools import partial
from typing import Any, TypeAlias

from starlette.requests import Request
from starlette.responses import Response

from devote.boards.board import BoardRefused, Experiment, UnknownExperiment
from devote.boards.database import StoreError
from devote.boards.store import History, SqliteStore
from devote.protocol import ExperimentSpec, SpecError
from devote.protocol.wire import VERSION
from devote.server.answers import as_json
from devote.server.bodies import EXPERIMENT, INVITES, REVOCATION, STANDING, name_of, read_body
from devote.server.devices import settled, unchanging
from devote.server.limits import Refused
from devote.server.metrics import CONTENT_TYPE, Seen
from devote.server.service import Service
from devote.server.settings import Settings

Handler: TypeAlias = Callable[[Service, Request], Awaitable[Response]]


def for_bearers_of(*scopes: str) -> Callable[[Handler], Handler]:
    """Let only those call a route whose token has one of these scopes; an operator may always."""

    def guard(handler: Handler) -> Handler:
        async def guarded(service: Service, request: Request) -> Response:
            check_admin_port(service, request)
            request.scope["devote.scope"] = _scope_of(service, request, scopes)
            return await handler(service, request)

        return guarded

    return guard


def check_admin_port(service: Service, request: Request) -> None:
    """Refuse what is not asked at the operator's own port, if there is one."""
    port = (request.scope.get("server") or (None, None))[1]
    if service.admin_port is not None and port != service.admin_port:
        raise Refused(404, "Not Found: no such route here.\nThe routes are in /openapi.json.")


def _scope_of(service: Service, request: Request, scopes: tuple[str, ...]) -> str:
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    grant = service.tokens.grant_of(token.strip()) if kind.lower() == "bearer" else None
    experiment = request.path_params.get("name", "")
    if grant is not None and grant.allows(scopes, experiment):
        return grant.scope
    if not service.refused_tokens.wait("all"):
        service.log.write("token_refused", scope=None if grant is None else grant.scope)
    if grant is None:
        raise Refused(
            401,
            "This call needs the operator's token.\nSend it as 'Authorization: Bearer TOKEN'.",
            WWW_Authenticate="Bearer",
        )
    raise Refused(
        403,
        f"This token is for {grant}, which does not allow this call.\nUse the operator's token.",
    )


def _log(service: Service, request: Request, event: str, **facts: Any) -> None:
    service.log.write(event, **facts, scope=request.scope["devote.scope"])


@for_bearers_of("operator")
async def create_experiment(service: Service, request: Request) -> Response:
    """Open an experiment; 200 if the very same was there already."""
    given = await read_body(request, service.bodies, EXPERIMENT, service.settings.body)
    experiment = _experiment(given, service.settings)
    most = service.settings.experiments
    receipt = await service.call(service.store.create, experiment, most=most)
    answer = settled(receipt, refused=409)
    opened = await service.call(service.store.get, experiment.name)
    if answer.status_code == 201:
        _log(service, request, "open", experiment=opened.name, fingerprint=opened.fingerprint)
    url = service.public_url(f"/experiments/{opened.name}")
    return as_json({**unchanging(opened), "url": url}, answer.status_code)


def _experiment(given: dict[str, Any], settings: Settings) -> Experiment:
    arms, players = given["spec"].get("arms"), given.get("players")
    n_arms = arms if isinstance(arms, int) else len(arms) if isinstance(arms, list) else 0
    if n_arms > settings.arms:
        raise Refused(422, f"There may be at most {settings.arms} arms.\nSend fewer.")
    if players is not None and players > settings.enrolments:
        raise Refused(422, f"players must be at most {settings.enrolments}.\nUse fewer players.")
    try:
        enrolment = given.get("enrolment", "invite")
        return Experiment(ExperimentSpec.from_dict(given["spec"]), enrolment, players)
    except SpecError as wrong:
        raise Refused(422, str(wrong)) from None
    except (TypeError, ValueError, AttributeError, ArithmeticError):
        raise Refused(
            422, "The specification has a value of the wrong type.\nWrite it as in docs/fleet.md."
        ) from None


@for_bearers_of("inviter")
async def create_invites(service: Service, request: Request) -> Response:
    """Make single-use invites, which cannot be read again; for an inviter of the experiment too."""
    name = name_of(request)
    await service.existing(name)
    given = await read_body(request, service.bodies, INVITES, service.settings.message_body)
    count, expires, most = given["count"], given.get("expires"), service.settings.invites
    if count > most:
        raise Refused(422, f"count must be at most {most}.\nMake the rest with another call.")
    try:
        made = await service.call(service.store.invite, name, count, expires)
    except UnknownExperiment:
        raise
    except BoardRefused as wrong:
        raise Refused(409, str(wrong)) from None
    _log(service, request, "invite", experiment=name, count=count)
    return as_json({"invites": made, "url": service.public_url(f"/experiments/{name}")}, 201)


@for_bearers_of("operator")
async def revoke_all_invites(service: Service, request: Request) -> Response:
    """Let nobody enrol by any invite made so far."""
    name = name_of(request)
    done = asdict(await service.call(service.store.revoke_all_invites, name))
    _log(service, request, "revoke", experiment=name, **done)
    return as_json(done)


@for_bearers_of("operator")
async def revoke(service: Service, request: Request) -> Response:
    """Take nothing more from these devices, and let nobody enrol by these invites."""
    name = name_of(request)
    given = await read_body(request, service.bodies, REVOCATION, service.settings.body)
    done = asdict(await service.call(partial(service.store.revoke, name, **given)))
    _log(service, request, "revoke", experiment=name, **done)
    return as_json(done, 201)


@for_bearers_of("operator")
async def change_standing(service: Service, request: Request) -> Response:
    """Close, reopen or archive an experiment, or set its end."""
    name = name_of(request)
    given = await read_body(request, service.bodies, STANDING, service.settings.message_body)
    endless = "ends" in given and given["ends"] is None
    change = partial(service.store.change, name, **{**given, "endless": endless})
    try:
        standing = await service.call(change)
    except UnknownExperiment:
        raise
    except BoardRefused as wrong:
        raise Refused(409, str(wrong)) from None
    _log(service, request, standing.state, experiment=name, ends=standing.ends)
    return as_json(vars(standing), 201)


@for_bearers_of("operator")
async def delete_experiment(service: Service, request: Request) -> Response:
    """Delete an experiment with all its messages; its name stays taken."""
    name = name_of(request)
    await service.call(service.store.delete, name)
    service.forget(name)
    _log(service, request, "delete", experiment=name)
    return as_json({"deleted": name})


@for_bearers_of("reader")
async def read_overview(service: Service, request: Request) -> Response:
    """All experiments with their messages, answers, invites and states; for a reader too."""
    listed = await service.call(service.store.experiments)
    rows = [await service.call(_overview, service.store, item) for item in listed]
    return as_json({"version": VERSION, "experiments": rows})


def _overview(store: SqliteStore, experiment: Experiment) -> dict[str, Any]:
    def draw(history: History) -> dict[str, Any]:
        names = experiment.spec.arm_names
        return {
            "messages": history.number,
            "status": history.tally.status(experiment.players),
            "answer": [names[arm] for arm in history.tally.answer],
        }

    invites, revoked = store.counts(experiment.name)
    return {
        **experiment.facts,
        **vars(store.standing(experiment.name)),
        "enrolled": experiment.enrolled,
        "revoked": revoked,
        "invites": asdict(invites),
        **store.look(experiment.name, draw),
    }


async def read_metrics(service: Service, request: Request) -> Response:
    """Counters for Prometheus."""
    check_admin_port(service, request)
    store = service.store
    numbers = await service.call(store.numbers)
    listed = await service.call(store.experiments)
    seen = [await service.call(_seen, store, item, numbers.get(item.name, 0)) for item in listed]
    connections = len(service.connections) if service.connections is not None else 0
    text = service.metrics.render(seen, streams=service.listeners, connections=connections)
    return Response(text, headers={"Content-Type": CONTENT_TYPE})


def _seen(store: SqliteStore, experiment: Experiment, messages: int) -> Seen:
    def draw(history: History) -> tuple[str, int | None]:
        return history.tally.status(experiment.players), history.voters

    try:
        status, voters = store.look(experiment.name, draw)
    except StoreError:  # a metric may not take all others with it
        status, voters = "unreadable", None
    state = store.standing(experiment.name).state
    shown = status if state == "open" else state
    return Seen(experiment.name, experiment.enrolled, messages, shown, voters)
