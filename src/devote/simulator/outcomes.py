"""From the records of finished runs to a block of trials, for every engine."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from devote.simulator.block import KINDS, Block
from devote.simulator.optimality import environment, judge_answer
from devote.simulator.part import Ending
from devote.simulator.parts import part_of
from devote.simulator.scenario import Scenario
from devote.simulator.trial import NEVER, STATUSES
from devote.simulator.workspace import AGREED, STALLED

AGREE, STALL, UNFINISHED = range(len(STATUSES))


class End(NamedTuple):
    """One run that is over or was cut short: its group's record and its arrays.

    ``held[k]`` says whether some learner still has arm k. ``player_answers`` has each player's own
    answer where players send nothing or are of segments, and is empty elsewhere.
    """

    group: dict[str, int]
    tally: Any
    by_arm: Any
    shared: Any
    held: Any
    first_vote: Any
    player_answers: Any = ()


def own_answers(alive: Any) -> NDArray[np.int32]:
    """The one remaining arm of each player, -1 for who has several."""
    return np.where(alive.sum(axis=1) == 1, alive.argmax(axis=1), NEVER).astype(np.int32)


def answers_by_group(scenario: Scenario, answers: Any) -> set[tuple[int, int]]:
    """Each pair of a group of players and an answer in it."""
    env, n_arms = environment(scenario), scenario.spec.n_arms
    groups = np.asarray(env.groups) if env.n_groups > 1 else 0
    answered = np.asarray(answers) != NEVER
    counts = np.bincount((groups * n_arms + answers)[answered])
    return {divmod(int(code), n_arms) for code in np.flatnonzero(counts)}


def block_of(scenario: Scenario, runs: Sequence[End]) -> Block:
    """The trials that some runs make."""
    rows = [_row(scenario, run) for run in runs]
    columns: dict[str, Any] = {
        name: np.array([row[name] for row in rows], dtype=kind) for name, kind in KINDS.items()
    }
    nothing = (None,) * len(runs)
    return Block(**columns, traces=nothing, records=nothing)


def _row(scenario: Scenario, run: End) -> dict[str, Any]:
    """What a run puts into each column of a block."""
    part = part_of(scenario.scheme)
    assert part is not None
    code, samples = run.group["ended"], run.group["time"]
    arms = part.winners(
        Ending(code, scenario.n_players, run.tally, run.by_arm, run.shared, run.held)
    )
    ending = UNFINISHED
    has_segments = bool(scenario.scheme.sending.segments)
    if code == STALLED or (code == AGREED and len(arms) > 1 and not has_segments):
        # Where players send nothing, each holds an arm of its own.
        ending = STALL
    elif code == AGREED:
        ending = AGREE
    decided = run.group["decided"] or NEVER
    if not scenario.scheme.about.by_message and ending != UNFINISHED:
        decided = samples
    pairs = answers_by_group(scenario, run.player_answers) if len(run.player_answers) else set()
    good = judge_answer(scenario, STATUSES[ending], arms, samples, pairs)
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
        "ending": ending,
        "left": left,
        "first_vote": run.first_vote,
        "player_answers": run.player_answers,
    }
