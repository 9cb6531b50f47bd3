"""One run in progress: its arrays, its streams, and the compiled loop that advances it."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from devote.kernels import tables
from devote.kernels.tables import Arena
from devote.problems import Uniform
from devote.simulate.engine.compiling import compiled_loop
from devote.simulate.engine.outcomes import block_of, closed
from devote.simulate.engine.setting import environment_arrays, learner_buffers, new_arena
from devote.simulate.scenario import Scenario
from devote.simulate.streams import NAMES, counted_stream, numpy_stream
from devote.simulate.trial import Event, Trial

BLOCK = 8192
FIRST_BLOCK = 512
"""Later blocks are longer: a run of some hundred pulls draws no thousands of uniforms."""

TRACE_ROWS = 4096
CACHED_PLAYERS = 4096
"""With more players, their memory no longer fits the fast caches."""


class Run:
    """The arrays of one run, and the named streams of its trial."""

    def __init__(
        self,
        scenario: Scenario,
        *,
        seed: int = 0,
        trial: int = 0,
        tracing: bool = False,
        recording: bool = False,
    ) -> None:
        self.scenario = scenario
        scheme = scenario.scheme
        assert scheme.engine is not None
        self.engine = scheme.engine
        n, k = scenario.n_players, scenario.spec.n_arms
        rows = 1 if self.engine.one_learner else n
        own = n if self.engine.apart else rows
        self.learners = learner_buffers(scenario, rows)
        environment = scenario.problem.environment(n)
        self.environment = environment_arrays(environment)
        uniform = isinstance(scenario.problem.activity, Uniform)
        threshold, alias = ([1.0], [0]) if uniform else scenario.problem.waking(n)
        self.waking = (np.array(threshold), np.array(alias))
        self.arena = new_arena(
            scenario,
            environment,
            even=int(np.all(self.waking[0] == 1.0)),
            vast=int(n > CACHED_PLAYERS),
            tracing=int(tracing),
            recording=int(recording),
            alive=self.learners.alive,
            own=np.zeros((own, self.engine.words), dtype=np.int32),
            voted=np.zeros((BLOCK if self.engine.keeps_log else own, k), dtype=np.int8),
            events=np.zeros((TRACE_ROWS + 2 * k + 2, 5), dtype=np.int64),
        )
        self.counters: NDArray[np.int64] = self.arena.counters
        self.events: list[Event] = []
        self.rule = scenario.rule
        self.loop = compiled_loop(*scenario.loop[:2])
        names = (*NAMES, "noise") if scheme.noisy else NAMES
        # Where every pull concerns all, clocks are merged into one.
        clocks = scenario.runs_on in ("clocks", "cuda") and not scenario.own_clocks
        make: Any = counted_stream if clocks else numpy_stream
        self._streams = [make(seed, trial, name) for name in names]

    @property
    def samples(self) -> int:
        """Pulls so far."""
        return int(self.counters[tables.TIME])

    @property
    def arms_left(self) -> int:
        """The arms still open to all; where players do not vote, those that somebody holds."""
        if self.scenario.scheme.by_message:
            return int(self.counters[tables.N_SHARED])
        alive: NDArray[np.int8] = self.learners.alive
        return int(alive.any(axis=0).sum())

    @property
    def over(self) -> bool:
        """Whether the run has ended or reached its horizon."""
        horizon = self.scenario.horizon
        ended = bool(self.counters[tables.ENDED])
        return ended or (horizon is not None and self.samples >= horizon)

    def advance(self, most: int | None = None) -> None:
        """Make up to ``most`` pulls, fewer if the run ends before; without it, a block of them."""
        horizon = self.scenario.horizon
        size = min(max(FIRST_BLOCK, self.samples), BLOCK) if most is None else most
        if horizon is not None:
            size = min(size, horizon - self.samples)
        self.feed(*(stream.random(size) for stream in self._streams))

    def feed(self, *uniforms: NDArray[np.float64]) -> None:
        """Make one pull per row of uniforms: who wakes, what is chosen and paid, and noise."""
        left = uniforms if len(uniforms) == 4 else (*uniforms, uniforms[0])
        while len(left[0]) and not self.counters[tables.ENDED]:
            before = self.samples
            if self.engine.keeps_log:
                self._make_room(len(left[0]))
            self.loop(self.environment, self.rule, self.waking, self.learners, self.arena, *left)
            self._take_events()
            done = self.samples - before
            left = tuple(column[done:] for column in left)

    def _make_room(self, pulls: int) -> None:
        """Lengthen the log of messages, so that each pull may write one about the same arm."""
        log = self.arena.voted
        needed = int(self.arena.tally.max()) + pulls
        if needed > len(log):
            room = np.zeros((max(needed, 2 * len(log)), log.shape[1]), dtype=log.dtype)
            room[: len(log)] = log
            self.arena = self.arena._replace(voted=room)

    def _take_events(self) -> None:
        names = self.engine.events
        for row in self.arena.events[: self.counters[tables.N_EVENTS]].tolist():
            time, kind, player, arm, term = row
            self.events.append(Event(time, names[kind], player, arm, term))
        self.counters[tables.N_EVENTS] = 0

    def outcome(self) -> Trial:
        """What the run came to."""
        [trial] = block_of(self.scenario, [self.close()])
        return replace(trial, trace=tuple(self.events) if self.arena.tracing else None)

    def close(self) -> Arena:
        """The tables that say what it came to."""
        return closed(self.scenario, self.arena)
