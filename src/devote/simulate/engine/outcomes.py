"""What runs came to: from their tables to a block of trials, for every engine."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from devote.kernels import tables
from devote.kernels.tables import AGREED, STALLED, Arena
from devote.simulate.block import Block
from devote.simulate.optimality import judge_answers
from devote.simulate.scenario import Scenario
from devote.simulate.trial import NEVER, STATUSES
from devote.simulate.votes import Votes

AT_ONCE = 8192
"""Players that are looked at together: their memory fits a fast cache."""

READ = ("counters", "tally", "by_arm", "shared")
"""The tables that say what a run came to, beside ``alive`` and ``first_vote``."""

AGREE, STALL, UNFINISHED = range(len(STATUSES))


def count_holders(alive: Any, shared: Any) -> Any:
    """How many players' remaining arms are exactly the shared ones; some rows at a time."""
    return sum(
        np.count_nonzero((alive[begin : begin + AT_ONCE] == shared).all(axis=1), axis=0)
        for begin in range(0, len(alive), AT_ONCE)
    )


def closed(scenario: Scenario, arena: Arena) -> Arena:
    """The tables of a run that is over or was cut short, without what nobody asks for any more.

    ``alive`` has one row: the arms that somebody holds; none where players vote. There it may be
    None if no run was cut short. Several runs at once are as for ``outcomes_of``.
    """
    engine = scenario.scheme.engine
    assert engine is not None
    alive = None
    if not scenario.scheme.by_message:
        alive = arena.alive.any(axis=0)[None]
    elif not engine.one_learner and arena.alive is not None:
        is_known = np.all(arena.counters[tables.ENDED])
        if not is_known:
            arena.counters[tables.HOLDING] = count_holders(arena.alive, arena.shared)
    return arena._replace(alive=alive, own=None, voted=None)


def block_of(scenario: Scenario, runs: Sequence[Arena]) -> Block:
    """What some runs came to, of each of which the tables are ``closed``."""
    columns: dict[str, Any] = {
        name: np.stack([getattr(arena, name) for arena in runs], axis=-1) for name in READ
    }
    if not scenario.scheme.by_message:
        columns["alive"] = np.stack([arena.alive for arena in runs], axis=-1)
    first_vote = runs[0].first_vote[None]
    if len(runs) > 1:  # a single one may be of ten million players, and is not copied
        first_vote = np.stack([arena.first_vote for arena in runs])
    return outcomes_of(scenario, runs[0]._replace(**columns), Votes.of(first_vote))


def outcomes_of(scenario: Scenario, arena: Arena, votes: Votes) -> Block:
    """What some runs came to, whose tables have one more axis, the last: a place for each run.

    These are the tables named in ``READ`` and, where players do not vote, ``alive``.
    """
    engine = scenario.scheme.engine
    assert engine is not None
    counters, by_message = arena.counters, scenario.scheme.by_message
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
