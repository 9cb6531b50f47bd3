"""What an adversary sees of one player in one run, and what it guesses from that.

The player is drawn at random in each run, so that runs, and with them the successes that are
counted, are independent.

The first adversary needs no training: whoever knows the algorithm knows what a vote means. The
others learn from runs of their own (they know the algorithm, so they can simulate it) how often
each thing they see goes with each thing they want to know, and guess the likelier.

Paper: Definition 3.
"""

import random
import statistics
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from statistics import median_high
from typing import Any, TypeAlias

from devote.audit.rates import Rate, rate_of, to_json
from devote.problems import mean_reward, optimal_arms
from devote.simulator import Scenario
from devote.simulator.executors import in_chunks, local_executor, worker_count
from devote.simulator.run import Run


@dataclass(frozen=True)
class Sent:
    """One message as it goes by: who, when (in pulls of the whole fleet), about which arm.

    A vote is against its arm, a pick is for it.
    """

    player: int
    time: int
    arm: int
    """-1 for a message that is about none."""
    term: int = 0
    """How many resets there had been."""
    picks: bool = False
    """Whether the message is for the arm, not against it."""


@dataclass(frozen=True)
class View:
    """One player's messages, everybody else's, and the truth about the player.

    ``optimal`` are its epsilon-optimal arms, ``group`` its group, ``busy`` whether it was active
    more often than the median player, ``answer`` what the vote came to.
    """

    player: int
    n_arms: int
    own: tuple[Sent, ...]
    others: tuple[Sent, ...]
    n_players: int
    samples: int
    optimal: frozenset[int]
    worst: frozenset[int]
    group: int
    activations: int
    busy: bool
    answer: int
    luck: float

    @property
    def silent(self) -> bool:
        """Whether the player had said nothing of any arm when the run ended."""
        return not self.named

    @property
    def voters(self) -> int:
        """How many players had spoken of an arm when the run ended."""
        return len({sent.player for sent in (*self.own, *self.others) if sent.arm >= 0})

    @property
    def named(self) -> tuple[int, ...]:
        """The arms that the player's messages are about, in order.

        Of several terms, in the fullest; of terms with equally many messages, in the last.
        """
        told = [sent for sent in self.own if sent.arm >= 0]
        count = Counter(sent.term for sent in told)
        fullest = max(count, key=lambda term: (count[term], term), default=0)
        return tuple(sent.arm for sent in told if sent.term == fullest)

    @property
    def left(self) -> tuple[int, ...]:
        """The arms that these messages leave: the one picked, or those not voted against."""
        if any(sent.picks for sent in self.own):
            return self.named[-1:]
        return tuple(k for k in range(self.n_arms) if k not in self.named)


def view_run(scenario: Scenario, *, seed: int, trial: int, voters: bool = False) -> View:
    """Run one trial, and view it as an adversary who watches one player, drawn at random.

    With ``voters`` it is drawn from the players who have sent a message about an arm, if any has.
    """
    run = Run(scenario, seed=seed, trial=trial, tracing=True)
    while not run.over:
        run.advance()
    outcome = run.outcome()
    rng = random.Random(f"{seed}/{trial}/adversary")
    sent = [
        Sent(event.player, event.time, event.arm, event.term, picks=event.kind == "pick")
        for event in run.events
        if event.kind != "elimination"
    ]
    senders = sorted({message.player for message in sent if message.arm >= 0})
    player = rng.choice(senders if voters and senders else range(scenario.n_players))
    active = run.tables.players["active"].tolist()
    optimal, worst, group = _truth(scenario, player)
    return View(
        player=player,
        n_arms=scenario.spec.n_arms,
        n_players=scenario.n_players,
        own=tuple(message for message in sent if message.player == player),
        others=tuple(message for message in sent if message.player != player),
        samples=outcome.samples_until_all_know,
        optimal=optimal,
        worst=worst,
        group=group,
        activations=active[player],
        busy=active[player] > statistics.median(active),
        answer=outcome.winners[0],
        luck=rng.random(),
    )


