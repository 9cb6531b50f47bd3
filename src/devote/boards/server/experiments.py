"""Routes about experiments: list, create and read them, and make invites."""

from typing import Any

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from devote.boards.board import Outcome
from devote.boards.experiment import VERSION, Experiment
from devote.boards.server import openapi
from devote.boards.server.service import Name, Served, operator_only
from devote.boards.server.settings import Settings
from devote.boards.server.wire import Refused, answer, error
from devote.protocol import ExperimentSpec, SpecError

router = APIRouter(tags=["experiments"])


@router.get(
    "/experiments",
    responses=openapi.responses({200: ("All experiments.", openapi.EXPERIMENTS)}),
)
async def list_experiments(service: Served) -> Response:
    """All experiments, by name."""
    listed = await service.call(service.store.experiments)
    return answer(200, {"version": VERSION, "experiments": [item.to_dict() for item in listed]})


@router.post(
    "/experiments",
    status_code=201,
    dependencies=[Depends(operator_only)],
    openapi_extra=openapi.body(openapi.CREATION),
    responses=openapi.responses(
        {
            201: ("The experiment is open.", openapi.EXPERIMENT),
            200: ("The very same experiment was there already.", openapi.EXPERIMENT),
        },
        401,
        409,
        *openapi.BODY_ERRORS,
    ),
)
async def create_experiment(service: Served, request: Request) -> Response:
    """Open an experiment; for its operator."""
    fields = await service.read(
        request, {"spec"}, optional={"enrolment", "players"}, most=service.settings.body
    )
    experiment = _experiment(fields, service.settings)
    receipt = await service.call(
        service.store.create, experiment, most=service.settings.experiments
    )
    if receipt.outcome is Outcome.DENIED:
        return error(409, receipt.reason)
    status = 201 if receipt.outcome is Outcome.ACCEPTED else 200
    stored = await service.call(service.store.get, experiment.name)
    return answer(status, stored.to_dict())


@router.get(
    "/experiments/{name}",
    responses=openapi.responses({200: ("The experiment.", openapi.EXPERIMENT)}, 404, 422),
)
async def read_experiment(service: Served, name: Name) -> Response:
    """An experiment's specification, how to enrol, and how many have."""
    experiment = await service.call(service.store.get, name)
    return answer(200, experiment.to_dict())


@router.post(
    "/experiments/{name}/invites",
    status_code=201,
    dependencies=[Depends(operator_only)],
    openapi_extra=openapi.body(openapi.INVITATION),
    responses=openapi.responses(
        {201: ("The invites: they cannot be read again.", openapi.INVITES)},
        401,
        404,
        *openapi.BODY_ERRORS,
    ),
)
async def create_invites(service: Served, name: Name, request: Request) -> Response:
    """Make single-use invites; for the experiment's operator."""
    await service.call(service.store.spec, name)
    fields = await service.read(
        request, {"count"}, optional=set(), most=service.settings.message_body
    )
    count, most = fields["count"], service.settings.invites
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= most:
        raise Refused(422, f"count must be a whole number from 1 to {most}.\nMend it.")
    return answer(201, {"invites": await service.call(service.store.invite, name, count)})


def _experiment(fields: dict[str, Any], settings: Settings) -> Experiment:
    given, players = fields["spec"], fields.get("players")
    if not isinstance(given, dict):
        raise Refused(422, "spec must be a JSON object.\nSend a specification's fields.")
    arms = given.get("arms")
    n_arms = arms if isinstance(arms, int) else len(arms) if isinstance(arms, list) else 0
    if n_arms > settings.arms:
        raise Refused(422, f"There may be at most {settings.arms} arms.\nSend fewer.")
    if isinstance(players, int) and players > settings.seats:
        raise Refused(422, f"players must be at most {settings.seats}.\nLower it.")
    try:
        spec = ExperimentSpec.from_dict(given)
        return Experiment(spec, fields.get("enrolment", "open"), players)
    except SpecError as wrong:
        raise Refused(422, str(wrong)) from None
    except (TypeError, ValueError, AttributeError, ArithmeticError):
        raise Refused(
            422, "The specification has a value of the wrong type.\nCompare it with the guide."
        ) from None
