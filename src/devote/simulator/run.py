"""One run of the event loop in progress: its arrays, its streams, and the loop that advances it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from devote.problems import Uniform, is_suboptimal
from devote.problems.rewards import REPLAY, Environment
from devote.rules import COUNT, Algorithm, State
from devote.simulator.compiling import event_loop
from devote.simulator.errors import rule_fault
from devote.simulator.loop import is_over
from devote.simulator.outcomes import block_of, own_answers
from devote.simulator.part import Ending, Part
from devote.simulator.scenario import Scenario
from devote.simulator.streams import NAMES, Streams
from devote.simulator.trial import NEVER, Event, Point, Trial
from devote.simulator.workspace import (
    FAULT,
    GROUP,
    PLAYER,
    Setup,
    Tables,
    record_type,
)

BLOCK = 8192
FIRST_BLOCK = 512
"""Later blocks are longer: a run of some hundred pulls draws no thousands of uniforms."""

TRACE_ROWS = 4096


def environment_arrays(environment: Environment) -> Any:
    """The buffers behind ``pay`` as arrays."""
    buffers: dict[str, Any] = {
        name: np.array(values)
        for name, values in environment._asdict().items()
        if isinstance(values, list)
    }
    return environment._replace(**buffers)


def new_learners(
    algorithm: Algorithm, n_arms: int, *shape: int, new: Callable[..., Any] = np.zeros
) -> State:
    """The buffers of many learners, in arrays of this shape with their words last; none started."""
    sizes = n_arms, n_arms, n_arms, algorithm.n_ints(n_arms), max(1, algorithm.n_floats)
    kinds = np.int8, np.int32, np.float64, np.int32, np.float64
    return State(*(new((*shape, size), kind) for size, kind in zip(sizes, kinds, strict=True)))


def new_setup(scenario: Scenario) -> Setup:
    """The constants of a scenario."""
    part, problem, n = scenario.part, scenario.problem, scenario.n_players
    assert part is not None
    # Without groups nobody asks whose group a player is in.
    env, epsilon = problem.environment(n if problem.groups else 1), scenario.spec.epsilon
    threshold, alias, spans = [1.0], [0], [1.0]
    if not isinstance(problem.activity, Uniform):
        threshold, alias = problem.waking(n)
        spans = [1.0 / (n * weight) if weight else np.inf for weight in problem.activity.weights(n)]
    constants = part.constants(scenario.spec, n)
    firsts = [env.groups.index(group) for group in range(env.n_groups)]
    arms = range(env.n_arms)
    bad = [is_suboptimal(env, epsilon, 0, first, arm) for first in firsts for arm in arms]
    changes = any(env.slopes) or env.kind == REPLAY
    return Setup(
        n_players=n,
        n_arms=env.n_arms,
        epsilon=epsilon,
        endless=int(scenario.algorithm.endless),
        even=int(min(threshold) == 1.0),
        steady=int(env.n_groups == 1 and env.n_segments == 1 and not changes),
        noisy=int(scenario.scheme.sending.noisy),
        alone=int(part.alone),
        one_learner=int(part.one_learner),
        can_stall=int(part.can_stall(constants, n)),
        tracing=0,
        counting=0,
        env=environment_arrays(env),
        rule=scenario.rule,
        scheme=constants,
        good=1 - np.array(bad, dtype=np.int64),
        threshold=np.array(threshold),
        alias=np.array(alias),
        spans=np.array(spans),
    )


class Run:
    """The arrays of one run, and the named streams of its trial.

    ``start`` begins another trial of the same scenario, with new arrays.
    """

    def __init__(
        self,
        scenario: Scenario,
        *,
        seed: int = 0,
        trial: int = 0,
        tracing: bool = False,
        counting: bool = False,
    ) -> None:
        assert scenario.part is not None
        self.scenario, self.part = scenario, scenario.part
        keep = {"tracing": int(tracing), "counting": int(counting)}
        self.setup = new_setup(scenario)._replace(**keep)
        self._streams = Streams((*NAMES, "noise") if self.setup.noisy else NAMES)
        self._loop = event_loop(scenario.algorithm, self.part)
        self.start(seed, trial)

    def start(self, seed: int, trial: int) -> None:
        """Begin a trial: fresh learners, tables and random streams.

        The tables have a row per player, or per learner where the players of a scheme share one.
        """
        n, k, part, setup = self.setup.n_players, self.setup.n_arms, self.part, self.setup
        learners: Any = new_learners(self.scenario.algorithm, k, 1 if part.one_learner else n)
        learners.alive[:] = 1
        learners.ints[:, COUNT] = k
        self.learners = learners
        self.tables = Tables(
            groups=np.zeros(1, record_type((*GROUP, *part.group), np.int64)).view(np.recarray),
            players=np.zeros(n, record_type((*PLAYER, *part.player), np.int32)).view(np.recarray),
            voted=np.zeros(
                (
                    BLOCK if part.keeps_log else len(learners.alive),
                    part.log_width(setup.scheme, k),
                ),
                np.int8,
            ),
            tally=np.zeros(k + 2, dtype=np.int64),
            by_arm=np.zeros(part.by_arm(setup.scheme, k), dtype=np.int64),
            shared=np.ones(k, dtype=np.int8),
            before=np.ones(k, dtype=np.int8),
            out=np.zeros(k, dtype=np.int32),
            events=np.zeros((TRACE_ROWS + 2 * k + 2 if setup.tracing else 1, 5), dtype=np.int64),
            arm_pulls=np.zeros(k, dtype=np.int64),
            player_pulls=np.zeros(n if setup.counting else 1, dtype=np.int64),
            by_group=np.zeros((setup.env.n_groups, 2), dtype=np.int64),
        )
        self.tables.players["first_vote"] = NEVER
        self.group: Any = self.tables.groups[0]  # a view: what is written there shows here
        self.group["n_shared"] = k
        self.events: list[Event] = []
        self._streams.start(seed, trial)

    @property
    def samples(self) -> int:
        """Pulls so far."""
        return int(self.group["time"])

    @property
    def arms_left(self) -> int:
        """The arms still open to all; where players do not vote, those that somebody holds."""
        if self.scenario.scheme.about.by_message:
            return int(self.group["n_shared"])
        return int(self.learners.alive.any(axis=0).sum())

    def points(self) -> list[Point]:
        """How it stands; where there are groups of players, then how each of them stands."""
        group, left = self.group, self.arms_left
        made = [Point(self.samples, int(group["suboptimal"]), int(group["broadcasts"]), left)]
        if self.setup.env.n_groups > 1:
            each: Any = [left] * self.setup.env.n_groups
            if self.part.left_by_group is not None:
                each = map(len, self.part.left_by_group(self.setup, self.tables))
            rows = zip(self.tables.by_group.tolist(), each, strict=True)
            made += [Point(self.samples, bad, sent, n) for (bad, sent), n in rows]
        return made

    @property
    def over(self) -> bool:
        """Whether the run has ended or reached its horizon."""
        horizon = self.scenario.horizon
        return is_over(self.setup, self.group) or (horizon is not None and self.samples >= horizon)

    def advance(self, most: int | None = None) -> None:
        """Make up to ``most`` pulls, fewer if the run ends before; without it, a block of them."""
        horizon = self.scenario.horizon
        size = min(max(FIRST_BLOCK, self.samples), BLOCK) if most is None else most
        if horizon is not None:
            size = min(size, horizon - self.samples)
        self.feed(*self._streams.random(size))

    def feed(self, *uniforms: NDArray[np.float64]) -> None:
        """Make one pull per row of uniforms: who wakes, what is chosen and paid, and noise."""
        left = uniforms if len(uniforms) == 4 else (*uniforms, uniforms[0])
        while len(left[0]) and not is_over(self.setup, self.group):
            before = self.samples
            if self.part.keeps_log:
                self._make_room(len(left[0]))
            self._loop(self.setup, self.learners, self.tables, *left)
            if self.group["ended"] == FAULT:
                raise rule_fault(self.scenario.spec.algorithm)
            self._take_events()
            done = self.samples - before
            left = tuple(column[done:] for column in left)

    def _make_room(self, pulls: int) -> None:
        """Lengthen the log of messages, so that each pull may write one about the same arm."""
        log = self.tables.voted
        needed = int(self.tables.tally.max()) + pulls
        if needed > len(log):
            room = np.zeros((max(needed, 2 * len(log)), log.shape[1]), dtype=log.dtype)
            room[: len(log)] = log
            self.tables = self.tables._replace(voted=room)

    def _take_events(self) -> None:
        for time, kind, *rest in self.tables.events[: self.group["n_events"]].tolist():
            self.events.append(Event(time, self.part.events[kind], *rest))
        self.group["n_events"] = 0

    def outcome(self) -> Trial:
        """What the run came to."""
        [trial] = block_of(self.scenario, [self.end()])
        return replace(trial, trace=tuple(self.events) if self.setup.tracing else None)

    def end(self) -> Ending:
        """How it stands, for ``block_of``."""
        return end_of(self.part, self.setup, self.learners, self.tables)


def end_of(part: Part, setup: Setup, learners: Any, tables: Tables) -> Ending:
    """How a run of the event loop stands."""
    answers: Any = ()
    if part.left_by_group is not None:
        left = part.left_by_group(setup, tables)
        won = np.array([arms[0] if len(arms) == 1 else NEVER for arms in left], dtype=np.int32)
        answers = won[setup.env.groups]
    elif setup.alone and not setup.one_learner:
        answers = own_answers(learners.alive)
    group = {name: int(tables.groups[name][0]) for name in tables.groups.dtype.names}
    return Ending(
        group=group | {"conflicts": int(tables.players["conflicts"].sum(dtype=np.int64))},
        tally=tables.tally[: len(tables.shared)],
        by_arm=tables.by_arm,
        shared=tables.shared,
        held=learners.alive.any(axis=0),
        first_vote=tables.players["first_vote"],
        player_answers=answers,
    )
