"""Routes about experiments: list, create and read them, and make invites."""

from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.responses import Response

from devote.boards.board import Outcome
from devote.boards.experiment import VERSION, Experiment
from devote.protocol import ExperimentSpec, SpecError
from devote.server.answers import Refused, answer, error
from devote.server.bodies import body
from devote.server.models import (
    BODY_ERRORS,
    ExperimentAnswer,
    ExperimentBody,
    ExperimentsAnswer,
    InvitesAnswer,
    InvitesBody,
    request_body,
    responses,
)
from devote.server.service import Name, Served, existing, operator_only
from devote.server.settings import Settings

router = APIRouter(tags=["experiments"])


@router.get("/experiments", responses=responses({200: ("All experiments.", ExperimentsAnswer)}))
async def list_experiments(service: Served) -> Response:
    """All experiments, by name."""
    listed = await service.call(service.store.experiments)
    return answer(200, {"version": VERSION, "experiments": [item.to_dict() for item in listed]})


@router.post(
    "/experiments",
    status_code=201,
    dependencies=[Depends(operator_only)],
    openapi_extra=request_body(ExperimentBody),
    responses=responses(
        {
            201: ("The experiment is open.", ExperimentAnswer),
            200: ("The very same experiment was there already.", ExperimentAnswer),
        },
        401,
        409,
        *BODY_ERRORS,
    ),
)
async def create_experiment(
    service: Served, given: Annotated[ExperimentBody, body(ExperimentBody)]
) -> Response:
    """Open an experiment; for its operator."""
    experiment = _experiment(given, service.settings)
    receipt = await service.call(
        service.store.create, experiment, most=service.settings.experiments
    )
    if receipt.outcome is Outcome.REFUSED:
        return error(409, receipt.reason)
    status = 201 if receipt.outcome is Outcome.ACCEPTED else 200
    stored = await service.call(service.store.get, experiment.name)
    return answer(status, stored.to_dict())


@router.get(
    "/experiments/{name}",
    responses=responses({200: ("The experiment.", ExperimentAnswer)}, 404, 422),
)
async def read_experiment(service: Served, name: Name) -> Response:
    """An experiment's specification, how to enrol, and how many have."""
    experiment = await service.call(service.store.get, name)
    return answer(200, experiment.to_dict())


@router.post(
    "/experiments/{name}/invites",
    status_code=201,
    dependencies=[Depends(operator_only), Depends(existing)],
    openapi_extra=request_body(InvitesBody),
    responses=responses(
        {201: ("The invites: they cannot be read again.", InvitesAnswer)}, 401, 404, *BODY_ERRORS
    ),
)
async def create_invites(
    service: Served, name: Name, given: Annotated[InvitesBody, body(InvitesBody)]
) -> Response:
    """Make single-use invites; for the experiment's operator."""
    most = service.settings.invites
    if given.count > most:
        raise Refused(422, f"count must be at most {most}.\nMake the rest with another call.")
    return answer(201, {"invites": await service.call(service.store.invite, name, given.count)})


def _experiment(given: ExperimentBody, settings: Settings) -> Experiment:
    arms = given.spec.get("arms")
    n_arms = arms if isinstance(arms, int) else len(arms) if isinstance(arms, list) else 0
    if n_arms > settings.arms:
        raise Refused(422, f"There may be at most {settings.arms} arms.\nSend fewer.")
    if given.players is not None and given.players > settings.enrolments:
        raise Refused(422, f"players must be at most {settings.enrolments}.\nLower it.")
    try:
        spec = ExperimentSpec.from_dict(given.spec)
        return Experiment(spec, given.enrolment, given.players)
    except SpecError as wrong:
        raise Refused(422, str(wrong)) from None
    except (TypeError, ValueError, AttributeError, ArithmeticError):
        raise Refused(
            422,
            "The specification has a value of the wrong type.\nWrite it as in docs/fleet.md.",
        ) from None
