"""What the page shows of an experiment: a function of its log, so that anybody can check it."""

import json
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from devote.boards.board import Experiment
from devote.boards.store import History
from devote.protocol import Case, ExperimentSpec
from devote.protocol.messages import KINDS
from devote.protocol.scheme import Estimates


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
    is_open = summary["status"] == "open"
    leader = counted.get("leader") if is_open else None
    settled = tally.answer[0] if summary["status"] == "agreed" else None
    estimates = tally.estimates()
    return {
        **summary,
        "leader": None if leader is None else spec.arm_names[leader],
        "algorithm": spec.algorithm,
        "scheme": spec.scheme.name,
        "epsilon": spec.epsilon,
        "heading": counted["heading"],
        "needed": counted["needed"],
        "facts": counted["facts"],
        "notes": counted.get("notes", _rule(counted)),
        "progress": counted.get("progress", []),
        "arms": [
            {
                "name": name,
                "count": counted["counts"][k] if counted["counts"] else None,
                "out_at": history.out_at.get(k),
                "answer": k == settled,
                "leads": k == leader,
                "state": "the answer" if k == settled else _state(counted, k, history),
            }
            for k, name in enumerate(spec.arm_names)
        ],
        "estimates": _in_thousandths(estimates),
        "timeline": _timeline(spec, history),
        "bounds": _bounds(spec, experiment.players),
        "privacy": _privacy(spec, experiment.players),
        "device": _device(spec, history),
    }


def _rule(counted: dict[str, Any]) -> list[str]:
    if counted["needed"] is None:
        return []
    return [f"An option is decided by {counted['needed']} {counted['heading']}."]


def _state(counted: dict[str, Any], arm: int, history: History) -> str:
    if states := counted.get("states"):
        return str(states[arm])
    return f"out at {history.out_at[arm]}" if arm in history.out_at else "still in"


def _in_thousandths(estimates: Estimates | None) -> list[list[int] | None] | None:
    """Mean, low end and high end of each arm, as a picture needs them."""
    if estimates is None:
        return None
    return [None if row is None else [round(1000 * end) for end in row] for row in estimates]


def _timeline(spec: ExperimentSpec, history: History) -> dict[str, Any]:
    """The order of messages; of options that are estimated, how the estimates came about."""
    points = history.course.points
    is_estimated = history.tally.estimates() is not None
    return {
        "step": history.timeline.step,
        "lanes": _lanes(spec, history, skip_arms=is_estimated),
        "numbers": [number for number, _ in points],
        "courses": [_in_thousandths(estimates) for _, estimates in points],
    }


def _lanes(spec: ExperimentSpec, history: History, *, skip_arms: bool) -> list[dict[str, Any]]:
    """One lane per option for each kind of message about an option, and one per other kind."""
    kinds = [kind for kind in KINDS.values() if kind.form in spec.scheme.about.messages]
    about_arms = [kind for kind in kinds if "arm" in kind.numbers]
    lanes = []
    for kind in sorted(kinds, key=lambda kind: "arm" not in kind.numbers):
        if skip_arms and kind in about_arms:
            continue
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
    return [asdict(bound) for bound in spec.scheme.guarantees(Case(spec, players)).bounds]


@lru_cache(maxsize=1024)
def _privacy(spec: ExperimentSpec, players: int | None) -> dict[str, Any] | None:
    """What the scheme promises of what its messages tell, with its standing."""
    promises = spec.scheme.guarantees(Case(spec, players)).promises
    return next((asdict(promise) for promise in promises if promise.name == "privacy"), None)


def _device(spec: ExperimentSpec, history: History) -> dict[str, Any] | None:
    """All that the first device on the board has sent, to the letter, and the most that any has.

    It stays the same device: one that changed with every message could not be read.
    """
    if not history.first:
        return None
    return {
        "voter": history.first,
        "count": history.sent[history.first],
        "most": history.most,
        "messages": [_sent(spec, *sent) for sent in history.latest],
    }


def _sent(spec: ExperimentSpec, text: str, signature: str) -> dict[str, Any]:
    message = json.loads(text)
    about = spec.arm_names[message["arm"]] if "arm" in message else None
    sent = {"message": message, "signature": signature}
    return {"kind": message["type"], "about": about, "sent": sent}
