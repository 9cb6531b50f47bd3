"""From the endings of runs to a block of trials, for every engine."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from devote.protocol import RunStatus
from devote.simulator.block import KINDS, Block
from devote.simulator.optimality import environment, judge_answer
from devote.simulator.part import Ending
from devote.simulator.parts import part_of
from devote.simulator.scenario import Scenario
from devote.simulator.trial import NEVER, STATUSES
from devote.simulator.workspace import AGREED, STALLED


def own_answers(alive: Any) -> NDArray[np.int32]:
    """The one remaining arm of each player, -1 for who has several."""
    return np.where(alive.sum(axis=1) == 1, alive.argmax(axis=1), NEVER).astype(np.int32)


def answers_by_group(scenario: Scenario, answers: Any) -> set[tuple[int, int]]:
    """Each pair of a group of players and an answer in it."""
    env = environment(scenario)
    members = [answers]
    if env.n_groups > 1:
        members = [answers[np.equal(env.groups, group)] for group in range(env.n_groups)]
    arms = range(env.n_arms)
    return {(group, arm) for group, own in enumerate(members) for arm in arms if arm in own}


def block_of(scenario: Scenario, runs: Sequence[Ending]) -> Block:
    """The trials that some runs make."""
    rows = [_row(scenario, run) for run in runs]
    columns: dict[str, Any] = {
        name: np.array([row[name] for row in rows], dtype=kind) for name, kind in KINDS.items()
    }
    nothing = (None,) * len(runs)
    return Block(**columns, traces=nothing, records=nothing)


def _row(scenario: Scenario, run: Ending) -> dict[str, Any]:
    """What a run puts into each column of a block."""
    part = part_of(scenario.scheme)
    assert part is not None
    code, samples = run.group["ended"], run.group["time"]
    arms = part.winners(run)
    has_segments = bool(scenario.scheme.sending.segments)
    status: RunStatus = "unfinished"
    if code == STALLED or (code == AGREED and len(arms) > 1 and not has_segments):
        # Where players send nothing, each holds an arm of its own.
        status = "stalled"
    elif code == AGREED:
        status = "agreed"
    decided = run.group["decided"] or NEVER
    if not scenario.scheme.about.by_message and status != "unfinished":
        decided = samples
    pairs = answers_by_group(scenario, run.player_answers) if len(run.player_answers) else set()
    good = judge_answer(scenario, status, arms, samples, pairs)
    left = np.full(scenario.spec.n_arms, NEVER)
    left[: len(arms)] = arms
    return {
        "samples": decided,
        "samples_until_all_know": samples,
        "broadcasts": run.group["broadcasts"],
        "deliveries": run.group["broadcasts"] * (scenario.n_players - 1),
        "conflicts": run.group["conflicts"],
        "resets": run.group["resets"],
        "suboptimal_plays": run.group["suboptimal"],
        "epsilon_optimal": good.first,
        "holds_epsilon_optimal": good.holds,
        "ending": STATUSES.index(status),
        "left": left,
        "first_vote": run.first_vote,
        "player_answers": run.player_answers,
    }
