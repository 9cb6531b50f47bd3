"""Routes about experiments: list, create and read them, and make invites."""

from typing import Annotated

from fastapi import APIRouter
from starlette.responses import Response

from devote.boards.board import BoardRefused
from devote.boards.experiment import Experiment
from devote.protocol import ExperimentSpec, SpecError
from devote.server import bodies, models
from devote.server.answers import FOR_A_DAY, Refused
from devote.server.service import Name, Served, existing, operator_only, settle
from devote.server.settings import Settings

router = APIRouter(tags=["experiments"], responses=models.errors(503))


@router.get("/experiments")
async def list_experiments(service: Served) -> models.ExperimentsAnswer:
    """All experiments that are not archived, by name."""
    listed = await service.call(service.listed)
    return models.ExperimentsAnswer(experiments=[_counted(item) for item in listed])


@bodies.post(
    router,
    "/experiments",
    models.ExperimentBody,
    operator_only,
    answers={200: {"model": models.ExperimentAnswer}, **models.errors(401, 409)},
)
async def create_experiment(
    service: Served,
    given: Annotated[models.ExperimentBody, bodies.body(models.ExperimentBody)],
    response: Response,
) -> models.ExperimentAnswer:
    """Open an experiment, for its operator; 200 if the very same was there already."""
    experiment = _experiment(given, service.settings)
    receipt = await service.call(
        service.store.create, experiment, most=service.settings.experiments
    )
    settle(receipt, response, refused=409)
    return _answer(await service.call(service.store.get, experiment.name))


@router.get("/experiments/{name}", responses=models.errors(404, 409, 410, 422))
async def read_experiment(
    service: Served, name: Name, response: Response
) -> models.ExperimentAnswer:
    """An experiment's specification and how to enrol; any cache may keep it: it never changes."""
    answer = _answer(await service.call(service.store.get, name))
    response.headers["Cache-Control"] = FOR_A_DAY
    return answer


@bodies.post(
    router,
    "/experiments/{name}/invites",
    models.InvitesBody,
    operator_only,
    existing,
    answers=models.errors(401, 404, 409, 410),
)
async def create_invites(
    service: Served,
    name: Name,
    given: Annotated[models.InvitesBody, bodies.body(models.InvitesBody)],
) -> models.InvitesAnswer:
    """Make single-use invites, which cannot be read again; for the experiment's operator."""
    most = service.settings.invites
    if given.count > most:
        raise Refused(422, f"count must be at most {most}.\nMake the rest with another call.")
    try:
        made = await service.call(service.store.invite, name, given.count, given.expires)
    except BoardRefused as wrong:
        raise Refused(409, str(wrong)) from None
    return models.InvitesAnswer(invites=made)


def _counted(experiment: Experiment) -> models.CountedExperiment:
    return models.CountedExperiment.model_validate(experiment.to_dict())


def _answer(experiment: Experiment) -> models.ExperimentAnswer:
    values = {name: value for name, value in experiment.to_dict().items() if name != "enrolled"}
    return models.ExperimentAnswer.model_validate(values)


def _experiment(given: models.ExperimentBody, settings: Settings) -> Experiment:
    arms = given.spec.get("arms")
    n_arms = arms if isinstance(arms, int) else len(arms) if isinstance(arms, list) else 0
    if n_arms > settings.arms:
        raise Refused(422, f"There may be at most {settings.arms} arms.\nSend fewer.")
    if given.players is not None and given.players > settings.enrolments:
        raise Refused(422, f"players must be at most {settings.enrolments}.\nUse fewer players.")
    try:
        return Experiment(ExperimentSpec.from_dict(given.spec), given.enrolment, given.players)
    except SpecError as wrong:
        raise Refused(422, str(wrong)) from None
    except (TypeError, ValueError, AttributeError, ArithmeticError):
        raise Refused(
            422, "The specification has a value of the wrong type.\nWrite it as in docs/fleet.md."
        ) from None
