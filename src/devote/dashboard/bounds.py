"""How sure an answer is: the probability of a wrong one, as claimed, and as proved."""

from dataclasses import asdict
from typing import Any

from devote import theory
from devote.boards.experiment import Experiment
from devote.protocol import ExperimentSpec, get_protocol


def failure_bounds(experiment: Experiment) -> list[dict[str, Any]]:
    """The bounds that hold for an experiment, each with a name and what it rests on.

    Paper: Theorem 1; errata 7 and 19. Which arms are good nobody knows here.
    """
    spec = experiment.spec
    protocol = get_protocol(spec.protocol)
    joining = not protocol.seats and experiment.players is None
    rows = theory.failure_bounds(
        spec.protocol,
        theory.Vote(
            spec.algorithm, _alone(spec), broken="more devices may still join" if joining else ""
        ),
        eta=spec.eta,
        delta=spec.delta,
        n_arms=spec.n_arms,
        n_players=experiment.players or experiment.seats,
        voters=protocol.seats_to_fill(spec) or spec.votes_needed,
        absent=spec.absent,
    )
    return [asdict(row) for row in rows]


def _alone(spec: ExperimentSpec) -> theory.LoneFailure:
    """What is proved of a device alone."""
    return theory.lone_failure(
        spec.algorithm,
        n_arms=spec.n_arms,
        epsilon=spec.epsilon,
        eta=spec.eta,
        radius=str(spec.options.get("radius", "union")),
    )
