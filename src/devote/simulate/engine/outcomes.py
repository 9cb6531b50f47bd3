"""What runs came to: from their tables to a block of trials, for every engine."""

from typing import Any

import numpy as np

from devote.kernels import tables
from devote.kernels.tables import AGREED, STALLED, Arena
from devote.simulate.block import Block
from devote.simulate.optimality import judge_answers
from devote.simulate.scenario import Scenario
from devote.simulate.trial import NEVER, STATUSES, Event
from devote.simulate.votes import Votes

AT_ONCE = 8192
"""Players that are looked at together: their memory fits a fast cache."""

READ = ("counters", "tally", "by_arm", "shared", "alive")
"""The tables that say what a run came to, beside ``first_vote``."""

AGREE, STALL, UNFINISHED = range(len(STATUSES))


def count_holders(alive: Any, shared: Any) -> Any:
    """How many players' remaining arms are exactly the shared ones; some rows at a time."""
    return sum(
        np.count_nonzero((alive[begin : begin + AT_ONCE] == shared).all(axis=1), axis=0)
        for begin in range(0, len(alive), AT_ONCE)
    )


def outcome_of(scenario: Scenario, arena: Arena, events: list[Event]) -> Block:
    """What one run came to, as a block of one; it may have been cut short."""
    columns = {name: getattr(arena, name)[..., None] for name in READ}
    votes = Votes.of(arena.first_vote[None])
    block = outcomes_of(scenario, arena._replace(**columns), votes)
    return block.with_traces((tuple(events),)) if arena.tracing else block


def outcomes_of(scenario: Scenario, arena: Arena, votes: Votes) -> Block:
    """What some runs came to; they may have been cut short.

    The tables of ``arena`` named in ``READ`` have one more axis, the last: a place for each run.
    ``alive`` may be None where no run was cut short and players vote.
    """
    engine = scenario.scheme.engine
    assert engine is not None
    counters, by_message = arena.counters, scenario.scheme.by_message
    if by_message and not engine.one_learner and arena.alive is not None:
        # Counted anew: a run may have been cut short.
        counters[tables.HOLDING] = count_holders(arena.alive, arena.shared)
    code = engine.ended(arena)
    left = _ranked(*engine.ranks(arena, code))
    several = left[:, 1] != NEVER if left.shape[1] > 1 else False
    ending = np.full(left.shape[0], UNFINISHED, dtype=np.int8)
    ending[code == STALLED] = STALL
    # Where players do not vote, each holds an arm of its own.
    ending[code == AGREED] = AGREE
    ending[(code == AGREED) & several] = STALL
    samples = counters[tables.TIME].copy()
    decided = np.where(counters[tables.DECIDED] == 0, NEVER, counters[tables.DECIDED])
    if not by_message:
        decided = np.where(ending == UNFINISHED, decided, samples)
    first, holds = judge_answers(scenario, ending == UNFINISHED, left, samples)
    return Block(
        samples=samples,
        samples_to_decision=decided,
        broadcasts=counters[tables.BROADCASTS].copy(),
        deliveries=counters[tables.BROADCASTS] * (scenario.n_players - 1),
        conflicts=counters[tables.CONFLICTS].copy(),
        resets=counters[tables.RESETS].copy(),
        suboptimal_plays=counters[tables.SUBOPTIMAL].copy(),
        epsilon_optimal=first,
        holds_epsilon_optimal=holds,
        ending=ending,
        left=left,
        votes=votes,
    )


def _ranked(keys: Any, kept: Any) -> Any:
    """Of each run the arms that are kept, the lowest key and then the lowest number first."""
    kept = kept != 0
    n_arms, n_runs = kept.shape
    sizes = kept.sum(axis=0)
    left = np.full((n_runs, n_arms), NEVER, dtype=np.int32)
    left[:, 0] = kept.argmax(axis=0)
    several = np.flatnonzero(sizes > 1)
    if len(several):
        ranked = np.where(kept[:, several], keys[:, several], np.inf)
        order = np.argsort(ranked.T, axis=1, kind="stable")
        left[several] = np.where(np.arange(n_arms) < sizes[several, None], order, NEVER)
    return left
