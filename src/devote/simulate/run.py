"""One run in progress: its arrays, and the compiled loop that advances them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from devote.kernels import COUNT, State
from devote.problems import Uniform, is_suboptimal
from devote.simulate import counting
from devote.simulate.compiling import compiled_loop
from devote.simulate.optimality import judge_answer
from devote.simulate.setting import Setting
from devote.simulate.trial import EVENTS, Event, RunStatus, Trial

BLOCK = 8192
TRACE_ROWS = 4096
CACHED_PLAYERS = 4096
"""With more players, their memory no longer fits the fast caches."""


@dataclass
class Run:
    """The arrays of one run in progress."""

    setting: Setting
    tracing: bool = False

    def __post_init__(self) -> None:
        setting = self.setting
        n, k = setting.n_players, setting.spec.n_arms
        algorithm, protocol = setting.algorithm, setting.protocol
        rows = 1 if protocol.pools else n
        fresh = algorithm.new_state(k)
        self.learners: Any = State(
            alive=_rows(fresh.alive, rows, np.int8),
            pulls=_rows(fresh.pulls, rows, np.int32),
            sums=_rows(fresh.sums, rows, np.float64),
            ints=_rows(fresh.ints, rows, np.int32),
            floats=_rows(fresh.floats or [0.0], rows, np.float64),
        )
        environment = setting.problem.environment(n)
        steady = (
            environment.n_groups == 1
            and environment.n_segments == 1
            and not any(environment.slopes)
        )
        bad = [is_suboptimal(environment, setting.spec.epsilon, 0, 0, arm) for arm in range(k)]
        buffers: dict[str, Any] = {
            name: np.array(values)
            for name, values in environment._asdict().items()
            if isinstance(values, list)
        }
        self.environment = environment._replace(**buffers)
        uniform = isinstance(setting.problem.activity, Uniform)
        threshold, alias = ([1.0], [0]) if uniform else setting.problem.waking(n)
        self.waking = (np.array(threshold), np.array(alias))
        own = np.zeros((rows, counting.N_OWN), dtype=np.int32)
        own[:, counting.OPEN] = k
        self.tables = counting.Tables(
            own=own,
            voted=np.zeros((rows, k), dtype=np.int8),
            first_vote=np.full(n, -1, dtype=np.int32),
            tally=np.zeros(k, dtype=np.int64),
            shared=np.ones(k, dtype=np.int8),
            before=np.ones(k, dtype=np.int8),
            out=np.zeros(k, dtype=np.int32),
            good=1 - np.array(bad, dtype=np.int64),
            events=np.zeros((TRACE_ROWS + 2 * k + 2, 5), dtype=np.int64),
        )
        self.setup = counting.Setup(
            n_players=n,
            votes_needed=protocol.votes_needed(setting.spec),
            n_seats=protocol.seats_to_fill(setting.spec),
            seat_after=setting.spec.seat_after,
            endless=int(algorithm.endless),
            even=int(np.all(self.waking[0] == 1.0)),
            vast=int(n > CACHED_PLAYERS),
            steady=int(steady),
            tracing=int(self.tracing),
        )
        self.counters: NDArray[np.int64] = np.zeros(counting.N_COUNTERS, dtype=np.int64)
        self.counters[counting.N_SHARED] = k
        self.events: list[Event] = []
        self.rule = setting.rule
        self.loop = compiled_loop(setting.spec.algorithm, protocol.name)

    @property
    def samples(self) -> int:
        """Pulls so far."""
        return int(self.counters[counting.TIME])

    @property
    def over(self) -> bool:
        """Whether the run has ended or reached its horizon."""
        horizon = self.setting.horizon
        ended = bool(self.counters[counting.ENDED])
        return ended or (horizon is not None and self.samples >= horizon)

    def next_block(self) -> int:
        """How many pulls to make next."""
        horizon = self.setting.horizon
        return BLOCK if horizon is None else min(BLOCK, horizon - self.samples)

    def advance(
        self,
        u_wake: NDArray[np.float64],
        u_choose: NDArray[np.float64],
        u_pay: NDArray[np.float64],
    ) -> None:
        """Make one pull per row of uniforms, unless the run ends before."""
        uniforms = (u_wake, u_choose, u_pay)
        while len(uniforms[0]) and not self.counters[counting.ENDED]:
            before = self.samples
            self.loop(
                self.environment,
                self.rule,
                self.setup,
                self.waking,
                self.learners,
                self.tables,
                self.counters,
                *uniforms,
            )
            self._take_events()
            done = self.samples - before
            uniforms = (uniforms[0][done:], uniforms[1][done:], uniforms[2][done:])

    def _take_events(self) -> None:
        for row in self.tables.events[: self.counters[counting.N_EVENTS]].tolist():
            time, kind, player, arm, term = row
            self.events.append(Event(time, EVENTS[kind], player, arm, term))
        self.counters[counting.N_EVENTS] = 0

    def status(self) -> RunStatus:
        """How the run stands."""
        counts = self.learners.ints[:, COUNT]
        if not self.setting.protocol.votes:
            if (counts > 1).any():
                return "unfinished"
            return "agreed" if len(self.winners()) == 1 else "stalled"
        holders = ((self.learners.alive > 0) == (self.tables.shared > 0)).all(axis=1)
        self.counters[counting.HOLDING] = holders.sum()
        code = counting.ending(self.setting.protocol.seats, self.setup, self.counters)
        return _ENDINGS[code]

    def winners(self) -> tuple[int, ...]:
        """The arms still standing, the fewest votes first."""
        if not self.setting.protocol.votes:
            return tuple(np.flatnonzero(self.learners.alive.any(axis=0)).tolist())
        tally = self.tables.tally.tolist()
        if self.counters[counting.SEATED] < self.setup.n_seats:
            tally = [0] * len(tally)  # no vote counts before the jury is complete
        shared = np.flatnonzero(self.tables.shared).tolist()
        return tuple(sorted(shared, key=lambda arm: (tally[arm], arm)))

    def outcome(self) -> Trial:
        """What the run came to."""
        counters = {name: int(self.counters[i]) for name, i in _COUNTED.items()}
        status, winners = self.status(), self.winners()
        good = judge_answer(self.setting, status, winners, self.samples)
        return Trial(
            samples=self.samples,
            deliveries=counters["broadcasts"] * (self.setting.n_players - 1),
            status=status,
            winners=winners,
            epsilon_optimal=good.first,
            holds_epsilon_optimal=good.holds,
            first_vote=tuple(self.tables.first_vote.tolist()),
            trace=tuple(self.events) if self.tracing else None,
            **counters,
        )


_ENDINGS: dict[int, RunStatus] = {
    0: "unfinished",
    counting.AGREED: "agreed",
    counting.STALLED: "stalled",
}

_COUNTED = {
    "broadcasts": counting.BROADCASTS,
    "conflicts": counting.CONFLICTS,
    "resets": counting.RESETS,
    "suboptimal_plays": counting.SUBOPTIMAL,
}


def _rows(values: Any, n: int, dtype: type) -> Any:
    return np.tile(np.array(values, dtype=dtype), (n, 1))
