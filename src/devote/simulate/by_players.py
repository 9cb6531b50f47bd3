"""The slow path: real ``Player`` objects, one pull at a time, with nothing installed.

It is what the compiled loop is compared with, and what a device runs, minus the network:
every message is delivered at once and to all.

Paper: Algorithms 1 and 2.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from itertools import count

from devote.problems import Environment, Problem, is_suboptimal, pay, pick
from devote.protocol import ExperimentSpec, Learner, Message, Player, Reset, Vote
from devote.simulate.optimality import judge_answer
from devote.simulate.setting import Setting
from devote.simulate.streams import Triple, triples
from devote.simulate.trial import NEVER, Event, RunStatus, Trial


def run_players(
    spec: ExperimentSpec,
    problem: Problem,
    n_players: int,
    *,
    protocol: str | None = None,
    seed: int = 0,
    trial: int = 0,
    horizon: int | None = None,
    uniforms: Iterable[Triple] | None = None,
    trace: bool = False,
) -> Trial:
    """Run one trial with ``Player`` objects; ``uniforms`` replaces the trial's own streams.

    >>> from devote.problems import Problem
    >>> toy = Problem("toy", [0.9, 0.1])
    >>> spec = ExperimentSpec(arms=2, algorithm="ser3", eta=0.5, delta=0.1)
    >>> run_players(spec, toy, 6).winners
    (0,)
    """
    setting = Setting.of(spec, problem, n_players, protocol, horizon)
    run = _RUNS[setting.protocol.name](setting)
    run.play(iter(uniforms) if uniforms is not None else triples(seed, trial))
    return run.outcome(trace)


class _Run(ABC):
    """Who plays and what is counted; protocols differ in what a pull sets off."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.samples = 0
        self.broadcasts = 0
        self.suboptimal = 0
        self.first_vote = [NEVER] * setting.n_players
        self.pulls = [0] * setting.n_players
        self.events: list[Event] = []
        self._env: Environment = setting.problem.environment(setting.n_players)
        self._endless = setting.algorithm.endless

    def play(self, uniforms: Iterator[Triple]) -> None:
        waking = self.setting.problem.waking(self.setting.n_players)
        horizon = self.setting.horizon
        for t in count() if horizon is None else range(horizon):
            u_wake, u_choose, u_pay = next(uniforms)
            player = pick(*waking, u_wake)
            arm = self.choose(player, u_choose)
            self.suboptimal += is_suboptimal(self._env, self.setting.spec.epsilon, t, player, arm)
            self.samples += 1
            self.pulls[player] += 1
            self.observe(t, player, pay(self._env, t, player, arm, u_pay))
            if not self._endless and self.status() != "unfinished":
                return

    @abstractmethod
    def choose(self, player: int, u: float) -> int: ...

    @abstractmethod
    def observe(self, t: int, player: int, reward: float) -> None: ...

    @abstractmethod
    def status(self) -> RunStatus: ...

    @abstractmethod
    def winners(self) -> tuple[int, ...]: ...

    def conflicts(self) -> int:
        return 0

    @abstractmethod
    def resets(self) -> int: ...

    def outcome(self, trace: bool) -> Trial:
        status, winners = self.status(), self.winners()
        good = judge_answer(self.setting, status, winners, self.samples)
        return Trial(
            samples=self.samples,
            broadcasts=self.broadcasts,
            deliveries=self.broadcasts * (self.setting.n_players - 1),
            status=status,
            winners=winners,
            epsilon_optimal=good.first,
            holds_epsilon_optimal=good.holds,
            conflicts=self.conflicts(),
            resets=self.resets(),
            suboptimal_plays=self.suboptimal,
            first_vote=tuple(self.first_vote),
            trace=tuple(self.events) if trace else None,
        )


class _Decentralized(_Run):
    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        name = setting.protocol.name
        self.players = [Player(setting.spec, str(n), name) for n in range(setting.n_players)]
        self._resets = 0

    def choose(self, player: int, u: float) -> int:
        return self.players[player].activate(u)

    def observe(self, t: int, player: int, reward: float) -> None:
        before = self.players[player].shared
        messages = self.players[player].reward(reward)
        if not messages:
            return
        for message in messages:
            self._deliver(t, player, message)
        if self.first_vote[player] == NEVER and isinstance(messages[-1], Vote):
            self.first_vote[player] = self.pulls[player]
        after = self.players[player].shared
        term = self.players[player].term
        for arm in before if len(before) > len(after) else ():
            if arm not in after:
                self.events.append(Event(t, "elimination", player, arm, term))

    def _deliver(self, t: int, sender: int, message: Message) -> None:
        self.broadcasts += 1
        if isinstance(message, Vote):
            self.events.append(Event(t, "vote", sender, message.arm, message.term))
        elif isinstance(message, Reset):
            self._resets += 1
            self.events.append(Event(t, "reset", sender, -1, message.term))
        else:
            self.events.append(Event(t, "seat", sender, -1, self.players[sender].term))
        for player in self.players:
            player.receive(message)

    def status(self) -> RunStatus:
        ballot = self.players[0].ballot
        state = ballot.status(self.setting.n_players)
        if state == "stalled":
            return "stalled"
        if state == "agreed" and all(p.remaining == ballot.shared for p in self.players):
            return "agreed"
        return "unfinished"

    def winners(self) -> tuple[int, ...]:
        return self.players[0].ballot.answer

    def conflicts(self) -> int:
        return sum(player.conflicts for player in self.players)

    def resets(self) -> int:
        return self._resets


class _Learners(_Run):
    """Players who do not vote: each alone, or all as one."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        n_learners = 1 if setting.protocol.pools else setting.n_players
        eta = setting.protocol.subroutine_eta(setting.spec, setting.n_players)
        self.learners = [Learner(setting.spec, eta) for _ in range(n_learners)]

    def _learner(self, player: int) -> Learner:
        return self.learners[0 if self.setting.protocol.pools else player]

    def choose(self, player: int, u: float) -> int:
        return self._learner(player).activate(u)

    def observe(self, t: int, player: int, reward: float) -> None:
        self._learner(player).reward(reward)
        if self.setting.protocol.pools:
            self.broadcasts += 1

    def status(self) -> RunStatus:
        if any(learner.best is None for learner in self.learners):
            return "unfinished"
        return "agreed" if len(self.winners()) == 1 else "stalled"

    def winners(self) -> tuple[int, ...]:
        return tuple(sorted({arm for learner in self.learners for arm in learner.remaining}))

    def resets(self) -> int:
        return sum(learner.resets for learner in self.learners)


_RUNS: dict[str, type[_Run]] = {
    "decentralized": _Decentralized,
    "jury": _Decentralized,
    "isolated": _Learners,
    "pooled": _Learners,
}
