"""The slow path: real players, one pull at a time, with nothing installed.

It is what the compiled loop is compared with, and what a device runs, minus the network: every
message is delivered at once and to all.

Paper: Algorithms 1 and 2.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import count

from devote.problems import Problem, is_suboptimal, pay, pick
from devote.problems.rewards import row_at
from devote.protocol import ExperimentSpec, Message, Player
from devote.protocol.messages import kind_of
from devote.rules import split
from devote.schemes.survey.segment_tally import SegmentedAnswers
from devote.simulator.optimality import environment, judge_answer
from devote.simulator.reference import reference_of, separate_players
from devote.simulator.rule_check import check_first
from devote.simulator.scenario import Scenario
from devote.simulator.streams import Triple, stream, triples
from devote.simulator.trial import NEVER, Event, Point, Record, Trial, checkpoints

CHECK_EVERY = 65_536
"""Pulls between two looks at whether a trial has gone on for too long."""


def run_players(
    spec: ExperimentSpec,
    problem: Problem,
    n_players: int,
    *,
    uniforms: Iterable[Triple] | None = None,
    horizon: int | None = None,
    seed: int = 0,
    trial: int = 0,
    trace: bool = False,
    record: bool = False,
) -> Trial:
    """Run one trial with player objects; ``uniforms`` replaces the trial's own streams.

    >>> from devote.problems import Problem
    >>> toy = Problem("toy", [0.9, 0.1])
    >>> spec = ExperimentSpec(arms=2, algorithm="ser3", eta=0.5, delta=0.1)
    >>> run_players(spec, toy, 6).winners
    (0,)
    """
    scenario = Scenario(spec, problem, n_players, horizon)
    check_first(scenario.algorithm, must_vote=horizon is None)
    run = _Run(scenario, record)
    run.play(uniforms if uniforms is not None else triples(seed, trial), seed, trial)
    return run.outcome(trace)


def draws_of(u: float) -> Callable[[], float]:
    """Random numbers split off one, as compiled code splits them (``segments.write_signs``)."""

    def draws(rest: float) -> Iterator[float]:
        while True:
            draw, rest = split(rest)
            yield draw

    return draws(u).__next__


class _Run:
    """Who plays and what is counted."""

    def __init__(self, scenario: Scenario, recording: bool) -> None:
        self.scenario = scenario
        self.reference = reference_of(scenario.scheme)
        self.players = self.reference.players(scenario.spec, scenario.n_players)
        self.board = scenario.scheme.tally(scenario.spec)
        self.distinct = list({id(player): player for player in self.players}.values())
        # Of those who share a tally one receives for all.
        self.receivers = list({id(player.tally): player for player in self.distinct}.values())
        self.samples = 0
        self.broadcasts = 0
        self.suboptimal = 0
        self.decided = NEVER
        self.first_vote = [NEVER] * scenario.n_players
        self.pulls = [0] * scenario.n_players
        self.events: list[Event] = []
        self.recording = recording
        self.arm_pulls = [0] * scenario.spec.n_arms
        self.points: list[list[Point]] = []
        self.groups = environment(scenario).groups
        self.by_group = [[0, 0] for _ in range(max(self.groups) + 1)]

    def play(self, uniforms: Iterable[Triple], seed: int, trial: int) -> None:
        scenario = self.scenario
        scheme, ends = scenario.scheme, not scenario.algorithm.endless
        epsilon, players, distinct = scenario.spec.epsilon, self.players, self.distinct
        env = scenario.problem.environment(scenario.n_players)
        waking = scenario.problem.waking(scenario.n_players)
        drifts = any(env.slopes)
        is_poor: dict[tuple[int, int], int] = {}  # by row of means and arm, where nothing drifts
        noise = stream(seed, trial, "noise").random if scheme.sending.noisy else float
        names = scheme.sending.segments
        times = count() if scenario.horizon is None else range(scenario.horizon)
        stops = checkpoints() if self.recording else iter(())
        stop = next(stops, NEVER)
        # In this order: a horizon that is reached must not take one more draw.
        for t, (u_wake, u_choose, u_pay) in zip(times, uniforms, strict=False):
            n = pick(*waking, u_wake)
            player = players[n]
            self.samples += 1
            self.pulls[n] += 1
            u_noise = noise()
            segment = names[env.groups[n]] if names else None
            arm = player.activate(u_choose, u_noise, segment=segment, draws=draws_of(u_noise))
            if messages := player.outgoing():
                self._deliver(t, n, player, messages)
            where = row_at(env, t, n), arm
            if drifts or where not in is_poor:
                is_poor[where] = is_suboptimal(env, epsilon, t, n, arm)
            self.suboptimal += is_poor[where]
            self.by_group[self.groups[n]][0] += is_poor[where]
            self.arm_pulls[arm] += 1
            if messages := player.reward(pay(env, t, n, arm, u_pay)):
                self._deliver(t, n, player, messages)
            if self.samples == stop:
                self.points.append(self._points())
                stop = next(stops)
            if t % CHECK_EVERY == 0:
                scenario.check_goes_on(self.samples, self.broadcasts)
            if ends and self.reference.is_over(distinct, scenario.n_players):
                return

    def _deliver(self, t: int, n: int, sender: Player, messages: list[Message]) -> None:
        term = getattr(sender, "term", 0)
        before = self.board.shared
        self.broadcasts += len(messages)
        self.by_group[self.groups[n]][1] += len(messages)
        for message in messages:
            for player in self.receivers:
                player.receive(message)
            arm = getattr(message, "arm", -1)
            if arm >= 0 and self.first_vote[n] == NEVER:
                self.first_vote[n] = self.pulls[n]
            if type(message) in self.scenario.scheme.about.messages:
                self.board.add(message)
                self.events.append(Event(t, kind_of(message).name, n, arm, term))
        after = self.board.shared
        for arm in before if len(before) > len(after) else ():
            if arm not in after:
                self.events.append(Event(t, "elimination", n, arm, term))
        if self.board.status(self.scenario.n_players) == "open":
            self.decided = NEVER
        elif self.decided == NEVER:
            self.decided = self.samples

    def _points(self) -> list[Point]:
        """How it stands; where there are groups of players, then how each of them stands."""
        scenario = self.scenario
        held = {arm for player in self.distinct for arm in player.remaining}
        left = len(self.board.shared) if scenario.scheme.about.by_message else len(held)
        made = [Point(self.samples, self.suboptimal, self.broadcasts, left)]
        if len(self.by_group) > 1:
            for group, (bad, sent) in enumerate(self.by_group):
                if isinstance(self.board, SegmentedAnswers):
                    left = len(self.board.left(group))
                made.append(Point(self.samples, bad, sent, left))
        return made

    def _record(self) -> Record:
        if not self.points or self.points[-1][0].samples < self.samples:
            self.points.append(self._points())
        everybody, *groups = zip(*self.points, strict=True)
        return Record(everybody, tuple(self.arm_pulls), tuple(self.pulls), tuple(groups))

    def outcome(self, trace: bool) -> Trial:
        scenario = self.scenario
        status, winners = self.reference.standing(self.distinct, scenario.n_players)
        if not scenario.scheme.about.by_message and status != "unfinished":
            self.decided = self.samples
        answers: tuple[int, ...] = ()
        if isinstance(self.board, SegmentedAnswers):
            won = [
                self.board.leader(z) if self.board.is_decided(z) else NEVER
                for z in range(self.board.n_segments)
            ]
            answers = tuple(won[group] for group in environment(scenario).groups)
        elif not scenario.scheme.about.by_message and self.reference.players is separate_players:
            held = (player.remaining for player in self.players)
            answers = tuple(arms[0] if len(arms) == 1 else NEVER for arms in held)
        pairs = set(zip(environment(scenario).groups, answers, strict=True)) if answers else set()
        good = judge_answer(scenario, status, winners, self.samples, pairs)
        return Trial(
            samples_until_all_know=self.samples,
            samples=self.decided,
            broadcasts=self.broadcasts,
            deliveries=self.broadcasts * (scenario.n_players - 1),
            status=status,
            winners=winners,
            epsilon_optimal=good.first,
            holds_epsilon_optimal=good.holds,
            conflicts=sum(player.conflicts for player in self.distinct),
            resets=sum(player.learner.resets for player in self.distinct),
            suboptimal_plays=self.suboptimal,
            first_vote=tuple(self.first_vote),
            player_answers=answers,
            trace=tuple(self.events) if trace else None,
            record=self._record() if self.recording else None,
        )
