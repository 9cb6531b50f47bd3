"""How sure an answer is: the probability of a wrong one, as claimed, as it follows, as proved."""

from typing import Any

from devote.boards.experiment import Experiment
from devote.theory import claimed_failure, honest_failure


def failure_bounds(experiment: Experiment) -> list[dict[str, Any]]:
    """The bounds that hold for an experiment, each with a name and what it rests on.

    Paper: Theorem 1; erratum 7.
    """
    spec = experiment.spec
    if spec.protocol == "jury":
        text = (
            f"A jury of {spec.jury_size}, seated by activity alone, throws out every good option "
            "with at most this probability, if the subroutine keeps its promise."
        )
        return [_bound("proved", spec.delta, text)]
    quorum = spec.votes_needed
    text = f"What the paper prints: eta to the power of {quorum}. It holds for {quorum} devices "
    bounds = [_bound("claimed", claimed_failure(spec.eta, quorum), text + "chosen beforehand.")]
    n_players = experiment.players or experiment.seats
    if n_players >= quorum:
        text = (
            f"What follows when any {quorum} of {n_players} devices decide and each is wrong as "
            "often as it may be. Real subroutines are wrong far less often; only the jury has a "
            "proof."
        )
        honest = honest_failure(n_players, eta=spec.eta, quorum=quorum)
        bounds.append(_bound("honest", honest, text))
    return bounds


def _bound(name: str, value: float, text: str) -> dict[str, Any]:
    return {"name": name, "value": value, "text": text}
