"""One run, seen as it goes: a frame every few pulls."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from devote.protocol import RunStatus
from devote.rules import COUNT, State, get_algorithm
from devote.simulator.run import Run
from devote.simulator.scenario import Scenario
from devote.simulator.trial import Event


@dataclass(frozen=True)
class Frame:
    """How a run stands after some pulls, and the events since the frame before.

    ``votes[k]`` counts the messages about arm k, ``holders[k]`` the players who still hold it,
    ``players_done`` those with one arm left. Where there is one learner for all, ``asked`` has the
    arms that it asks about now; elsewhere those that are shared.
    """

    samples: int
    broadcasts: int
    votes: tuple[int, ...]
    term: int
    shared: tuple[bool, ...]
    asked: tuple[bool, ...]
    n_shared: int
    holders: tuple[int, ...]
    n_learners: int
    players_done: int
    winners: tuple[int, ...]
    status: RunStatus
    over: bool
    events: tuple[Event, ...]


def frames(
    scenario: Scenario, *, seed: int = 0, trial: int = 0, step: int = 1000
) -> Iterator[Frame]:
    """Run one trial, the very one that ``simulate`` would, and show it every ``step`` pulls.

    >>> from devote.problems import Problem
    >>> from devote.protocol import ExperimentSpec
    >>> spec = ExperimentSpec(arms=2, eta=0.5, delta=0.1)
    >>> last = list(frames(Scenario(spec, Problem("toy", [0.9, 0.1]), 6)))[-1]
    >>> last.status, last.players_done, last.winners
    ('agreed', 6, (0,))
    """
    run = Run(scenario, seed=seed, trial=trial, tracing=True)
    seen = 0
    while not run.over:
        run.advance(most=step)
        yield _frame(run, run.events[seen:])
        seen = len(run.events)


def _frame(run: Run, events: list[Event]) -> Frame:
    outcome = run.outcome()
    alive: Any = run.learners.alive
    ints: Any = run.learners.ints
    by_message = run.scenario.scheme.about.by_message
    shared = run.tables.shared.astype(bool) if by_message else alive.any(axis=0)
    return Frame(
        samples=outcome.samples_until_all_know,
        broadcasts=outcome.broadcasts,
        term=int(run.group["term"]),
        votes=tuple(run.tables.tally[: len(shared)].tolist()),
        shared=tuple(shared.tolist()),
        asked=_asked(run) if len(alive) == 1 else tuple(shared.tolist()),
        holders=tuple(alive.sum(axis=0, dtype=np.int64).tolist()),
        n_shared=run.arms_left,
        n_learners=len(alive),
        players_done=int((ints[:, COUNT] == 1).sum()),
        status=outcome.status,
        over=run.over,
        winners=outcome.winners,
        events=tuple(events),
    )


def _asked(run: Run) -> tuple[bool, ...]:
    """Which arms the one learner asks about."""
    scenario = run.scenario
    rows: Any = run.learners
    learner = State(*(buffer[0] for buffer in rows))
    asks = get_algorithm(scenario.spec.algorithm).asks
    return tuple(bool(asks(scenario.rule, learner, k)) for k in range(scenario.spec.n_arms))
