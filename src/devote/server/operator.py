"""Routes of the operator's day: how experiments stand, what they have come to, and who is revoked.

All need the token, but for how an experiment stands, which anybody may know.
"""

from dataclasses import asdict
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends

from devote.boards.board import BoardRefused
from devote.boards.experiment import Experiment, Standing, UnknownExperiment
from devote.boards.history import History
from devote.boards.stores import BoardStore
from devote.server import bodies, models
from devote.server.answers import Refused
from devote.server.operator_models import (
    DeletedAnswer,
    OverviewAnswer,
    OverviewItem,
    RevocationAnswer,
    RevocationBody,
    StandingAnswer,
    StandingBody,
)
from devote.server.service import Name, Served, operator_only

router = APIRouter(tags=["operator"], responses=models.errors(503))

_THERE = models.errors(404, 410, 422)
_MINE = {**models.errors(401), **_THERE}


@router.get("/overview", dependencies=[Depends(operator_only)], responses=models.errors(401))
async def read_overview(service: Served) -> OverviewAnswer:
    """All experiments with their messages, answers, invites and states, for the operator."""
    listed = await service.call(service.store.experiments)
    rows = [await service.call(_overview, service.store, item) for item in listed]
    return OverviewAnswer(experiments=rows)


@router.get("/experiments/{name}/standing", responses=_THERE)
async def read_standing(service: Served, name: Name) -> StandingAnswer:
    """Whether an experiment is open, closed or archived, and when it ends."""
    return _standing(await service.call(service.store.standing, name))


@bodies.post(
    router,
    "/experiments/{name}/standing",
    StandingBody,
    operator_only,
    answers=models.errors(401, 404, 409, 410),
)
async def change_standing(
    service: Served,
    name: Name,
    given: Annotated[StandingBody, bodies.body(StandingBody)],
) -> StandingAnswer:
    """Close, reopen or archive an experiment, or set its end; for its operator."""
    endless = given.ends is None and "ends" in given.model_fields_set
    change = partial(
        service.store.change,
        name,
        state=given.state,
        ends=given.ends,
        endless=endless,
    )
    try:
        return _standing(await service.call(change))
    except UnknownExperiment:
        raise
    except BoardRefused as wrong:
        raise Refused(409, str(wrong)) from None


@bodies.post(
    router,
    "/experiments/{name}/revocations",
    RevocationBody,
    operator_only,
    answers=models.errors(401, 404, 410),
)
async def revoke(
    service: Served,
    name: Name,
    given: Annotated[RevocationBody, bodies.body(RevocationBody)],
) -> RevocationAnswer:
    """Take nothing more from these devices, and let nobody enrol by these invites."""
    done = await service.call(service.store.revoke, name, **given.model_dump())
    return RevocationAnswer.model_validate(asdict(done))


@router.delete(
    "/experiments/{name}/invites", dependencies=[Depends(operator_only)], responses=_MINE
)
async def revoke_all_invites(service: Served, name: Name) -> RevocationAnswer:
    """Let nobody enrol by any invite made so far."""
    done = await service.call(service.store.revoke_all_invites, name)
    return RevocationAnswer.model_validate(asdict(done))


@router.delete("/experiments/{name}", dependencies=[Depends(operator_only)], responses=_MINE)
async def delete_experiment(service: Served, name: Name) -> DeletedAnswer:
    """Delete an experiment with all its messages; its name stays taken."""
    await service.call(service.store.delete, name)
    service.boards.forget(name)
    return DeletedAnswer(deleted=name)


def _standing(standing: Standing) -> StandingAnswer:
    return StandingAnswer.model_validate(asdict(standing))


def _overview(store: BoardStore, experiment: Experiment) -> OverviewItem:
    def draw(history: History) -> dict[str, object]:
        names = experiment.spec.arm_names
        return {
            "messages": history.number,
            "status": history.tally.status(experiment.players),
            "answer": [names[arm] for arm in history.tally.answer],
        }

    invites, revoked = store.counts(experiment.name)
    return OverviewItem.model_validate(
        {
            **experiment.facts,
            **asdict(store.standing(experiment.name)),
            "enrolled": experiment.enrolled,
            "revoked": revoked,
            "invites": asdict(invites),
            **store.look(experiment.name, draw),
        }
    )
