"""One experiment as its page shows it: what the tally says, in the words of the specification.

Nothing is decided here, nothing can be shown that was not posted, and no scheme is known by name.
"""

import json
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from devote.boards.experiment import Experiment
from devote.protocol import Case, ExperimentSpec
from devote.protocol.messages import KINDS
from devote.server.history import History

LATEST = 50
"""At most so many messages of one device are shown, the latest."""


def summarize(experiment: Experiment, history: History) -> dict[str, Any]:
    """What the list of experiments shows; the likeliest answer comes first."""
    spec = experiment.spec
    return {
        "name": spec.name,
        "options": spec.n_arms,
        "players": experiment.players,
        "enrolled": experiment.enrolled,
        "number": history.number,
        "status": history.tally.status(experiment.players),
        "open": len(history.tally.shared),
        "answer": [spec.arm_names[k] for k in history.tally.answer],
    }


def view(experiment: Experiment, history: History) -> dict[str, Any]:
    """Everything the page shows, as JSON values."""
    spec, tally = experiment.spec, history.tally
    counted = tally.view()
    summary = summarize(experiment, history)
    settled = tally.answer[0] if summary["status"] == "agreed" else None
    return {
        **summary,
        "algorithm": spec.algorithm,
        "scheme": spec.scheme.name,
        "epsilon": spec.epsilon,
        "heading": counted["heading"],
        "needed": counted["needed"],
        "facts": counted["facts"],
        "arms": [
            {
                "name": name,
                "count": counted["counts"][k] if counted["counts"] else None,
                "out_at": history.out_at.get(k),
                "answer": k == settled,
            }
            for k, name in enumerate(spec.arm_names)
        ],
        "timeline": {"step": history.timeline.step, "lanes": _lanes(spec, history)},
        "bounds": _bounds(spec, experiment.players),
        "device": _device(spec, history),
    }


def _lanes(spec: ExperimentSpec, history: History) -> list[dict[str, Any]]:
    """One lane per option for each kind of message about an option, and one per other kind."""
    kinds = [kind for kind in KINDS.values() if kind.form in spec.scheme.kinds]
    about_arms = [kind for kind in kinds if "arm" in kind.numbers]
    lanes = []
    for kind in sorted(kinds, key=lambda kind: "arm" not in kind.numbers):
        for arm in range(spec.n_arms) if kind in about_arms else (None,):
            name = f"{kind.name}s" if arm is None else spec.arm_names[arm]
            if arm is not None and len(about_arms) > 1:
                name = f"{name}: {kind.name}s"
            marks = history.timeline.lane(kind.name, arm)
            if marks or arm is not None:
                lanes.append({"name": name, "arm": arm, "marks": marks})
    return lanes


@lru_cache(maxsize=1024)
def _bounds(spec: ExperimentSpec, players: int | None) -> list[dict[str, Any]]:
    return [asdict(bound) for bound in spec.scheme.bounds(Case(spec, players))]


def _device(spec: ExperimentSpec, history: History) -> dict[str, Any] | None:
    """All that the first device to speak has sent, to the letter, and the most that any has.

    It stays the same device: one that changed with every message could not be read.
    """
    if not history.sent:
        return None
    voter, sent = next(iter(history.sent.items()))
    return {
        "voter": voter,
        "count": len(sent),
        "most": max(map(len, history.sent.values())),
        "messages": [_sent(spec, item) for item in sent[-LATEST:]],
    }


def _sent(spec: ExperimentSpec, item: bytes) -> dict[str, Any]:
    fields = json.loads(item)
    message = fields["message"]
    about = spec.arm_names[message["arm"]] if "arm" in message else None
    sent = {"message": message, "signature": fields["signature"]}
    return {"kind": message["type"], "about": about, "sent": sent}
