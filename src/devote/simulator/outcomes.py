"""What runs came to: from their records to a block of trials, for every engine."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from devote.simulator.block import Block
from devote.simulator.optimality import judge_answers
from devote.simulator.part import Ending
from devote.simulator.parts import part_of
from devote.simulator.scenario import Scenario
from devote.simulator.trial import NEVER, STATUSES
from devote.simulator.votes import Votes
from devote.simulator.workspace import AGREED, STALLED

AGREE, STALL, UNFINISHED = range(len(STATUSES))


class End(NamedTuple):
    """One run that is over or was cut short: its group's record and its arrays.

    ``held[k]`` says whether some learner still has arm k.
    """

    group: dict[str, int]
    tally: Any
    by_arm: Any
    shared: Any
    held: Any
    first_vote: Any


def block_of(scenario: Scenario, runs: Sequence[End]) -> Block:
    """The trials that some runs make."""
    part = part_of(scenario.scheme)
    assert part is not None
    by_message, k = scenario.scheme.about.by_message, scenario.spec.n_arms
    left = np.full((len(runs), k), NEVER, dtype=np.int32)
    ending = np.full(len(runs), UNFINISHED, dtype=np.int8)
    for i, run in enumerate(runs):
        code = run.group["ended"]
        arms = part.winners(
            Ending(code, scenario.n_players, run.tally, run.by_arm, run.shared, run.held)
        )
        left[i, : len(arms)] = arms
        if code == STALLED or (code == AGREED and len(arms) > 1):
            # Where players do not vote, each holds an arm of its own.
            ending[i] = STALL
        elif code == AGREED:
            ending[i] = AGREE

    def column(name: str) -> Any:
        return np.array([run.group[name] for run in runs], dtype=np.int64)

    samples, broadcasts, decided = column("time"), column("broadcasts"), column("decided")
    decided = np.where(decided == 0, NEVER, decided)
    if not by_message:
        decided = np.where(ending == UNFINISHED, decided, samples)
    first, holds = judge_answers(scenario, ending == UNFINISHED, left, samples)
    return Block(
        samples_until_all_know=samples,
        samples=decided,
        broadcasts=broadcasts,
        deliveries=broadcasts * (scenario.n_players - 1),
        conflicts=column("conflicts"),
        resets=column("resets"),
        suboptimal_plays=column("suboptimal"),
        epsilon_optimal=first,
        holds_epsilon_optimal=holds,
        ending=ending,
        left=left,
        votes=(
            Votes.of(np.stack([run.first_vote for run in runs]))
            if broadcasts.any()
            else Votes.none(len(runs), scenario.n_players)
        ),
    )
