"""One run in progress: its arrays, its streams, and the compiled loop that advances it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from devote.kernels import State, tables
from devote.kernels.tables import AGREED, STALLED, Arena
from devote.problems import Uniform, is_suboptimal
from devote.protocol import RunStatus
from devote.simulate.engine.compiling import compiled_loop
from devote.simulate.optimality import judge_answer
from devote.simulate.scenario import Scenario
from devote.simulate.streams import NAMES, numpy_stream
from devote.simulate.trial import NEVER, Event, Trial

BLOCK = 8192
TRACE_ROWS = 4096
CACHED_PLAYERS = 4096
"""With more players, their memory no longer fits the fast caches."""

STATUS: dict[int, RunStatus] = {AGREED: "agreed", STALLED: "stalled"}
_COUNTED = {
    "broadcasts": tables.BROADCASTS,
    "conflicts": tables.CONFLICTS,
    "resets": tables.RESETS,
    "suboptimal_plays": tables.SUBOPTIMAL,
}


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
        self.learners = _learners(scenario, rows)
        environment = scenario.problem.environment(n)
        bad = [is_suboptimal(environment, scenario.spec.epsilon, 0, 0, arm) for arm in range(k)]
        buffers: dict[str, Any] = {
            name: np.array(values)
            for name, values in environment._asdict().items()
            if isinstance(values, list)
        }
        self.environment = environment._replace(**buffers)
        uniform = isinstance(scenario.problem.activity, Uniform)
        threshold, alias = ([1.0], [0]) if uniform else scenario.problem.waking(n)
        self.waking = (np.array(threshold), np.array(alias))
        steady = (
            environment.n_groups == 1
            and environment.n_segments == 1
            and not any(environment.slopes)
        )
        self.arena = Arena(
            n_players=n,
            epsilon=scenario.spec.epsilon,
            endless=int(scenario.algorithm.endless),
            even=int(np.all(self.waking[0] == 1.0)),
            vast=int(n > CACHED_PLAYERS),
            steady=int(steady),
            tracing=int(tracing),
            recording=int(recording),
            scheme=scheme.constants(scenario.spec, n),
            counters=np.zeros(tables.N_COUNTERS, dtype=np.int64),
            alive=self.learners.alive,
            own=np.zeros((own, self.engine.words), dtype=np.int32),
            voted=np.zeros((BLOCK if self.engine.keeps_log else own, k), dtype=np.int8),
            first_vote=np.full(n, NEVER, dtype=np.int32),
            tally=np.zeros(k, dtype=np.int64),
            by_arm=np.zeros((k, self.engine.arm_words), dtype=np.int64),
            shared=np.ones(k, dtype=np.int8),
            before=np.ones(k, dtype=np.int8),
            out=np.zeros(k, dtype=np.int32),
            good=1 - np.array(bad, dtype=np.int64),
            events=np.zeros((TRACE_ROWS + 2 * k + 2, 5), dtype=np.int64),
            arm_pulls=np.zeros(k, dtype=np.int64),
            player_pulls=np.zeros(n if recording else 1, dtype=np.int64),
        )
        self.counters: NDArray[np.int64] = self.arena.counters
        self.counters[tables.N_SHARED] = k
        self.events: list[Event] = []
        self.rule = scenario.rule
        self.loop = compiled_loop(*scenario.loop)
        names = (*NAMES, "noise") if scheme.noisy else NAMES
        self._streams = [numpy_stream(seed, trial, name) for name in names]

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

    def advance(self, most: int = BLOCK) -> None:
        """Make up to ``most`` pulls, fewer if the run ends before."""
        horizon = self.scenario.horizon
        size = min(most, BLOCK if horizon is None else horizon - self.samples)
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
        counters: dict[str, Any] = {n: int(self.counters[i]) for n, i in _COUNTED.items()}
        if not self.engine.one_learner:  # counted anew: a run may have been cut short
            tables.count_holders(self.arena)
        status = STATUS.get(self.engine.ended(self.arena), "unfinished")
        winners = self.engine.winners(self.arena, status)
        decided = int(self.counters[tables.DECIDED]) or NEVER
        if not self.scenario.scheme.by_message and status != "unfinished":
            decided = self.samples
        good = judge_answer(self.scenario, status, winners, self.samples)
        return Trial(
            samples=self.samples,
            samples_to_decision=decided,
            deliveries=counters["broadcasts"] * (self.scenario.n_players - 1),
            status=status,
            winners=winners,
            epsilon_optimal=good.first,
            holds_epsilon_optimal=good.holds,
            first_vote=tuple(self.arena.first_vote.tolist()),
            trace=tuple(self.events) if self.arena.tracing else None,
            **counters,
        )


def _learners(scenario: Scenario, rows: int) -> Any:
    """Every learner's buffers, a row each."""
    fresh = scenario.algorithm.new_state(scenario.spec.n_arms)
    kinds: dict[str, Any] = {"alive": np.int8, "pulls": np.int32, "ints": np.int32}
    buffers: dict[str, Any] = {
        name: np.tile(np.array(values or [0.0], dtype=kinds.get(name, np.float64)), (rows, 1))
        for name, values in fresh._asdict().items()
    }
    return State(**buffers)