def _truth(scenario: Scenario, player: int) -> tuple[frozenset[int], frozenset[int], int]:
    """The player's epsilon-optimal arms, as many of the worst, and its group."""
    env = scenario.problem.environment(scenario.n_players)
    means = [mean_reward(env, 0, player, arm) for arm in range(env.n_arms)]
    optimal = optimal_arms(means, scenario.spec.epsilon)
    ranked = sorted(range(env.n_arms), key=lambda arm: (means[arm], -arm))
    return optimal, frozenset(ranked[: len(optimal)]), env.groups[player]


def view_chunk(scenario: Scenario, trials: Sequence[int], seed: int, voters: bool) -> list[View]:
    """Look at some trials of a scenario."""
    return [view_run(scenario, seed=seed, trial=trial, voters=voters) for trial in trials]


def view_runs(
    scenario: Scenario, runs: int, *, seed: int, workers: int | None = 1, voters: bool = False
) -> list[View]:
    """Trials 0, 1, ... of a scenario, each through the eyes of an adversary."""
    count = worker_count(workers)
    size = max(1, min(50, runs // count))
    with local_executor(count) as executor:
        parts = in_chunks(executor, size, view_chunk, scenario, range(runs), seed, voters)
    return [view for part in parts for view in part]


Guess: TypeAlias = Callable[[View], int]
BINS = 24
"""Stretches of time that a learning adversary tells apart, equally frequent in its own runs."""

SILENT = -1


def name_arm(view: View) -> int:
    """The arm that the player's messages leave; by chance among several."""
    return _by_chance(view, view.left)


def name_arm_knowing_others(view: View) -> int:
    """The same, but several are told apart by what everybody said: the answer, if it is left."""
    return view.answer if view.answer in view.left else _by_chance(view, view.left)


def _by_chance(view: View, arms: Sequence[int]) -> int:
    # Nobody but the dice knows: a guess that looks at no secret.
    arms = arms or range(view.n_arms)
    return arms[int(view.luck * len(arms))]


def learn(
    views: Sequence[View], seen: Callable[[View], Hashable], secret: Callable[[View], int]
) -> Guess:
    """Guess the secret that most often went with what is seen; the commonest if that is new."""
    counts: defaultdict[Hashable, Counter[int]] = defaultdict(Counter)
    overall = Counter(secret(view) for view in views)
    for view in views:
        counts[seen(view)][secret(view)] += 1
    [(usual, _)] = overall.most_common(1)

    def guess(view: View) -> int:
        found = counts.get(seen(view))
        return usual if found is None else found.most_common(1)[0][0]

    return guess


def votes_on(arms: Collection[int]) -> Callable[[View], Hashable]:
    """Which of these arms the player's messages are about, and in which order."""

    def seen(view: View) -> Hashable:
        return tuple(arm for arm in view.named if arm in arms)

    return seen


def votes_on_knowing_others(arms: Collection[int]) -> Callable[[View], Hashable]:
    """The same; of a player who named none, which of them the others named most."""

    def seen(view: View) -> Hashable:
        if own := votes_on(arms)(view):
            return own
        tally = Counter(sent.arm for sent in view.others)
        most = max(tally[arm] for arm in arms)
        return "others", tuple(arm for arm in arms if tally[arm] == most)

    return seen


def stretches(views: Sequence[View], when: Callable[[View], float]) -> Callable[[View], int]:
    """In which stretch of time, learned from these runs, ``when`` falls; or SILENT."""
    times = sorted(when(view) for view in views if view.own)
    edges = [times[len(times) * i // BINS] for i in range(1, BINS)] if times else []
    return lambda view: bisect_right(edges, when(view)) if view.own else SILENT


def time_of_first(views: Sequence[View]) -> Callable[[View], Hashable]:
    """When the player was first heard of, in stretches learned from these runs."""
    return stretches(views, lambda view: view.own[0].time)


def rank_of_first(view: View) -> Hashable:
    """Which share of the others had been heard of before the player was, in steps."""
    if not view.own:
        return SILENT
    mine = view.own[0].time
    earlier = {sent.player for sent in view.others if sent.time < mine}
    return BINS * len(earlier) // view.n_players


Clock: TypeAlias = Callable[[View], float]
NEAR = 0.1
"""An estimate this close to the truth, relatively, counts as a hit."""


@dataclass(frozen=True)
class CountError:
    """Median relative error of an estimated number of activations.

    ``interval`` holds the true median with 95 % confidence, whatever the distribution;
    ``near`` counts estimates within ``NEAR`` of the truth. ``blind`` and ``blind_near`` are the
    same for the best single number, without any message.
    """

    error: float
    interval: tuple[float, float]
    blind: float
    near: Rate
    blind_near: Rate

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        names = {"error": "median_relative_error", "blind": "without_messages"}
        rates = {"near": "within", "blind_near": "within_without_messages"}
        return {"near": NEAR, **to_json(self, **names, **rates)}


def count_error(taught: Sequence[View], tested: Sequence[View], *, others: bool) -> CountError:
    """Learn from some runs to estimate activations, and be measured on others.

    Of the clocks that it can read the adversary takes the one that served it best while learning.
    """
    shares = (False, True) if others else (False,)
    ways = [_learn(taught, clock(place, share=share)) for share in shares for place in (0, -1)]
    way = min(ways, key=lambda guess: median_high(_errors(guess, taught)))
    errors = _errors(way, tested)
    number = best_number([view.activations for view in taught])
    blind = _errors(lambda view: number, tested)
    return CountError(
        error=median_high(errors),
        interval=median_interval(errors),
        blind=median_high(blind),
        near=rate_of([error <= NEAR for error in errors]),
        blind_near=rate_of([error <= NEAR for error in blind]),
    )


def clock(place: int, *, share: bool = False) -> Clock:
    """When the player was first (place 0) or last (-1) heard of.

    Or that as a ``share`` of the time until anybody was last heard of.
    """

    def read(view: View) -> float:
        end = max(1, *(sent.time for sent in (*view.own, *view.others))) if share else 1
        return view.own[place].time / end

    return read


def best_number(counts: Sequence[int]) -> float:
    """The number whose relative error is least in the median.

    An error of at most r means a count from ``c / (1 + r)`` to ``c / (1 - r)``. So take the half of
    the sorted counts with the least ratio of its ends, and their harmonic mean.

    >>> best_number([1, 100, 100, 100, 900])
    100.0
    """
    ranked = sorted(max(count, 1) for count in counts)
    half = len(ranked) // 2 + 1
    ends = [(ranked[i], ranked[i + half - 1]) for i in range(len(ranked) - half + 1)]
    low, high = min(ends, key=lambda pair: pair[1] / pair[0])
    return 2.0 * low * high / (low + high)


def median_interval(values: Sequence[float], *, risk: float = 0.05) -> tuple[float, float]:
    """Order statistics between which the median lies, whatever the distribution.

    >>> median_interval([float(i) for i in range(100)])
    (39.0, 60.0)
    """
    import numpy as np
    from scipy.special import bdtr

    ranked = sorted(values)
    n = len(ranked)
    # As many values as may lie below the median but for the risk, at each end.
    below = bdtr(np.arange((n - 1) // 2), n, 0.5) <= risk / 2
    k = max(int(below.sum()) - 1, 0)
    return ranked[k], ranked[n - 1 - k]


def _learn(taught: Sequence[View], when: Clock) -> Clock:
    stretch = stretches(taught, when)
    seen: defaultdict[int, list[int]] = defaultdict(list)
    for view in taught:
        seen[stretch(view)].append(view.activations)
    numbers = {place: best_number(counts) for place, counts in seen.items()}
    usual = best_number([view.activations for view in taught])
    return lambda view: numbers.get(stretch(view), usual)


def _errors(guess: Clock, views: Sequence[View]) -> list[float]:
    counts = [max(view.activations, 1) for view in views]
    return [abs(guess(view) - count) / count for view, count in zip(views, counts, strict=True)]
