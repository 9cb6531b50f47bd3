"""One experiment as its page shows it: a pure function of what the board holds.

The rules (who is out, whether it has stalled) are the ballot's; nothing is decided here, and
nothing can be shown that was not posted.
"""

from collections.abc import Sequence
from typing import Any

from devote.boards.experiment import Experiment
from devote.protocol import Ballot, Vote, get_protocol
from devote.protocol.messages import from_dict
from devote.theory import claimed_failure, honest_failure

TIMELINE = 2_000
"""At most so many of the last messages are drawn."""

Row = tuple[int, dict[str, Any], str]
"""A number, a message in its JSON form, and its signature."""


def experiment_view(experiment: Experiment, rows: Sequence[Row]) -> dict[str, Any]:
    """What the page shows of an experiment with these messages on its board."""
    spec = experiment.spec
    protocol = get_protocol(spec.protocol)
    ballot = Ballot(spec.n_arms, protocol.votes_needed(spec), protocol.seats_to_fill(spec))
    out_at: dict[int, int] = {}
    timeline = []
    for number, fields, _ in rows:
        message = from_dict(fields, spec.n_arms)
        term, shared = ballot.term, ballot.shared
        ballot.add(message)
        if ballot.term > term:
            out_at.clear()
        out_at |= {arm: number for arm in shared if arm not in ballot.shared}
        arm = message.arm if isinstance(message, Vote) else None
        timeline.append({"number": number, "kind": fields["type"], "arm": arm})
    return {
        "name": spec.name,
        "algorithm": spec.algorithm,
        "protocol": spec.protocol,
        "epsilon": spec.epsilon,
        "eta": spec.eta,
        "delta": spec.delta,
        "enrolment": experiment.enrolment,
        "players": experiment.players,
        "seats": experiment.seats,
        "voters": len(ballot.voters),
        "jury": {"size": ballot.n_seats, "seated": len(ballot.jury)} if ballot.n_seats else None,
        "quorum": ballot.quorum,
        "term": ballot.term,
        "number": rows[-1][0] if rows else 0,
        "status": ballot.status(experiment.players),
        "answer": list(ballot.answer),
        "arms": [
            {"name": str(name), "votes": ballot.tally[k], "out_at": out_at.get(k)}
            for k, name in enumerate(spec.arms)  # type: ignore[arg-type]
        ],
        "timeline": timeline[-TIMELINE:],
        "bounds": failure_bounds(experiment),
        "device": talkative_device(rows),
    }


def failure_bounds(experiment: Experiment) -> list[dict[str, Any]]:
    """The probability of a wrong answer: as claimed, as it really follows, as proved.

    Paper: Theorem 1; erratum 7.
    """
    spec = experiment.spec
    n_players = experiment.players or experiment.seats
    if spec.protocol == "jury":
        return [
            {
                "name": "proved",
                "value": spec.delta,
                "text": f"A jury of {spec.jury_size}, fixed by activity alone, is wrong with at "
                "most this probability, if the subroutine keeps its promise.",
            }
        ]
    bounds = [
        {
            "name": "claimed",
            "value": claimed_failure(spec.eta, spec.votes_needed),
            "text": f"What the paper prints: eta^M, for {spec.votes_needed} devices fixed "
            "beforehand.",
        }
    ]
    if n_players >= spec.votes_needed:
        bounds.append(
            {
                "name": "honest",
                "value": honest_failure(n_players, eta=spec.eta, quorum=spec.votes_needed),
                "text": f"What follows when any {spec.votes_needed} of {n_players} devices "
                "decide and each were wrong as often as it may be. Real subroutines are wrong "
                "far less often; only the jury has a proof.",
            }
        )
    return bounds


def talkative_device(rows: Sequence[Row]) -> dict[str, Any] | None:
    """Everything the device with the most messages has sent, to the letter."""
    by_voter: dict[str, list[dict[str, Any]]] = {}
    for _, fields, signature in rows:
        by_voter.setdefault(fields["voter"], []).append({"message": fields, "signature": signature})
    if not by_voter:
        return None
    voter = max(by_voter, key=lambda name: (len(by_voter[name]), name))
    return {"voter": voter, "sent": by_voter[voter]}
