"""Many trials of one scenario at once, each with the clocks of its players merged into one."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from devote.kernels import State, get_algorithm
from devote.protocol.scheme import SCHEMES
from devote.simulate.block import Block
from devote.simulate.engine.gpu.arrays import (
    on_device,
    repeated,
    setting_of,
    stream_keys,
    waking_of,
)
from devote.simulate.engine.gpu.events import make_events
from devote.simulate.engine.gpu.lane import InLane
from devote.simulate.engine.gpu.tables import Merged, Shape
from devote.simulate.engine.gpu.target import ALONE, compile_kernel
from devote.simulate.engine.outcomes import closed, outcomes_of
from devote.simulate.engine.setting import (
    environment_arrays,
    fresh_learner,
    learner_buffers,
    new_arena,
)
from devote.simulate.votes import Votes

WARP = 32
FEW = 4096
"""Trials that the device can run in a warp each, so that none waits for the others' branches."""

MOST = 1 << 16
"""Pulls of each trial in one launch."""


@cache
def compiled_events(algorithm: str, scheme: str) -> Any:
    """The kernel for a subroutine and a scheme; compiled when first run."""
    engine = SCHEMES[scheme].engine
    assert engine is not None
    return compile_kernel(make_events, get_algorithm(algorithm), engine)


class MergedBatch(InLane):
    """Some trials of one scenario, all at once."""

    def _make(self, seed: int, trials: Sequence[int]) -> None:
        scenario = self.scenario
        engine = scenario.scheme.engine
        assert engine is not None
        n, k, n_trials = scenario.n_players, scenario.spec.n_arms, len(trials)
        rows = 1 if engine.one_learner else n
        own = n if engine.apart else rows
        plain = scenario.problem.environment(n)
        self.arena = arena = new_arena(scenario, plain, alive=None, own=None, voted=None)
        buffers = learner_buffers(fresh_learner(scenario), rows)
        tables = Merged(
            own=np.zeros((n_trials, own, engine.words), dtype=np.int32),
            voted=np.zeros((n_trials, own, k), dtype=np.int8),
            **{
                name: repeated(getattr(arena, name), n_trials)
                for name in Merged._fields
                if name not in ("own", "voted")
            },
        )
        environment, waking, setting, self.learners, self.tables, keys, self.busy = on_device(
            (
                environment_arrays(plain),
                waking_of(scenario),
                setting_of(scenario, arena),
                State(*(repeated(values, n_trials) for values in buffers)),
                tables,
                stream_keys(scenario, seed, trials),
                (np.zeros(1, dtype=np.int8), np.zeros(1, dtype=np.int8)),
            ),
            self.lane,
        )
        given = (environment, scenario.rule, waking, setting, Shape(n_trials, n, 0))
        self.given = (*given, self.learners, self.tables, keys, MOST)
        with ALONE:
            self.kernel = compiled_events(*scenario.loop[:2])
        self.threads = 1 if n_trials <= FEW else WARP
        self.blocks = -(-n_trials // self.threads)

    def play(self) -> None:
        """Run all trials to their end."""
        stream, (busy, idle) = self.lane.stream, self.busy
        going = True
        while going:
            busy.copy_to_device(idle, stream=stream)
            with ALONE:
                self.kernel[self.blocks, self.threads, stream](*self.given, busy)
            self.lane.ask(busy)
            going = self.lane.answer != 0

    def outcomes(self) -> Block:
        """What each trial came to."""
        names = ("counters", "tally", "by_arm", "shared")
        fetch = self.lane.fetch
        columns = {name: np.moveaxis(fetch(getattr(self.tables, name)), 0, -1) for name in names}
        alive = np.moveaxis(fetch(self.learners.alive), 0, -1)
        arena = self.arena._replace(alive=alive, **columns)
        votes = Votes.of(fetch(self.tables.first_vote))
        return outcomes_of(self.scenario, closed(self.scenario, arena), votes)
