"""How sure an answer is: the probability of a wrong one, as claimed, as it follows, as proved."""

from dataclasses import asdict
from typing import Any

from devote import theory
from devote.boards.experiment import Experiment
from devote.protocol import ExperimentSpec, get_protocol


def failure_bounds(experiment: Experiment) -> list[dict[str, Any]]:
    """The bounds that hold for an experiment, each with a name and what it rests on.

    Paper: Theorem 1; erratum 7.
    """
    spec = experiment.spec
    protocol = get_protocol(spec.protocol)
    unproved = _why_unproved(spec)
    if not unproved and not protocol.seats and experiment.players is None:
        unproved = "more devices may still join"
    rows = theory.failure_bounds(
        spec.protocol,
        eta=spec.eta,
        delta=spec.delta,
        n_arms=spec.n_arms,
        n_players=experiment.players or experiment.seats,
        voters=protocol.seats_to_fill(spec) or spec.votes_needed,
        absent=spec.absent,
        unproved=unproved,
    )
    return [asdict(row) for row in rows]


def _why_unproved(spec: ExperimentSpec) -> str:
    """Why nothing is proved of a device alone; empty where Property 1 is."""
    found = theory.lone_failure(
        spec.algorithm,
        n_arms=spec.n_arms,
        epsilon=spec.epsilon,
        eta=spec.eta,
        radius=str(spec.options.get("radius", "union")),
    )
    return f"{spec.algorithm} alone: {found.why}" if found.bound is None else ""
